//! Two flows over one bottleneck of 100 Gbps for 1 ms of simulated time, from the specification to the result. Throughput is in
//! packet-hops: arrivals of a packet at a node.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use farloop_cc::lookup;
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Time};

fn specification(algorithm: &str) -> NetworkSpec {
    let switch = SwitchSpec {
        pfc: Some(PfcSpec::plain(XoffSpec::Dynamic(0.125), Bytes::new(3_000))),
        int: true,
        ..SwitchSpec::plain(Bytes::new(32_000_000))
    };
    let rate = Rate::from_gbps(100);
    let link = |a, b| LinkSpec::plain(a, b, rate, Delta::from_us(1));
    let flow = |src, dst| FlowSpec::plain(src, dst, Time::ZERO, Bytes::MAX);
    let hosts = ["s1", "s2", "d1", "d2"].map(|name| NodeSpec::plain(name, NodeKind::Host));
    let mut nodes = ["left", "right"].map(|name| NodeSpec::plain(name, NodeKind::Switch(switch.clone()))).to_vec();
    nodes.extend(hosts);
    let links = vec![link(0, 1), link(2, 0), link(3, 0), link(4, 1), link(5, 1)];
    let algorithm = lookup(algorithm).expect("a registered algorithm");
    NetworkSpec {
        transport: TransportSpec {
            mtu: Bytes::new(1000),
            framing: Bytes::ZERO,
            ..TransportSpec::plain(TransportKind::Rdma)
        },
        end: Time::ZERO + Delta::from_ms(1),
        ..NetworkSpec::plain(nodes, links, algorithm, vec![flow(2, 4), flow(3, 5)])
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
