//! Accurate ECN end to end: counted marks beside echoed ones.

use crate::common::*;
use farloop_cc::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, ParamError, ParamSpec, Rate, Time, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MSS: u64 = 1460;
/// A full-size packet, an ACK and the option on the wire.
const PACKET: u64 = 1538;
const ACK: u64 = 102;
const OPTION: u64 = 8;

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

fn marking(packets: u64) -> SwitchSpec {
    SwitchSpec { ecn: Some(EcnSpec::step(Bytes::new(packets * PACKET))), ..plain_switch() }
}

/// Four flows of an algorithm into a bottleneck of 10 Gbps whose queue is marked above 20 packets, for 20 ms.
fn bottleneck(name: &str, tcp: TcpSpec) -> NetworkSpec {
    let (nodes, links) = star(4, (Rate::from_gbps(10), us(20)), (Rate::from_gbps(10), us(20)), marking(20));
    let flows = (1..=4).map(|s| flow(s, 5, Time::from_ps(u64::from(s) * 777), Bytes::MAX)).collect();
    let mut spec = network(nodes, links, algorithm(name, &[]), flows);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec.end = Time::ZERO + Delta::from_ms(20);
    spec
}

fn counted(option: AccEcnOption) -> TcpSpec {
    TcpSpec { ecn: EcnFeedback::AccEcn, accecn_option: option, ..tcp() }
}

fn delayed(tcp: TcpSpec, every: u32) -> TcpSpec {
    TcpSpec { delayed_ack: Some(Delta::from_us(500)), ack_every: every, ..tcp }
}

#[test]
fn with_an_ack_for_every_packet_counts_are_echoes() {
    for name in ["dctcp", "gemini", "uno"] {
        let with = |tcp| run(&bottleneck(name, tcp));
        let echoed = with(TcpSpec { ecn: EcnFeedback::Rfc8257, ..tcp() });
        assert!(echoed.flows.iter().all(|row| row.counts.marked > 0), "{name}");
        assert!(echoed == with(counted(AccEcnOption::Off)), "{name}");
        // Uno's receivers echo marks until the source confirms them.
        assert_eq!(echoed == with(tcp()), name != "uno", "{name}");
    }
    let reno = |ecn| run(&bottleneck("reno", TcpSpec { ecn, ..tcp() }));
    assert!(reno(EcnFeedback::AccEcn) == reno(EcnFeedback::Auto), "it does not answer marks");
}

/// Marked packets that arrived, and those that the source heard of: packets and bytes.
#[derive(Default, Debug)]
struct Heard {
    arrived: AtomicU64,
    packets: AtomicU64,
    bytes: AtomicU64,
}

/// A fixed window that adds up marks.
#[derive(Clone, Debug)]
struct Adding(Arc<Heard>);

