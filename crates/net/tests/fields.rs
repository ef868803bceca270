//! Header fields that an algorithm owns: written by the sender, changed on the way, echoed by the receiver, read by the sender.

use crate::common::*;
use farloop_cc::*;
use farloop_net::result::Cause;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation};
use farloop_units::{Bytes, Delta, ParamError, ParamSpec, Rate, Time, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events that the senders of a run have seen.
#[derive(Default, Debug)]
struct Seen {
    acks: AtomicU64,
    /// Of queues on the way, in bytes.
    queues: AtomicU64,
    /// Packets that the receivers had answered, the largest number of any.
    answered: AtomicU64,
}

/// An algorithm that is steered by its header fields alone. The first one is the packet's number, and in its upper half the receiver's
/// count of packets; the second one the sum of the queues that it met.
#[derive(Clone, Debug)]
struct Counting {
    fields: u8,
    seen: Arc<Seen>,
}

impl DynAlgorithm for Counting {
    fn describe(&self) -> About {
        let text = |t: &str| t.to_string();
        let (name, summary, source) = (text("counting"), text("counts packets and queues"), text("none: a test"));
        About { name, summary, source, ..About::default() }
    }
    fn specs(&self) -> Vec<ParamSpec> {
        Vec::new()
    }
    fn set(&mut self, _: &str, _: &Value) -> Result<(), ParamError> {
        Err(ParamError::UnknownName)
    }
    fn get(&self, _: &str) -> Option<Option<Value>> {
        None
    }
    fn needs(&self) -> Needs {
        Needs {
            fields: self.fields,
            header_bytes: 16 * u16::from(self.fields),
            port_agent: self.fields > 0,
            ..Needs::NONE
        }
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        let cwnd = 10 * flow.mss.get();
        Box::new(CountingSender { sent: 0, cwnd, mss: flow.mss.get(), own: self.clone() })
    }
    fn receiver(&self, _: &FlowInfo) -> Box<dyn Receiver> {
        Box::new(CountingReceiver { arrived: 0 })
    }
    fn port(&self, _: &PortInfo) -> Option<Box<dyn PortAgent>> {
        (self.fields > 0).then(|| Box::new(AddsQueue) as Box<dyn PortAgent>)
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

struct CountingSender {
    sent: u64,
    cwnd: u64,
    mss: u64,
    own: Counting,
}

impl Sender for CountingSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::new(self.cwnd), pacing: Rate::MAX }
    }
    fn fields(&mut self, _: &mut Ctx<'_>, _: &Sent) -> Fields {
        self.sent += 1;
        Fields::new(&[Field::from(self.sent), 0])
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        let &[numbers, queue] = ack.fields else {
            assert!(self.own.fields == 0 && ack.fields.is_empty(), "{:?}", ack.fields);
            return;
        };
        let (number, answered, queue) = (numbers as u64, (numbers >> 64) as u64, queue as u64);
        assert!((1..=self.sent).contains(&number), "packet {number} of {}", self.sent);
        assert!((1..=self.sent).contains(&answered), "{answered} arrived of {}", self.sent);
        self.own.seen.acks.fetch_add(1, Ordering::Relaxed);
        self.own.seen.queues.fetch_add(queue, Ordering::Relaxed);
        self.own.seen.answered.fetch_max(answered, Ordering::Relaxed);
        // The queue decides: what comes back wrong would be seen in every number of the result.
        self.cwnd = if queue > 30_000 { (self.cwnd - self.mss / 4).max(self.mss) } else { self.cwnd + self.mss / 8 };
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

struct CountingReceiver {
    arrived: u64,
}

impl Receiver for CountingReceiver {
    fn on_data(&mut self, _: &mut Ctx<'_>, data: &Data<'_>) -> Feedback {
        self.arrived += 1;
        Feedback { ecn_echo: data.ecn_marked }
    }
    fn fields(&mut self, data: &Data<'_>) -> Fields {
        let mut fields = Fields::new(data.fields);
        fields.as_mut_slice()[0] += Field::from(self.arrived) << 64;
        fields
    }
}

struct AddsQueue;

impl PortAgent for AddsQueue {
    fn on_enqueue(&mut self, _: &mut Ctx<'_>, head: &mut Head, queue: Bytes) -> Admit {
        // Packets of algorithms without fields pass, too.
        if let (true, [_, sum]) = (head.data, head.fields.as_mut_slice()) {
            *sum += Field::from(queue.get());
        }
        Admit::Enqueue
    }
}

fn counting(fields: u8) -> (AnyParams, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let mut catalog = Catalog::builtin();
    catalog.register_dyn(Box::new(Counting { fields, seen: seen.clone() })).expect("sound");
    (catalog.lookup("counting").expect("registered"), seen)
}

/// Four pairs of hosts over a bottleneck of 10 Gbps that loses packets.
fn pairs(algorithms: Vec<AnyParams>, kind: TransportKind, loss: f64) -> NetworkSpec {
    let spec = SwitchSpec { agents: true, buffer: Bytes::new(400_000), ..plain_switch() };
    let mut nodes = vec![switch("left", spec.clone()), switch("right", spec)];
    let mut links = vec![LinkSpec { loss, ..link(0, 1, Rate::from_gbps(10), us(5)) }];
    let mut flows = Vec::new();
    for i in 0..4u32 {
        nodes.extend([host(&format!("s{i}")), host(&format!("d{i}"))]);
        links.extend([link(2 + 2 * i, 0, Rate::from_gbps(25), us(1)), link(3 + 2 * i, 1, Rate::from_gbps(25), us(1))]);
        let algorithm = i as u16 % algorithms.len() as u16;
        flows.push(FlowSpec { algorithm, ..flow(2 + 2 * i, 3 + 2 * i, Time::ZERO, Bytes::new(2_000_000)) });
    }
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.algorithms = algorithms;
    spec.transport = transport(kind);
    spec.end = Time::ZERO + Delta::from_ms(100);
    spec
}

fn run(spec: NetworkSpec, parts: usize) -> RunResult {
    let simulation = Simulation::build(spec, Cores::with_parts(parts, 2), &mut || true).expect("valid");
    assert_eq!(simulation.parts(), parts);
    let result = simulation.run(&mut |_| true).expect("nobody stops it");
    sound(&result);
    result
}

type Change<'a> = &'a dyn Fn(&mut NetworkSpec);

#[test]
fn fields_come_back_as_they_were_changed() {
    let tcp = |change: fn(&mut TcpSpec)| move |spec: &mut NetworkSpec| change(&mut spec.transport.tcp);
    let nothing: Change<'_> = &|_| {};
    let delayed = tcp(|tcp| (tcp.delayed_ack, tcp.handshake) = (Some(us(30)), true));
    let rack = tcp(|tcp| tcp.recovery = Recovery::Rack);
    let noise = tcp(|tcp| tcp.delay_noise_intra = us(10));
    let cases: [(&str, TransportKind, Change<'_>); 5] = [
        ("RDMA", TransportKind::Rdma, nothing),
        ("TCP with SACK", TransportKind::Tcp, nothing),
        ("TCP with delayed ACKs and a handshake", TransportKind::Tcp, &delayed),
        ("TCP with RACK", TransportKind::Tcp, &rack),
        ("TCP with delay noise", TransportKind::Tcp, &noise),
    ];
    for (name, kind, change) in cases {
        let outcome = |parts| {
            let (algorithm, seen) = counting(2);
            let mut spec = pairs(vec![algorithm], kind, 0.01);
            change(&mut spec);
            (run(spec, parts), seen)
        };
        let (whole, seen) = outcome(1);
        assert_eq!(whole.totals.finished, 4, "{name}");
        assert!(
            whole.totals.drops[Cause::Loss] > 10 && whole.flows.iter().all(|f| f.counts.retransmitted > 0),
            "{name}: {:?}",
            whole.totals
        );
        let acks = seen.acks.load(Ordering::Relaxed);
        let most = whole.flows.iter().map(|f| f.counts.packets).max().expect("flows");
        assert!(acks > 1000, "{name}: {acks} ACKs");
        assert!(seen.queues.load(Ordering::Relaxed) > 1_000_000, "{name}: no queue was reported");
        let answered = seen.answered.load(Ordering::Relaxed);
        assert!(answered > 1300 && answered <= most, "{name}: {answered} of {most}");
        let (cut, seen_in_parts) = outcome(2);
        assert_eq!((&whole.flows, &whole.ports), (&cut.flows, &cut.ports), "{name}");
        for count in [|s: &Seen| s.acks.load(Ordering::Relaxed), |s: &Seen| s.queues.load(Ordering::Relaxed)] {
            assert_eq!(count(&seen), count(&seen_in_parts), "{name}");
        }
    }
}

/// Algorithms with and without fields share the ports, at which the agents of the one see packets of both.
#[test]
fn neighbours_without_fields_are_left_alone() {
    for kind in [TransportKind::Rdma, TransportKind::Tcp] {
        let (algorithm_, seen) = counting(2);
        let result = run(
            pairs(
                vec![algorithm_, algorithm("dctcp", &[]), algorithm("fixed", &[("rate", text("1Gbps"))])],
                kind,
                0.001,
            ),
            1,
        );
        assert_eq!(result.totals.finished, 4, "{kind:?}");
        assert!(seen.acks.load(Ordering::Relaxed) > 1000);
    }
}

/// Packets with fields have a row of a side table each; others have none.
#[test]
fn packets_without_fields_take_no_room_for_them() {
    let memory = |fields| {
        let totals = run(pairs(vec![counting(fields).0], TransportKind::Rdma, 0.0), 1).totals;
        totals.packet_memory / totals.max_in_flight
    };
    let (with, without) = (memory(2), memory(0));
    let plain = {
        let totals =
            run(pairs(vec![algorithm("fixed", &[("cwnd", text("14600B"))])], TransportKind::Rdma, 0.0), 1).totals;
        totals.packet_memory / totals.max_in_flight
    };
    assert!(without <= plain + 8, "{without} bytes a packet, {plain} with an algorithm that knows of no fields");
    assert!(with >= without + 32, "{with} and {without} bytes a packet");
}
