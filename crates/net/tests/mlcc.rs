//! MLCC between two datacenters: its queues where the equations put them, and nothing that stalls it.

use crate::common::*;
use farloop_cc::*;
use farloop_net::result::Cause;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_units::{Bytes, Delta, ParamError, ParamSpec, Rate, Time, Value};

const GBPS: u64 = 1_000_000_000;
/// The hosts' links; the paper's are ten times as fast, and its queues as long.
const EDGE: u64 = 5 * GBPS / 2;
const FABRIC: u64 = 10 * GBPS;

fn ms(n: u64) -> Time {
    Time::ZERO + Delta::from_ms(n)
}

/// Node ids of [`datacenters`]: each datacenter has a DCI switch, two spines and two leaves.
const DCI: [u32; 2] = [0, 5];
const SPINES: [[u32; 2]; 2] = [[1, 2], [6, 7]];

/// The first host of a leaf of a datacenter, of which each has `per_leaf`.
fn first_host(datacenter: u32, leaf: u32, per_leaf: u32) -> u32 {
    10 + (2 * datacenter + leaf) * per_leaf
}

/// Two datacenters of 3 ms, with PFC inside.
fn datacenters(per_leaf: u32, change: impl Fn(&mut SwitchSpec)) -> (Vec<NodeSpec>, Vec<LinkSpec>) {
    let pfc = PfcSpec::plain(XoffSpec::Dynamic(0.11), Bytes::new(3000));
    let switch_at = |name: String, datacenter, buffer| {
        let mut spec = SwitchSpec {
            buffer: Bytes::new(buffer),
            pfc: Some(pfc.clone()),
            ecmp: Ecmp::Symmetric,
            int: true,
            agents: true,
            ..plain_switch()
        };
        change(&mut spec);
        NodeSpec { datacenter: Some(datacenter), ..switch(&name, spec) }
    };
    let (mut nodes, mut links) = (Vec::new(), Vec::new());
    let link_at = |a, b, rate, delay| link(a, b, Rate::from_bps(rate), delay);
    for datacenter in 0..2u16 {
        let base = 5 * u32::from(datacenter);
        nodes.push(switch_at(format!("dci{datacenter}"), datacenter, 128_000_000));
        for name in ["spine1", "spine2", "leaf1", "leaf2"] {
            nodes.push(switch_at(format!("dc{datacenter}-{name}"), datacenter, 22_000_000));
        }
        for spine in [base + 1, base + 2] {
            links.push(link_at(base, spine, FABRIC, us(5)));
            links.extend([base + 3, base + 4].map(|leaf| link_at(spine, leaf, FABRIC, us(5))));
        }
    }
    for (datacenter, leaf, host_number) in
        (0..2).flat_map(|d| (0..2).flat_map(move |l| (0..per_leaf).map(move |h| (d, l, h))))
    {
        let id = first_host(datacenter, leaf, per_leaf) + host_number;
        nodes.push(NodeSpec { datacenter: Some(datacenter as u16), ..host(&format!("h{id}")) });
        links.push(link_at(5 * datacenter + 3 + leaf, id, EDGE, us(1)));
    }
    links.push(link_at(DCI[0], DCI[1], FABRIC, Delta::from_ms(3)));
    (nodes, links)
}

/// As in Fig. 9: four flows across and four inside meet at four receivers, of which each has one of either kind.
fn burst(params: AnyParams, change: impl Fn(&mut SwitchSpec)) -> NetworkSpec {
    let (nodes, links) = datacenters(4, change);
    let receivers = first_host(1, 0, 4);
    let meeting = |first: u32, start: Time| (0..4).map(move |i| flow(first + i, receivers + i, start, Bytes::MAX));
    let across = meeting(first_host(0, 0, 4), ms(0));
    let flows = across.chain(meeting(first_host(1, 1, 4), ms(0))).collect();
    let mut network = network(nodes, links, params, flows);
    network.transport.int_bytes = Bytes::new(42);
    network.record = RecordSpec {
        interval: Some(Delta::from_us(100)),
        flows: (0..8).collect(),
        ports: SPINES[1].map(|spine| (DCI[1], spine, 0)).to_vec(),
        ..RecordSpec::default()
    };
    network.end = ms(90);
    network
}

