//! The long links of a scenario for an emulator between real programs (`docs/emulate.md`); refuses what no emulated link does.

use crate::build::Built;
use crate::diagnostic::Diagnostic;
use crate::parallel::{neighbour_name, parallel};
use crate::scenario::Scenario;
use crate::testbed::{ETHERNET, at_switch, of_port};
use crate::topology::PlacedLink;
use farloop_net::spec::{Direction, EcnAt, LinkChange, LinkSpec, NodeId, NodeKind};
use farloop_units::{Bytes, Delta, Rate};
use serde_json::{Value as Json, json};

/// Packets on their way and in queues are kept in memory.
const MAX_MEMORY: Bytes = Bytes::new(4_000_000_000);

/// Ethernet's largest packet, and the smallest of IPv4.
const MTUS: [Bytes; 2] = [Bytes::new(576), Bytes::new(9000)];

/// The links that take `shortest` or longer, as JSON: ends, both directions with their ports, and the changes of each.
pub(crate) fn emulation_json(
    scenario: &Scenario,
    built: &Built,
    placed: &[PlacedLink],
    shortest: Delta,
) -> Result<String, Diagnostic> {
    let transport = &scenario.transport;
    if transport.framing < Bytes::new(ETHERNET) {
        let problem = "an Ethernet header has 14 bytes";
        return Err(scenario.diagnostic_at(&["transport", "framing"], problem, "expected 14B or more, such as 38B"));
    }
    if transport.mtu < MTUS[0] || transport.mtu > MTUS[1] {
        let problem = format!("emulated links have no packets of {}", transport.mtu);
        let expected = format!("expected {} to {}", MTUS[0], MTUS[1]);
        return Err(scenario.diagnostic_at(&["transport", "mtu"], problem, expected));
    }
    let spec = &built.spec;
    let numbers = parallel(&spec.links);
    let mut links = Vec::new();
    for (index, link) in spec.links.iter().enumerate().filter(|(_, link)| link.delay >= shortest) {
        check_end(scenario, built, link, (link.a, link.b))?;
        check_end(scenario, built, link, (link.b, link.a))?;
        check_memory(scenario, built, &placed[index], index)?;
        let port = |node: NodeId, peer: NodeId| match &spec.nodes[node as usize].kind {
            NodeKind::Switch(switch) => {
                let at_host = spec.nodes[peer as usize].kind == NodeKind::Host;
                of_port(switch, link.rate, at_host)
            }
            _ => Json::Null,
        };
        let name = |id: NodeId| &*spec.nodes[id as usize].name;
        links.push(json!({
            "a": name(link.a), "b": neighbour_name(name(link.b), numbers[2 * index]), "peer": name(link.b),
            "rate_bps": link.rate.as_bps(), "delay_ps": link.delay.as_ps(), "loss": link.loss,
            "corruption": link.corruption, "ports": [port(link.a, link.b), port(link.b, link.a)],
            "changes": [changes(built, index, 0), changes(built, index, 1)],
        }));
    }
    if links.is_empty() {
        let problem = format!("no link takes {shortest} or longer");
        return Err(scenario.diagnostic_at(&["network"], problem, "expected a long link, or a smaller --longer-than"));
    }
    let is_short = |link: u32| spec.links[link as usize].delay < shortest;
    Ok(json!({
        "mtu": transport.mtu.get(), "framing": transport.framing.get() - ETHERNET, "seed": spec.seed, "links": links,
        "short_links": spec.links.iter().filter(|link| link.delay < shortest).count(),
        "short_changes": spec.events.events.iter().filter(|event| is_short(event.link)).count(),
    })
    .to_string())
}