impl DynAlgorithm for Adding {
    fn describe(&self) -> About {
        let text = |t: &str| t.to_string();
        About { name: text("adding"), summary: text("adds up marks"), source: text("none: a test"), ..About::default() }
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
        Needs { ecn: true, accurate_ecn: true, ..Needs::NONE }
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        Box::new(AddingSender { cwnd: flow.mss * 60, heard: self.0.clone() })
    }
    fn receiver(&self, _: &FlowInfo) -> Box<dyn Receiver> {
        Box::new(AddingReceiver(self.0.clone()))
    }
    fn port(&self, _: &PortInfo) -> Option<Box<dyn PortAgent>> {
        None
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

struct AddingSender {
    cwnd: Bytes,
    heard: Arc<Heard>,
}

impl Sender for AddingSender {
    fn control(&self) -> Control {
        Control { cwnd: self.cwnd, pacing: Rate::MAX }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        let packets = ack.ce.map_or_else(|| ack.marked().get() / MSS, |ce| u64::from(ce.packets));
        assert_eq!(ack.ecn_echo, packets > 0);
        self.heard.packets.fetch_add(packets, Ordering::Relaxed);
        self.heard.bytes.fetch_add(ack.marked().get(), Ordering::Relaxed);
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

struct AddingReceiver(Arc<Heard>);

impl Receiver for AddingReceiver {
    fn on_data(&mut self, _: &mut Ctx<'_>, data: &Data<'_>) -> Feedback {
        self.0.arrived.fetch_add(u64::from(data.ecn_marked), Ordering::Relaxed);
        Feedback { ecn_echo: data.ecn_marked }
    }
}

/// A transfer whose packets meet those of another flow in a queue that marks. Its marked packets, those that its source heard of, and their
/// bytes in packets. The last ACK ends the flow: the source hears nothing of it.
fn heard(tcp: TcpSpec, lose_acks: Option<&str>) -> [u64; 3] {
    let seen = Arc::new(Heard::default());
    let mut catalog = Catalog::builtin();
    catalog.register_dyn(Box::new(Adding(seen.clone()))).expect("sound");
    let rate = Rate::from_gbps(10);
    let (nodes, links) = star(2, (rate, us(1)), (rate, us(20)), marking(60));
    let flows = vec![
        FlowSpec { algorithm: 1, ..flow(1, 3, Time::ZERO, Bytes::new(4000 * MSS)) },
        flow(2, 3, Time::ZERO, Bytes::MAX),
    ];
    let mut spec = network(nodes, links, algorithm("dctcp", &[("increase", Value::Float(8.0))]), flows);
    spec.algorithms.push(catalog.lookup("adding").expect("registered"));
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec.end = Time::ZERO + Delta::from_ms(100);
    if let Some(numbers) = lose_acks {
        let change = LinkChange::LoseAcks(numbers.parse().expect("numbers"));
        spec.events.events.push(LinkEventSpec { at: Time::ZERO, link: 0, direction: Direction::FromB, change });
    }
    assert!(run(&spec).flows[0].finish.is_some());
    let all = |n: &AtomicU64| n.load(Ordering::Relaxed);
    [all(&seen.arrived), all(&seen.packets), all(&seen.bytes) / MSS]
}

#[test]
fn counts_stay_true_where_echoes_blur() {
    let echo = |ecn| TcpSpec { ecn, ..tcp() };
    // An ACK for every packet, and for every second: what is missing is in the last ACK.
    for tcp in
        [counted(AccEcnOption::Off), delayed(counted(AccEcnOption::Off), 2), delayed(counted(AccEcnOption::Sent), 2)]
    {
        let [arrived, packets, bytes] = heard(tcp, None);
        assert!(arrived > 500 && arrived - packets <= 2 && packets == bytes, "{arrived}, {packets}, {bytes}");
    }
    // Two of three ACKs are lost: at most six packets for each that arrives.
    let thinned = Some("1-/3, 2-/3");
    let [arrived, packets, _] = heard(delayed(counted(AccEcnOption::Off), 2), thinned);
    assert!(arrived > 500 && arrived - packets <= 6, "{arrived}, {packets}");
    let [arrived, packets, _] = heard(delayed(echo(EcnFeedback::Rfc8257), 2), thinned);
    assert!(arrived > 500 && arrived.abs_diff(packets) > 20, "{arrived}, {packets}: a lost ACK takes its mark with it");
    // One ACK of ten: the option says how often the field has gone round.
    let tenth = Some("1-/10, 2-/10, 3-/10, 4-/10, 5-/10, 6-/10, 7-/10, 8-/10, 9-/10");
    let [arrived, packets, bytes] = heard(delayed(counted(AccEcnOption::Sent), 2), tenth);
    assert!(arrived > 500 && arrived - packets <= 20 && arrived - bytes <= 20, "{arrived}, {packets}, {bytes}");
    let [arrived, packets, _] = heard(delayed(counted(AccEcnOption::Stripped), 2), tenth);
    assert!(arrived > 500 && arrived.abs_diff(packets) > 100, "{arrived}, {packets}: without it rounds are lost");
    // Classic: one round trip of echoes for each mark.
    let [arrived, packets, _] = heard(echo(EcnFeedback::Classic), None);
    assert!(packets > arrived + arrived / 10, "{arrived}, {packets}");
}

#[test]
fn the_option_takes_eight_bytes_of_an_ack() {
    let bytes = |tcp: TcpSpec| {
        let (nodes, links) = star(1, (Rate::from_gbps(10), us(1)), (Rate::from_gbps(10), us(1)), marking(3));
        let mut spec =
            network(nodes, links, algorithm("dctcp", &[]), vec![flow(1, 2, Time::ZERO, Bytes::new(100 * MSS))]);
        spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
        let result = run(&spec);
        let port = result.ports.iter().find(|p| (p.node, p.peer) == (2, 0)).expect("a port");
        (port.packets, port.tx.get())
    };
    assert_eq!(bytes(tcp()), (100, 100 * ACK));
    assert_eq!(bytes(counted(AccEcnOption::Off)), (100, 100 * ACK));
    assert_eq!(bytes(counted(AccEcnOption::Sent)), (100, 100 * (ACK + OPTION)));
    assert_eq!(bytes(counted(AccEcnOption::Stripped)), (100, 100 * (ACK + OPTION)));
}
