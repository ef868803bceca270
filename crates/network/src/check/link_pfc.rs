//! Checks of links with PFC of their own.

use super::fault::Fault;
use crate::spec::{BifrostSpec, LinkPfc, LinkSpec, NetworkSpec, NodeKind};
use farloop_units::{Bytes, Delta};

type Problem = (&'static str, String, String);

/// Refuses PFC that a link cannot have, where the largest packet takes `largest` on the wire.
pub(crate) fn check(spec: &NetworkSpec, largest: Bytes) -> Result<(), Fault> {
    for (link, own) in spec.links.iter().enumerate() {
        if let Err((setting, problem, expected)) = check_one(spec, link, own, largest) {
            return Err(Fault { index: link, setting, problem, expected });
        }
    }
    Ok(())
}

fn check_one(spec: &NetworkSpec, number: usize, link: &LinkSpec, largest: Bytes) -> Result<(), Problem> {
    if link.pfc == LinkPfc::Local {
        return Ok(());
    }
    let [a, b] = [link.a, link.b].map(|node| &spec.nodes[node as usize]);
    let names = format!("\"{}\" and \"{}\"", a.name, b.name);
    if !(a.can_pause(b) || b.can_pause(a)) {
        let problem =
            format!("no switch with pfc = true is at the link between {names}, or its other end obeys no pauses");
        return Err(("pfc", problem, "expected pfc = \"auto\", or switches with pfc = true".into()));
    }
    let Some(bifrost) = spec.bifrost(link, largest) else { return Ok(()) };
    if ![a, b].iter().all(|node| matches!(node.kind, NodeKind::Switch(_))) {
        let problem = format!("Bifrost joins switches, and the link is between {names}");
        return Err(("pfc", problem, "expected pfc = \"auto\" or \"on\"".into()));
    }
    if spec.events.events.iter().any(|event| event.link as usize == number) {
        let problem = format!("the link between {names} changes, and Bifrost counts on what is under way there");
        return Err(("pfc", problem, "expected pfc = \"auto\" or \"on\", or no [[event]] of the link".into()));
    }
    check_slot(link, &bifrost)?;
    let least = bifrost.least_buffer(largest);
    if bifrost.buffer < least {
        let problem =
            format!("Bifrost loses packets with {} for a link with {} under way", bifrost.buffer, bifrost.in_flight);
        return Err(("headroom", problem, format!("expected at least \"{least}\", a round trip and two slots")));
    }
    Ok(())
}

/// The slot ends before a pause has come to the neighbour, and a frame can say how long it is.
fn check_slot(link: &LinkSpec, bifrost: &BifrostSpec) -> Result<(), Problem> {
    let expected = |most| format!("expected more than zero and less than \"{most}\"");
    if bifrost.slot == Delta::ZERO || bifrost.slot >= link.delay {
        let problem = format!("a slot of {} is not shorter than the link's delay", bifrost.slot);
        return Err(("pfc_slot", problem, expected(link.delay)));
    }
    let longest = link.rate.time_to_send(BifrostSpec::QUANTUM) * BifrostSpec::MAX_QUANTA;
    if bifrost.slot + bifrost.margin > longest {
        let problem = format!("a PFC frame cannot say a pause of {} at {}", bifrost.slot, link.rate);
        return Err(("pfc_slot", problem, expected(longest)));
    }
    Ok(())
}