/// Refuses settings of the port from `id` to `peer` that no emulated link has.
fn check_end(
    scenario: &Scenario,
    built: &Built,
    link: &LinkSpec,
    (id, peer): (NodeId, NodeId),
) -> Result<(), Diagnostic> {
    let (node, neighbour) = (&built.spec.nodes[id as usize], &built.spec.nodes[peer as usize]);
    let refuse = |key: &str, problem: &str, expected: &str| Err(at_switch(scenario, built, id, key, problem, expected));
    match &node.kind {
        NodeKind::Host => Ok(()),
        NodeKind::Circuit(_) => {
            let problem = "a circuit switch has no emulated links";
            Err(scenario.diagnostic_at(&["network", "topology"], problem, "expected another topology"))
        }
        NodeKind::Switch(_) if link.pauses(node, neighbour) => {
            refuse("pfc", "an emulated link carries no pauses", "expected pfc = false")
        }
        NodeKind::Switch(switch) if switch.discipline != Default::default() => {
            refuse("discipline", "an emulated link's queue is first in, first out", "expected discipline = \"fifo\"")
        }
        NodeKind::Switch(switch) if switch.trim.is_some() => {
            refuse("trim", "an emulated link drops packets whole", "expected trim = \"none\"")
        }
        NodeKind::Switch(switch) if switch.ecn.is_some_and(|ecn| ecn.at != EcnAt::Arrival) => {
            refuse("ecn_at", "an emulated link marks what arrives", "expected ecn_at = \"arrival\"")
        }
        NodeKind::Switch(switch) if switch.ecn.is_some_and(|ecn| ecn.drops_others) => refuse(
            "ecn_drops_others",
            "an emulated link lets wait what it cannot mark",
            "expected ecn_drops_others = false",
        ),
        NodeKind::Switch(_) => Ok(()),
    }
}

/// Refuses a link that holds more than this host is asked to keep, at the highest rate and the longest delay that it ever has.
fn check_memory(scenario: &Scenario, built: &Built, placed: &PlacedLink, index: usize) -> Result<(), Diagnostic> {
    let (mut rate, mut delay) = (placed.spec.rate, placed.spec.delay);
    for event in built.spec.events.events.iter().filter(|event| event.link as usize == index) {
        match event.change {
            LinkChange::Rate(changed) => rate = rate.max(changed),
            LinkChange::Delay(changed) => delay = delay.max(changed),
            _ => {}
        }
    }
    let held = held(rate, delay);
    if held <= MAX_MEMORY.get() as f64 {
        return Ok(());
    }
    let path = placed.rate_key.path();
    let problem = format!("{rate} for {delay} are {:.1} GB on the way in both directions", held / 1e9);
    Err(scenario.diagnostic_at(&path, problem, format!("expected at most {MAX_MEMORY} on an emulated link")))
}

/// Bytes on the way in both directions.
fn held(rate: Rate, delay: Delta) -> f64 {
    2.0 * rate.as_bps() as f64 * delay.as_secs_f64() / 8.0
}

/// The changes of one direction of a link, times and delays in ns.
fn changes(built: &Built, index: usize, end: u32) -> Vec<Json> {
    let port = 2 * index as u32 + end;
    let concerns = |direction: Direction| direction.ports(index as u32).any(|changed| changed == port);
    let events = built.spec.events.events.iter();
    let of_direction = events.filter(|event| event.link as usize == index && concerns(event.direction));
    let json = of_direction.map(|event| {
        let (setting, value, late_by) = match &event.change {
            LinkChange::Down => ("down", Json::Null, Json::Null),
            LinkChange::Up => ("up", Json::Null, Json::Null),
            LinkChange::Rate(rate) => ("rate", json!(rate.as_bps()), Json::Null),
            LinkChange::Delay(delay) => ("delay", json!(delay.as_ps() / 1000), Json::Null),
            LinkChange::Loss(loss) => ("loss", json!(loss), Json::Null),
            LinkChange::Corruption(corruption) => ("corruption", json!(corruption), Json::Null),
            LinkChange::LoseData(numbers) => ("lose_data", json!(numbers.to_string()), Json::Null),
            LinkChange::LoseAcks(numbers) => ("lose_acks", json!(numbers.to_string()), Json::Null),
            LinkChange::LateData(numbers, by) => ("late_data", json!(numbers.to_string()), json!(by.as_ps() / 1000)),
        };
        json!({"at": event.at.as_ps() / 1000, "setting": setting, "value": value, "late_by": late_by})
    });
    json.collect()
}
