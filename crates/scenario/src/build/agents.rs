//! The switches with agents: `[algorithm].agents` for those of algorithms, `[[agent]].at` for those of the network.

use crate::agent::AgentSection;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::{AgentPlaces, SwitchPlaces};
use crate::topology::Layout;
use farloop_net::border_switches;
use farloop_net::spec::{AgentSpec, LinkSpec, NodeKind, NodeSpec};

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
            let path = ["algorithm", "agents"];
            patterns.iter().try_for_each(|pattern| check(scenario, layout, &path, pattern))?;
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

/// The agents of the network, each with its switches.
pub(crate) fn chosen(scenario: &Scenario, layout: &Layout) -> Result<Vec<AgentSpec>, Diagnostic> {
    let links: Vec<LinkSpec> = layout.links.iter().map(|link| link.spec).collect();
    let switches_of = |agent: &AgentSection| match &agent.keys.at {
        SwitchPlaces::Border => {
            let switches = border_switches(&layout.nodes, &links);
            if switches.is_empty() {
                let problem = "no switch of a datacenter has a link to a switch outside";
                let expected = "expected a list of switches, or topology = \"datacenters\"";
                return Err(scenario.diagnostic_at(&["agent", agent.name.as_str(), "at"], problem, expected));
            }
            Ok(switches)
        }
        SwitchPlaces::Named(patterns) => {
            let path = ["agent", agent.name.as_str(), "at"];
            patterns.iter().try_for_each(|pattern| check(scenario, layout, &path, pattern))?;
            let named = |node: &NodeSpec| {
                matches!(node.kind, NodeKind::Switch(_)) && patterns.iter().any(|p| glob::matches(p, &node.name))
            };
            Ok((0..).zip(&layout.nodes).filter(|(_, node)| named(node)).map(|(id, _)| id).collect())
        }
    };
    let spec = |agent: &AgentSection| Ok(AgentSpec { params: agent.params.clone(), switches: switches_of(agent)? });
    scenario.agents.iter().map(spec).collect()
}

/// Refuses a pattern that no switch answers to.
fn check(scenario: &Scenario, layout: &Layout, path: &[&str], pattern: &str) -> Result<(), Diagnostic> {
    let names = || layout.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Switch(_))).map(|n| n.name.as_str());
    if names().any(|name| glob::matches(pattern, name)) {
        return Ok(());
    }
    let problem = format!("no switch is called \"{pattern}\"");
    let known = format!("switches: {}", listing(names()));
    Err(Diagnostic { suggestion: nearest(pattern, names()), ..scenario.diagnostic_at(path, problem, known) })
}
