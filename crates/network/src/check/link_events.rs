//! Checks of link events.

use super::fault::Fault;
use crate::spec::{Direction, LinkChange, LinkEventSpec, LinkSpec, NetworkSpec, NodeId, NodeKind};
use farloop_cc::int::RateCode;
use farloop_units::{Rate, Time};
use std::collections::BTreeMap;

/// Refuses events that contradict each other or the network.
pub(crate) fn check(spec: &NetworkSpec) -> Result<(), Fault> {
    let events = &spec.events.events;
    for (event, what) in events.iter().enumerate() {
        let fault = |setting, problem: String, expected: &str| {
            Err(Fault { index: event, setting, problem, expected: expected.to_string() })
        };
        let Some(link) = spec.links.get(what.link as usize) else {
            return fault("link", format!("there is no link {}", what.link), "");
        };
        if let Err((setting, problem, expected)) = check_one(spec, what, link) {
            return fault(setting, problem, expected);
        }
    }
    check_order(spec)
}

type Problem = (&'static str, String, &'static str);

fn check_one(spec: &NetworkSpec, event: &LinkEventSpec, link: &LinkSpec) -> Result<(), Problem> {
    let node = |id: NodeId| &spec.nodes[id as usize];
    let name = |id: NodeId| node(id).name.as_str();
    let ends = [link.a, link.b];
    if let Some(circuit) = ends.into_iter().find(|end| matches!(node(*end).kind, NodeKind::Circuit(_))) {
        let problem = format!("the link leads to the circuit switch \"{}\"", name(circuit));
        return Err(("link", problem, "expected a link of the packet network: circuits come and go by [circuits]"));
    }
    match &event.change {
        LinkChange::Down | LinkChange::Up => {
            if event.direction != Direction::Both {
                let problem = "a link goes down and comes up in both directions".to_string();
                return Err(("link", problem, "expected A<->B"));
            }
            if spec.nodes.iter().any(|node| matches!(node.kind, NodeKind::Circuit(_))) {
                let problem = "the network has circuit switches, over which no routes lead".to_string();
                return Err(("state", problem, "expected rate, delay or loss, or a network without them"));
            }
            if !spec.detours.is_empty() {
                let problem = "routes would change, and packets that take a [[detour]] go round in circles".to_string();
                return Err(("state", problem, "expected rate, delay or loss, or no [[detour]]"));
            }
        }
        LinkChange::Rate(rate) => {
            if *rate == Rate::ZERO {
                return Err(("rate", "a rate of zero".to_string(), "expected a larger one, or state = \"down\""));
            }
            let stamps =
                |port: &u32| matches!(&node(ends[*port as usize]).kind, NodeKind::Switch(switch) if switch.int);
            if let Some(port) = event.direction.ports(0).find(stamps).filter(|_| RateCode::new(*rate).is_none()) {
                let switch = name(ends[port as usize]);
                let problem = format!("telemetry cannot carry the rate {rate} of a port of \"{switch}\"");
                return Err(("rate", problem, "expected at most three significant digits, or switch.int = false"));
            }
        }
        LinkChange::Delay(_) | LinkChange::LoseData(_) | LinkChange::LoseAcks(_) | LinkChange::LateData(..) => {}
        LinkChange::Loss(p) | LinkChange::Corruption(p) => {
            if !(0.0..=1.0).contains(p) {
                let problem = format!("{p} is no probability");
                return Err((event.change.setting(), problem, "expected 0.0 to 1.0"));
            }
        }
    }
    Ok(())
}

/// A link by its ends; the second of parallel links is "a<->b#2".
fn link_name(spec: &NetworkSpec, link: usize) -> String {
    let LinkSpec { a, b, .. } = spec.links[link];
    let before = spec.links[..link].iter().filter(|l| (l.a, l.b) == (a, b) || (l.a, l.b) == (b, a)).count();
    let number = if before > 0 { format!("#{}", before + 1) } else { String::new() };
    format!("{}<->{}{number}", spec.nodes[a as usize].name, spec.nodes[b as usize].name)
}

/// Links go down that are up and come up that are down, and nothing is set twice at one time.
fn check_order(spec: &NetworkSpec) -> Result<(), Fault> {
    let events = &spec.events.events;
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|event| events[*event].at);
    let mut down: BTreeMap<u32, Time> = BTreeMap::new();
    let mut set: BTreeMap<(u32, &'static str), Time> = BTreeMap::new();
    for event in order {
        let LinkEventSpec { at, link, direction, ref change } = events[event];
        let name = || link_name(spec, link as usize);
        let setting = change.setting();
        let fault =
            |problem: String, expected: &str| Err(Fault { index: event, setting, problem, expected: expected.into() });
        for port in direction.ports(link) {
            if set.insert((port, setting), at) == Some(at) {
                let problem = format!("another event sets this for {} at {at}, too", name());
                return fault(problem, "expected one of them");
            }
        }
        match (change, down.get(&link).copied()) {
            (LinkChange::Down, Some(before)) => {
                return fault(format!("{} has been down since {before}", name()), "expected it to come up before");
            }
            (LinkChange::Up, None) => {
                return fault(format!("{} is up at {at}", name()), "expected it to go down before");
            }
            (LinkChange::Down, None) => {
                down.insert(link, at);
            }
            (LinkChange::Up, Some(_)) => {
                down.remove(&link);
            }
            _ => {}
        }
    }
    Ok(())
}
