//! Two properties that keep real hosts out of step: inexact clocks, and starts at no round moment.

use super::hosts::Hosts;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::{ClockOffsets, NicOrderChoice, StallLawChoice};
use farloop_engine::RandomStream;
use farloop_net::spec::{ClockOffset, FlowSpec, NicOrder, NodeKind, StallLaw, StallSpec};
use farloop_units::{Bytes, Delta};

/// Clock offsets, by node; empty where all clocks are exact.
pub(crate) fn clock_offsets(scenario: &Scenario, hosts: &Hosts<'_>) -> Result<Vec<ClockOffset>, Diagnostic> {
    let keys = &scenario.hosts.clock_offset;
    if keys.are_none() {
        return Ok(Vec::new());
    }
    let nodes = &hosts.layout.nodes;
    let is_host = |node: usize| nodes[node].kind == NodeKind::Host;
    let given = match keys {
        ClockOffsets::Drawn(most) => {
            let of = |node: usize| {
                let mut random = RandomStream::new(scenario.run.seed, "clock", node as u64);
                let most = most.as_ppb();
                ClockOffset::from_ppb(random.below(2 * most as u64 + 1) as i32 - most)
            };
            let all = 0..nodes.len();
            return Ok(all.map(|node| if is_host(node) { of(node) } else { ClockOffset::NONE }).collect());
        }
        ClockOffsets::Given(given) => given,
    };
    let names = || (0..nodes.len()).filter(|node| is_host(*node)).map(|node| nodes[node].name.as_str());
    for (pattern, _) in given {
        if !names().any(|name| glob::matches(pattern, name)) {
            let problem = format!("no host is called \"{pattern}\"");
            let known = format!("hosts: {}", listing(names()));
            let suggestion = nearest(pattern, names());
            return Err(Diagnostic {
                suggestion,
                ..scenario.diagnostic_at(&["hosts", "clock_offset"], problem, known)
            });
        }
    }
    let of = |name: &str| given.iter().find(|(pattern, _)| glob::matches(pattern, name)).map(|(_, offset)| *offset);
    let all = 0..nodes.len();
    Ok(all.map(|node| of(&nodes[node].name).filter(|_| is_host(node)).unwrap_or_default()).collect())
}

/// When hosts stall.
pub(crate) fn stalls(scenario: &Scenario) -> Result<Option<StallSpec>, Diagnostic> {
    let keys = &scenario.hosts;
    if keys.stall > Delta::ZERO {
        let law = match keys.stall_law.unwrap_or(StallLawChoice::Exponential) {
            StallLawChoice::Fixed => StallLaw::Fixed,
            StallLawChoice::Exponential => StallLaw::Exponential,
            StallLawChoice::Pareto => StallLaw::Pareto,
        };
        let gap = keys.stall_gap.unwrap_or(Delta::from_ms(1));
        return Ok(Some(StallSpec { duration: keys.stall, gap, law }));
    }
    for (key, is_set) in [("stall_gap", keys.stall_gap.is_some()), ("stall_law", keys.stall_law.is_some())] {
        if is_set {
            let expected = format!("expected stall longer than 0ps, or no {key}");
            return Err(scenario.diagnostic_at(&["hosts", key], "no host stalls with stall = \"0ps\"", expected));
        }
    }
    Ok(None)
}

/// The order in which a host's flows send.
pub(crate) fn nic_order(scenario: &Scenario) -> NicOrder {
    match scenario.hosts.order {
        NicOrderChoice::Ready => NicOrder::Ready,
        NicOrderChoice::Cycle => NicOrder::Cycle,
        NicOrderChoice::InOrder => NicOrder::InOrder,
    }
}

/// The order of ties for `run.jitter`.
pub(crate) fn tie_order(scenario: &Scenario) -> Option<u64> {
    (scenario.run.jitter > 0).then_some(u64::from(scenario.run.jitter))
}

/// Has every flow start later, each by a random time of less than a full packet takes at its source, if `run.jitter` is
/// set. A flow that would start after its stop starts as it did.
pub(crate) fn shift_starts(scenario: &Scenario, hosts: &Hosts<'_>, flows: &mut [FlowSpec]) {
    let Some(variation) = tie_order(scenario) else { return };
    let mut random = RandomStream::new(scenario.run.seed, "starts", variation);
    let packet: Bytes = scenario.packet();
    for flow in flows {
        let rate = hosts.facts[flow.src as usize].expect("flows begin at hosts").rate;
        let shift = Delta::from_ps(random.below(rate.time_to_send(packet).as_ps()));
        let start = flow.start.saturating_add(shift);
        if start < flow.stop {
            flow.start = start;
        }
    }
}