/// Bytes that wait at the DCI switch near the receivers (longest, mean between two times).
fn queue(result: &RunResult, from: Time, to: Time) -> (f64, f64) {
    let mut by_time = std::collections::BTreeMap::<Time, f64>::new();
    for sample in &result.port_series {
        *by_time.entry(sample.time).or_default() += sample.queue.as_f64();
    }
    let late: Vec<f64> = by_time.range(from..to).map(|(_, queue)| *queue).collect();
    (by_time.values().fold(0.0, |a: f64, b| a.max(*b)), late.iter().sum::<f64>() / late.len() as f64)
}

/// Payload of each flow between two times, in bits per second.
fn rates(result: &RunResult, from: Time, to: Time) -> Vec<f64> {
    let mut sums = vec![0.0; result.flows.len()];
    for sample in result.flow_series.iter().filter(|s| s.time > from && s.time <= to) {
        sums[sample.flow as usize] += sample.delivered.as_f64() * 8.0;
    }
    sums.iter().map(|bits| bits / (to - from).as_secs_f64()).collect()
}

fn jain(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

fn with_theta(theta: &str) -> AnyParams {
    algorithm("mlcc", &[("theta", text(theta))])
}

#[test]
fn the_queue_of_a_burst_peaks_at_its_excess_and_settles_at_its_target() {
    let result = simulate(burst(with_theta("18ms"), |_| {})).expect("valid");
    sound(&result);
    let (peak, settled) = queue(&result, ms(70), ms(90));
    // Four flows of 2.5 Gbps where 1.25 Gbps leave, for 6 ms: 3.75 MB. Settled: 1 ms at 4 x 1.25 Gbps, 625 kB.
    assert!((0.75..1.25).contains(&(peak / 3.75e6)), "peak {peak}");
    assert!((0.7..1.3).contains(&(settled / 625e3)), "settled {settled}");
    let shares = rates(&result, ms(60), ms(90));
    assert!(jain(&shares) > 0.99, "{shares:?}");
}

#[test]
fn shares_are_fair_within_three_round_trips_wherever_the_bottleneck_is() {
    // Eight senders of 2.5 Gbps behind one leaf, whose packets all take the uplink of 10 Gbps to the first spine: four stay inside.
    let (nodes, links) = datacenters(8, |_| {});
    let (sources, inside, across) = (first_host(0, 0, 8), first_host(0, 1, 8), first_host(1, 0, 8));
    let (leaf, destinations) = (3, (inside..inside + 4).chain(across..across + 4));
    let sender_side: Vec<FlowSpec> =
        destinations.clone().zip(sources..).map(|(to, from)| flow(from, to, ms(0), Bytes::MAX)).collect();
    let mut network = network(nodes, links, algorithm("mlcc", &[]), sender_side);
    let next = SPINES[0][0];
    network.detours = destinations.map(|destination| DetourSpec { switch: leaf, destination, next, link: 0 }).collect();
    network.transport.int_bytes = Bytes::new(42);
    network.record = RecordSpec {
        interval: Some(Delta::from_us(100)),
        flows: (0..8).collect(),
        ports: vec![],
        ..RecordSpec::default()
    };
    network.end = ms(36);
    let result = simulate(network).expect("valid");
    sound(&result);
    // RTT_C is 6 ms.
    let shares = rates(&result, ms(18), ms(36));
    assert!(jain(&shares) > 0.95, "{shares:?}");
    assert!(shares.iter().sum::<f64>() * 1538.0 / 1460.0 > 0.85 * FABRIC as f64, "{shares:?}");
    let receiver_side = burst(algorithm("mlcc", &[]), |_| {});
    let result = simulate(NetworkSpec { end: ms(36), ..receiver_side }).expect("valid");
    let shares = rates(&result, ms(18), ms(36));
    assert!(jain(&shares) > 0.95, "{shares:?}");
}

/// MLCC, and disturbances of its run.
#[derive(Clone, Debug)]
struct Disturbed {
    inner: AnyParams,
    /// DCI switches forget all they know, again and again.
    restart: Option<Delta>,
    /// Senders have nothing to send for a second.
    pause: Option<Time>,
}

impl Disturbed {
    fn new() -> Disturbed {
        Disturbed { inner: algorithm("mlcc", &[]), restart: None, pause: None }
    }

    fn params(self) -> AnyParams {
        AnyParams::Dyn(Box::new(self))
    }
}

impl DynAlgorithm for Disturbed {
    fn describe(&self) -> About {
        About { name: "disturbed".to_string(), ..self.inner.describe() }
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
        self.inner.needs()
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        Box::new(Pausing { inner: self.inner.sender(flow), pause: self.pause, paused: false })
    }
    fn receiver(&self, flow: &FlowInfo) -> Box<dyn Receiver> {
        Box::new(self.inner.receiver(flow))
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
    fn port(&self, port: &PortInfo) -> Option<Box<dyn PortAgent>> {
        let agent = self.inner.port(port)?;
        let next = self.restart.map_or(Time::NEVER, |every| Time::ZERO + every);
        Some(Box::new(Restarting { agent, port: *port, params: self.inner.clone(), restart: self.restart, next }))
    }
}

struct Pausing {
    inner: AnySender,
    pause: Option<Time>,
    paused: bool,
}

const PAUSE: TimerId = TimerId(3);

impl Sender for Pausing {
    fn control(&self) -> Control {
        let control = self.inner.control();
        Control { pacing: if self.paused { Rate::from_bps(1) } else { control.pacing }, ..control }
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.inner.on_start(ctx);
        if let Some(at) = self.pause {
            ctx.arm(PAUSE, at);
        }
    }
    fn fields(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) -> Fields {
        self.inner.fields(ctx, sent)
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.inner.on_ack(ctx, ack);
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        self.inner.on_loss(ctx, loss);
    }
    fn on_telemetry(&mut self, ctx: &mut Ctx<'_>, int: &[IntRecord]) {
        self.inner.on_telemetry(ctx, int);
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, _: TimerId) {
        self.paused = !self.paused;
        if self.paused {
            ctx.arm(PAUSE, ctx.now() + Delta::from_secs(1));
        }
    }
}

struct Restarting {
    agent: AnyPort,
    port: PortInfo,
    params: AnyParams,
    restart: Option<Delta>,
    next: Time,
}

impl Restarting {
    fn agent(&mut self, now: Time) -> &mut AnyPort {
        if let Some(every) = self.restart.filter(|_| now >= self.next) {
            self.next = now + every;
            self.agent = self.params.port(&self.port).expect("as before");
        }
        &mut self.agent
    }
}

impl PortAgent for Restarting {
    fn flow_queues(&self) -> bool {
        self.agent.flow_queues()
    }
    fn initial_rate(&mut self, flow: u32) -> Rate {
        self.agent.initial_rate(flow)
    }
    fn on_dequeue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes) {
        self.agent(ctx.now()).on_dequeue(ctx, head, queue);
    }
    fn on_reverse(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes) {
        self.agent(ctx.now()).on_reverse(ctx, head, queue);
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId, queue: Bytes) {
        self.agent(ctx.now()).on_timer(ctx, timer, queue);
    }
}

/// Two flows across and two inside of 5 MB each, which alone take 33 ms; all of them end, and everything adds up.
fn finite(params: AnyParams, change: impl Fn(&mut SwitchSpec)) -> NetworkSpec {
    let mut spec = burst(params, change);
    spec.flows = [0, 1, 4, 5].map(|i| FlowSpec { size: Bytes::new(5_000_000), ..spec.flows[i] }).to_vec();
    spec.record = RecordSpec::default();
    spec.end = Time::NEVER;
    spec
}

fn all_end(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert!(result.flows.iter().all(|f| f.finish.is_some()), "{:?}", result.flows);
    result
}

fn last_finish(result: &RunResult) -> Delta {
    result.flows.iter().filter_map(|f| f.finish).max().expect("some").since(Time::ZERO)
}

#[test]
fn with_all_queues_taken_the_others_share_one() {
    let undisturbed = all_end(finite(Disturbed::new().params(), |_| {}));
    assert_eq!(undisturbed.ports.iter().map(|p| p.shared_queue).sum::<u64>(), 0);
    let none = all_end(finite(Disturbed::new().params(), |switch| switch.flow_queues = 0));
    // Every data packet of the two flows across found none.
    let packets: u64 = none.flows[..2].iter().map(|f| f.counts.packets).sum();
    assert_eq!(none.ports.iter().map(|p| p.shared_queue).sum::<u64>(), packets);
    assert!(last_finish(&none) < last_finish(&undisturbed) * 2);
}

#[test]
fn lost_acks_and_lost_data_stall_nothing() {
    let mut spec = finite(algorithm("mlcc", &[]), |_| {});
    // Of every link, so of ACKs that carry credits, too; go-back-N across 6 ms can only crawl under much more.
    for link in &mut spec.links {
        link.loss = 2e-5;
    }
    spec.transport.rto_cross = Delta::from_ms(20);
    let result = all_end(spec);
    assert!(result.totals.drops[Cause::Loss] > 0);
}

#[test]
fn a_switch_that_forgets_everything_learns_again() {
    let undisturbed = all_end(finite(Disturbed::new().params(), |_| {}));
    let restart = Some(us(333));
    let restarted = all_end(finite(Disturbed { restart, ..Disturbed::new() }.params(), |_| {}));
    assert_ne!(restarted.flows, undisturbed.flows);
    assert!(last_finish(&restarted) < last_finish(&undisturbed) + Delta::from_ms(10));
}

#[test]
fn flows_that_pause_for_a_second_go_on() {
    let undisturbed = all_end(finite(Disturbed::new().params(), |_| {}));
    let pause = Some(ms(15));
    let paused = all_end(finite(Disturbed { pause, ..Disturbed::new() }.params(), |_| {}));
    let late = last_finish(&paused) - last_finish(&undisturbed);
    assert!(late > Delta::from_ms(990) && late < Delta::from_ms(1020), "{late}");
}

#[test]
fn parts_and_threads_change_nothing() {
    let run = |cores| {
        let spec = finite(algorithm("mlcc", &[]), |_| {});
        Simulation::build(spec, cores, &mut || true).expect("valid").run(&mut |_| true).expect("not stopped")
    };
    let whole = run(Cores::ONE);
    for parts in [2, 4] {
        let cut = run(Cores::with_parts(parts, 2));
        assert_eq!((&whole.flows, &whole.ports), (&cut.flows, &cut.ports), "{parts} parts");
    }
}

/// Ports with queues of flows: that of the first flow gives out a packet every 12 ms, the others know no rate.
#[derive(Clone, Debug)]
struct FirstIsSlow;

impl DynAlgorithm for FirstIsSlow {
    fn describe(&self) -> About {
        About { name: "first-is-slow".to_string(), ..algorithm("fixed", &[]).describe() }
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
        Needs { port_agent: true, ..Needs::NONE }
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        Box::new(algorithm("fixed", &[]).sender(flow))
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
    fn port(&self, _: &PortInfo) -> Option<Box<dyn PortAgent>> {
        Some(Box::new(self.clone()))
    }
}

impl PortAgent for FirstIsSlow {
    fn flow_queues(&self) -> bool {
        true
    }
    fn initial_rate(&mut self, flow: u32) -> Rate {
        if flow == 0 { Rate::from_mbps(1) } else { Rate::MAX }
    }
}

#[test]
fn what_comes_while_the_port_is_busy_does_not_wait_for_slower_flows() {
    // Hosts of 10 Gbps in front of 1 Gbps: all of the second flow's packets have come before the first of them has left, while the first
    // flow's second one is held back.
    let spec = SwitchSpec { agents: true, ..plain_switch() };
    let (nodes, links) = star(2, (Rate::from_gbps(10), us(1)), (Rate::from_gbps(1), us(1)), spec);
    let sized = |src, start, packets: u64| flow(src, 3, start, Bytes::new(1460 * packets));
    let flows = vec![sized(1, Time::ZERO, 2), sized(2, Time::ZERO + us(50), 5)];
    let result = simulate(network(nodes, links, AnyParams::Dyn(Box::new(FirstIsSlow)), flows)).expect("valid");
    sound(&result);
    let took = |flow: usize| result.flows[flow].finish.expect("it ends").since(Time::ZERO);
    // Five packets of 12.3 us each; the first flow's second packet may leave 12.3 ms after its first.
    assert!(took(1) < us(50 + 5 * 13 + 10), "{}", took(1));
    assert!(took(0) > Delta::from_ms(12) && took(0) < Delta::from_ms(13), "{}", took(0));
}
