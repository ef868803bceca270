//! Consequences of a scenario's circuits: the week, AccelToR's numbers, the timeouts that hosts need, and the load of
//! acceleration on the packet network.

use crate::acceltor;
use crate::diagnostic::Diagnostic;
use crate::reader::word;
use crate::scenario::Scenario;
use crate::sections::{AccelToRNumbers, CircuitKeys, RtoFloorChoice, SchedulingChoice};
use crate::topology::Layout;
use crate::transport::EndpointKeys;
use farloop_net::spec::{FlowSpec, NodeId, NodeKind};
use farloop_units::{Delta, Rate};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};

/// Factor by which a rack's links to the packet network should exceed the demand of acceleration: mice need some of the
/// capacity, and flows do not come evenly.
const HEADROOM: f64 = 1.8;

/// Numbers that follow from a scenario's circuits.
#[derive(Clone, PartialEq, Debug)]
pub struct CircuitFacts {
    /// The data that top-of-rack switches send by circuits.
    pub scheduling: SchedulingChoice,
    /// Neighbours of the circuit switch that has most.
    pub racks: u32,
    /// Slots in the longest cycle.
    pub slots: u64,
    /// Duration of the longest cycle.
    pub week: Delta,
    /// AccelToR's numbers, where switches schedule so.
    pub acceltor: Option<AccelToRNumbers>,
    /// Number of days that have a queue, K: `circuits.days`, or the result of Eq. 1.
    pub days: Option<u32>,
    /// The lower bound of timeouts that hosts should have: by Eq. 6 with AccelToR, by Eq. 7 where elephants wait for their circuit.
    pub min_rto: Option<Delta>,
    /// Lower bound that TCP's hosts have, and true if it bounds the whole timeout.
    pub hosts_min_rto: Option<(Delta, bool)>,
    /// Of the rack pairs with elephants the one that the packet network leaves least headroom, where they are accelerated.
    pub demand: Option<Demand>,
    /// True if there are elephants.
    pub elephants: bool,
}

/// The demand of acceleration on a rack's links to the packet network, and their capacity.
#[derive(Clone, PartialEq, Debug)]
pub struct Demand {
    /// Top-of-rack switch of the elephants' sources.
    pub from: String,
    /// That of their destinations.
    pub to: String,
    /// Number of elephants of the pair.
    pub elephants: u64,
    /// Demand of these elephants, in the slot in which they are accelerated.
    pub required: Rate,
    /// Capacity of all links of `from` to the packet network.
    pub offered: Rate,
}

impl Demand {
    /// Ratio of capacity to demand.
    pub fn headroom(&self) -> f64 {
        self.offered.as_f64() / self.required.as_f64()
    }
}

impl CircuitFacts {
    /// Warnings: settings that can be simulated but are most likely a mistake.
    pub(crate) fn notes(&self) -> Vec<String> {
        let little = self.demand.iter().filter(|demand| demand.headroom() < HEADROOM).map(|demand| {
            let Demand { from, to, elephants, required, offered } = demand;
            format!(
                "AccelToR: {elephants} elephants from {from} to {to} ask for {:.1} Gbps of the packet network, which has {:.1} Gbps there: {:.2} times that, and {HEADROOM} are needed",
                required.as_f64() / 1e9, offered.as_f64() / 1e9, demand.headroom()
            )
        });
        let (name, equation) = match self.scheduling {
            SchedulingChoice::AccelToR => ("AccelToR", 6),
            _ => ("blocking", 7),
        };
        let timeout = match (self.min_rto, self.hosts_min_rto) {
            (Some(needed), Some((has, true))) if self.elephants && needed > Delta::ZERO && has != needed => {
                Some(format!(
                    "{name}: transport.min_rto is {has}, and Eq. {equation} of AccelToR gives {needed}: flows that lost packets in their day come back at another time than that of their next one"
                ))
            }
            _ => None,
        };
        little.chain(timeout).collect()
    }

