//! `[algorithm].agents`: at which switches an algorithm's port agents live.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::AgentPlaces;
use crate::topology::Layout;
use farloop_net::spec::NodeKind;

/// Takes the agents from the switches of `layout` that the scenario leaves out.
pub(crate) fn place(scenario: &Scenario, layout: &mut Layout) -> Result<(), Diagnostic> {
    let keep: Vec<bool> = match &scenario.algorithm.agents {
        AgentPlaces::All => return Ok(()),
        AgentPlaces::Tor => {
            let mut with_hosts = vec![false; layout.nodes.len()];
            for link in &layout.links {
                for (end, other) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
                    with_hosts[end as usize] |= matches!(layout.nodes[other as usize].kind, NodeKind::Host);
                }
            }
            with_hosts
        }
        AgentPlaces::Named(patterns) => {
            patterns.iter().try_for_each(|pattern| check(scenario, layout, pattern))?;
            layout.nodes.iter().map(|n| patterns.iter().any(|p| glob::matches(p, &n.name))).collect()
        }
    };
    for (node, keep) in layout.nodes.iter_mut().zip(keep) {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.agents &= keep;
        }
    }
    Ok(())
}

/// Refuses a pattern that no switch answers to.
fn check(scenario: &Scenario, layout: &Layout, pattern: &str) -> Result<(), Diagnostic> {
    let names = || layout.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Switch(_))).map(|n| n.name.as_str());
    if names().any(|name| glob::matches(pattern, name)) {
        return Ok(());
    }
    let problem = format!("no switch is called \"{pattern}\"");
    let known = format!("switches: {}", listing(names()));
    Err(Diagnostic {
        suggestion: nearest(pattern, names()),
        ..scenario.diagnostic_at(&["algorithm", "agents"], problem, known)
    })
}
