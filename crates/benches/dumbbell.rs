//! Two flows over one bottleneck of 100 Gbps for 1 ms of simulated time, from the specification to the result. Throughput is in
//! packet-hops: arrivals of a packet at a node.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use farloop_cc::lookup;
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Time};

fn specification(algorithm: &str) -> NetworkSpec {
    let node = |name: &str, kind| NodeSpec { name: name.to_string(), datacenter: Some(0), kind };
    let switch = SwitchSpec {
        pfc: Some(PfcSpec { xoff: XoffSpec::Dynamic(0.125), hysteresis: Bytes::new(3_000), headroom: None }),
        int: true,
        ..SwitchSpec::plain(Bytes::new(32_000_000))
    };
    let rate = Rate::from_gbps(100);
    let link = |a, b| LinkSpec { a, b, rate, delay: Delta::from_us(1), loss: 0.0, corruption: 0.0 };
    let flow = |src, dst| FlowSpec {
        src,
        dst,
        start: Time::ZERO,
        stop: Time::NEVER,
        size: Bytes::MAX,
        algorithm: 0,
        class: 0,
        elephant: false,
        initial_rate: None,
        initial_cwnd: None,
    };
    NetworkSpec {
        nodes: vec![
            node("left", NodeKind::Switch(switch.clone())),
            node("right", NodeKind::Switch(switch)),
            node("s1", NodeKind::Host),
            node("s2", NodeKind::Host),
            node("d1", NodeKind::Host),
            node("d2", NodeKind::Host),
        ],
        links: vec![link(0, 1), link(2, 0), link(3, 0), link(4, 1), link(5, 1)],
        detours: Vec::new(),
        events: LinkEvents::default(),
        follows: Vec::new(),
        transport: TransportSpec {
            kind: TransportKind::Rdma,
            mtu: Bytes::new(1000),
            header: Bytes::new(40),
            framing: Bytes::ZERO,
            ack: Bytes::new(64),
            start: Start::Own,
            int_carriage: IntCarriage::All,
            int_bytes: Bytes::ZERO,
            rto_intra: Delta::from_ms(1),
            rto_cross: Delta::from_ms(200),
            tcp: TcpSpec::default(),
            multipath: MultipathSpec::default(),
            control_priority: true,
        },
        algorithms: vec![lookup(algorithm).expect("a registered algorithm")],
        flows: vec![flow(2, 4), flow(3, 5)],
        intra_rtt: None,
        record: RecordSpec::default(),
        end: Time::ZERO + Delta::from_ms(1),
        seed: 1,
        clock_offsets: Vec::new(),
        stalls: None,
        nic_order: NicOrder::Ready,
        tie_order: None,
        jobs: Vec::new(),
    }
}

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("dumbbell");
    // `fixed` is the network alone; the others add what the algorithm costs.
    for algorithm in ["fixed", "hpcc", "gear"] {
        let spec = specification(algorithm);
        let hops = simulate(spec.clone()).expect("valid").totals.packet_hops;
        group.throughput(Throughput::Elements(hops));
        group.bench_function(algorithm, |b| b.iter(|| simulate(spec.clone()).expect("valid")));
    }
    group.finish();
}

criterion_group!(dumbbell, benches);
criterion_main!(dumbbell);