    /// All of it, times in seconds, rates in bit/s; `null` for absent values.
    pub fn json(&self) -> Json {
        let seconds = |delta: Delta| delta.as_secs_f64();
        let numbers = self.acceltor;
        let demand = self.demand.as_ref().map(|demand| {
            json!({
                "from": demand.from, "to": demand.to, "elephants": demand.elephants, "asked_bps": demand.required.as_bps(),
                "offered_bps": demand.offered.as_bps(), "headroom": demand.headroom(), "needed": HEADROOM,
            })
        });
        json!({
            "scheduling": word(&self.scheduling),
            "racks": self.racks,
            "slots": self.slots,
            "week_s": seconds(self.week),
            "packet_rtt_s": numbers.map(|n| seconds(n.packet_rtt)),
            "circuit_rtt_s": numbers.map(|n| seconds(n.circuit_rtt)),
            "n": numbers.map(|n| n.rtts_per_day),
            "m": numbers.map(|n| n.acceleration),
            "k1": numbers.map(|n| n.days_ahead),
            "k": self.days,
            "min_rto_s": self.min_rto.map(seconds),
            "hosts_min_rto_s": self.hosts_min_rto.map(|(has, _)| seconds(has)),
            "hosts_min_rto_is_total": self.hosts_min_rto.map(|(_, total)| total),
            "demand": demand,
        })
    }
}

/// Computes the facts of a network's circuits, with its slots in place; `None` without circuit switches.
pub(super) fn facts(
    scenario: &Scenario,
    layout: &Layout,
    flows: &[FlowSpec],
) -> Result<Option<CircuitFacts>, Diagnostic> {
    let Some(keys) = scenario.circuits.as_ref().map(|settings| &settings.keys) else { return Ok(None) };
    let acceltor = numbers(scenario, layout)?;
    let (slots, week) = cycle(layout);
    let min_rto = match keys.scheduling {
        SchedulingChoice::AccelToR => acceltor.map(|numbers| numbers.min_rto),
        SchedulingChoice::Blocking => Some(acceltor::min_rto_blocked(week, keys.day)),
        SchedulingChoice::Unblocking | SchedulingChoice::None => None,
    };
    let hosts_min_rto = match &scenario.endpoint {
        EndpointKeys::Tcp(tcp) => Some((tcp.min_rto, tcp.rto_floor == RtoFloorChoice::Total)),
        EndpointKeys::Rdma(_) | EndpointKeys::Multipath(..) => None,
    };
    Ok(Some(CircuitFacts {
        scheduling: keys.scheduling,
        racks: layout.circuits().into_iter().map(|id| layout.neighbours(id).len()).max().unwrap_or(0) as u32,
        slots,
        week,
        days: acceltor.map(|numbers| keys.days.unwrap_or(numbers.days)),
        demand: acceltor.and_then(|numbers| demand(scenario, layout, flows, &numbers)),
        acceltor,
        min_rto,
        hosts_min_rto,
        elephants: flows.iter().any(|flow| flow.elephant)
            || (0..layout.nodes.len() as NodeId).any(|id| max_elephants(layout, id).is_some()),
    }))
}

/// AccelToR's numbers for the network, where that schedules so.
pub(super) fn numbers(scenario: &Scenario, layout: &Layout) -> Result<Option<AccelToRNumbers>, Diagnostic> {
    let Some(keys) = scenario.circuits.as_ref().map(|settings| &settings.keys) else { return Ok(None) };
    if keys.scheduling != SchedulingChoice::AccelToR {
        return Ok(None);
    }
    let of_network = scenario.network.round_trips().map(|times| times.packet);
    let packet = keys.packet_rtt.or(of_network).ok_or_else(|| missing(scenario, "packet_rtt"))?;
    let circuit = circuit_rtt(scenario, keys)?;
    Ok(Some(keys.numbers(packet, circuit, cycle(layout).1)))
}

/// The round-trip time through a circuit, of which a day has some.
pub(super) fn circuit_rtt(scenario: &Scenario, keys: &CircuitKeys) -> Result<Delta, Diagnostic> {
    let of_network = scenario.network.round_trips().map(|times| times.circuit);
    let circuit = keys.circuit_rtt.or(of_network).ok_or_else(|| missing(scenario, "circuit_rtt"))?;
    if circuit > keys.day {
        let problem = format!("a day of {} has no round-trip time of {circuit} through the circuit", keys.day);
        return Err(scenario.diagnostic_at(
            &["circuits", "day"],
            problem,
            "expected a longer day, or a shorter circuit_rtt",
        ));
    }
    Ok(circuit)
}

fn missing(scenario: &Scenario, key: &str) -> Diagnostic {
    let problem = "missing: nothing else of this network says it";
    scenario.diagnostic_at(&["circuits", key], problem, "expected a round-trip time, such as \"60us\"")
}

/// Slots and duration of the longest cycle.
pub(super) fn cycle(layout: &Layout) -> (u64, Delta) {
    let of = |id: NodeId| match &layout.nodes[id as usize].kind {
        NodeKind::Circuit(circuit) => {
            let time = circuit
                .slots
                .iter()
                .fold(0, |sum: u64, slot| sum.saturating_add(slot.day.as_ps()).saturating_add(slot.night.as_ps()));
            (circuit.slots.len() as u64, Delta::from_ps(time))
        }
        _ => (0, Delta::ZERO),
    };
    layout.circuits().into_iter().map(of).max_by_key(|(_, week)| *week).unwrap_or((0, Delta::ZERO))
}

/// Most elephants that a switch detects for each rack; `None` where it detects none.
fn max_elephants(layout: &Layout, switch: NodeId) -> Option<u64> {
    match &layout.nodes[switch as usize].kind {
        NodeKind::Switch(switch) => switch.elephants.as_ref().map(|elephants| u64::from(elephants.limit)),
        NodeKind::Host | NodeKind::Circuit(_) => None,
    }
}

/// Of the rack pairs with elephants the one that has least of the packet network.
fn demand(scenario: &Scenario, layout: &Layout, flows: &[FlowSpec], numbers: &AccelToRNumbers) -> Option<Demand> {
    let keys = &scenario.circuits.as_ref()?.keys;
    let is_switch = |id: NodeId| matches!(layout.nodes[id as usize].kind, NodeKind::Switch(_));
    let mut tor: HashMap<NodeId, NodeId> = HashMap::new();
    let mut uplinks: HashMap<NodeId, u64> = HashMap::new();
    for link in &layout.links {
        for (end, peer) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
            match layout.nodes[end as usize].kind {
                NodeKind::Host => drop(tor.insert(end, peer)),
                _ if is_switch(end) && is_switch(peer) => *uplinks.entry(end).or_default() += link.spec.rate.as_bps(),
                _ => {}
            }
        }
    }
    let mut pairs: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    for flow in flows {
        let (from, to) = (tor[&flow.src], tor[&flow.dst]);
        let limit = max_elephants(layout, from);
        // Where switches find elephants, any flow may become one.
        if flow.elephant || limit.is_some() && from != to {
            let count = pairs.entry((from, to)).or_default();
            *count = (*count + 1).min(limit.unwrap_or(u64::MAX));
        }
    }
    let name = |id: NodeId| layout.nodes[id as usize].name.clone();
    let of = |((from, to), elephants): ((NodeId, NodeId), u64)| Demand {
        from: name(from),
        to: name(to),
        elephants,
        required: acceltor::demand(elephants, numbers.acceleration, scenario.packet(), keys.day + keys.night),
        offered: Rate::from_bps(*uplinks.get(&from).unwrap_or(&0)),
    };
    // Without acceleration, m = 0, there is no demand.
    let asking =
        pairs.into_iter().filter(|((from, to), _)| from != to).map(of).filter(|d| d.required > Rate::from_bps(0));
    asking.min_by(|a, b| a.headroom().total_cmp(&b.headroom()))
}
