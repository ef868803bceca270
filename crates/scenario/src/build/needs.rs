//! Checks that the network offers the features that algorithms need.

use super::switches::setting_path;
use crate::diagnostic::Diagnostic;
use crate::scenario::Scenario;
use crate::sections::{AgentPlaces, PathsChoice};
use crate::topology::Layout;
use crate::transport::EndpointKeys;
use farloop_cc::{AnyParams, Needs};
use farloop_net::border_switches;
use farloop_net::spec::{Ecmp, LinkSpec, NodeId, NodeKind, NodeSpec, SwitchSpec};

/// Parameters of the algorithms that run, after checking that the network offers what they need.
pub(crate) fn algorithms(scenario: &Scenario, layout: &Layout, names: &[String]) -> Result<Vec<AnyParams>, Diagnostic> {
    check_source_routing(scenario, layout)?;
    let offers = |wanted: fn(&SwitchSpec) -> bool| {
        layout.nodes.iter().any(|n| matches!(&n.kind, NodeKind::Switch(s) if wanted(s)))
    };
    let switch =
        (0..).zip(&layout.nodes).find(|(_, n)| matches!(n.kind, NodeKind::Switch(_))).map(|(id, _): (NodeId, _)| id);
    names
        .iter()
        .map(|name| {
            let params = scenario.algorithm_settings.params(name).expect("names were checked when they were read");
            let needs = params.needs();
            let lacking = [
                (needs.ecn, offers(|s| s.ecn.is_some()), "ecn", "ECN marks, but no switch marks"),
                (needs.int, offers(|s| s.int), "int", "in-band telemetry, but no switch stamps it"),
                (needs.port_agent, offers(|s| s.agents), "agents", "an agent in the switches, but none takes it"),
            ];
            for (needed, offered, key, what) in lacking {
                if !needed || offered {
                    continue;
                }
                let Some(switch) = switch else {
                    let (what, _) = what.split_once(", but").unwrap_or((what, ""));
                    let problem = format!("the algorithm \"{name}\" needs {what}, but the network has no switch");
                    let expected = "expected a switch between the hosts, or an algorithm that needs none";
                    return Err(scenario.diagnostic_at(&["network", "topology"], problem, expected));
                };
                if key == "agents" && scenario.algorithm.agents != AgentPlaces::All {
                    let problem = format!("the algorithm \"{name}\" needs {what}");
                    let expected = "expected \"all\", or switches with agents = true";
                    return Err(scenario.diagnostic_at(&["algorithm", "agents"], problem, expected));
                }
                // The key that decides for the first switch: of [switch], [wan_switch] or an override.
                let path = setting_path(scenario, layout, switch, key);
                let problem = format!("the algorithm \"{name}\" needs {what}");
                return Err(scenario.diagnostic_at(&path, problem, format!("expected {} = true", path.join("."))));
            }
            if let EndpointKeys::Multipath(keys, _) = &scenario.endpoint {
                check_multipath(scenario, layout, name, &needs, keys.paths)?;
            }
            if needs.int && offers(|s| matches!(s.ecmp, Ecmp::Packet | Ecmp::Adaptive)) {
                let problem = format!(
                    "the algorithm \"{name}\" compares telemetry of the same port, but packets are sprayed over several"
                );
                return Err(scenario.diagnostic_at(&["switch", "ecmp"], problem, "expected ecmp = \"flow\" at all switches"));
            }
            if needs.border_agent {
                check_border(scenario, layout, name)?;
            }
            if needs.symmetric {
                check_symmetry(scenario, layout, name)?;
            }
            let multipath = matches!(scenario.endpoint, EndpointKeys::Multipath(..));
            if needs.multipath && !multipath {
                let problem = format!(
                    "the algorithm \"{name}\" needs to hear of each lost packet, which only multipath endpoints tell"
                );
                return Err(scenario.diagnostic_at(&["transport", "kind"], problem, "expected transport.kind = \"multipath\""));
            }
            if needs.credit {
                let grants = |other: &&String| {
                    let params = scenario.algorithm_settings.params(other).expect("names were checked");
                    *other != name && params.needs().credit
                };
                if let Some(other) = names.iter().find(grants) {
                    let problem = format!(
                        "the algorithms \"{name}\" and \"{other}\" both have receiving hosts grant the rate of their link"
                    );
                    let expected = "expected one algorithm with receiver credit";
                    return Err(scenario.diagnostic_at(&["algorithm", "name"], problem, expected));
                }
            }
            if needs.delivery_rate && !multipath && !scenario.endpoint.is_tcp() {
                let problem = format!("the algorithm \"{name}\" needs the delivery rate, which go-back-N does not measure");
                return Err(scenario.diagnostic_at(&["transport", "kind"], problem, "expected transport.kind = \"tcp\", or \"multipath\""));
            }
            Ok(params)
        })
        .collect()
}

/// Refuses times of packets from their entry on, where what finds losses tells sendings apart by the times at which they left.
pub(crate) fn check_entry_times(scenario: &Scenario, layout: &Layout) -> Result<(), Diagnostic> {
    let EndpointKeys::Multipath(keys, _) = &scenario.endpoint else { return Ok(()) };
    if !keys.entry_times {
        return Ok(());
    }
    let trims = |node: &NodeSpec| matches!(&node.kind, NodeKind::Switch(switch) if switch.trim.is_some());
    let (problem, expected) = if !keys.entry_pacing {
        ("without entry_pacing packets enter no queue", "expected entry_pacing = true")
    } else if keys.overtaken.is_some() {
        ("overtaken packets are told by the times at which they left", "expected overtaken = \"none\"")
    } else if layout.nodes.iter().any(trims) {
        ("trimmed packets are told by the times at which they left", "expected trim = \"none\" at all switches")
    } else {
        return Ok(());
    };
    let expected = format!("{expected}, or entry_times = false");
    Err(scenario.diagnostic_at(&["transport", "entry_times"], problem, expected))
}

/// Refuses switches that go by entropy values where packets have none.
fn check_source_routing(scenario: &Scenario, layout: &Layout) -> Result<(), Diagnostic> {
    let by_source = |node: &NodeSpec| matches!(&node.kind, NodeKind::Switch(s) if s.ecmp == Ecmp::Source);
    let first = (0..).zip(&layout.nodes).find(|(_, node)| by_source(node));
    let Some((switch, node)) = first.filter(|_| !matches!(scenario.endpoint, EndpointKeys::Multipath(..))) else {
        return Ok(());
    };
    let path = setting_path(scenario, layout, switch, "ecmp");
    let problem = format!("switch \"{}\" goes by entropy values, which only multipath endpoints have", node.name);
    Err(scenario.diagnostic_at(&path, problem, "expected transport.kind = \"multipath\", or another ecmp"))
}

/// Refuses algorithms and choices that need a single path per flow over multipath endpoints.
fn check_multipath(
    scenario: &Scenario,
    layout: &Layout,
    name: &str,
    needs: &Needs,
    paths: PathsChoice,
) -> Result<(), Diagnostic> {
    let expected = "expected transport.kind = \"rdma\" or \"tcp\", or an algorithm of the ends of a flow";
    let at_switches = [
        (needs.symmetric, "has switches write into ACKs, which must pass the switches that their data passed"),
        (needs.border_agent, "has agents at the borders of datacenters, which follow a flow through one port"),
    ];
    if let Some((_, what)) = at_switches.into_iter().find(|(needed, _)| *needed) {
        let problem = format!("the algorithm \"{name}\" {what}; a multipath transport sends each packet its own way");
        return Err(scenario.diagnostic_at(&["transport", "kind"], problem, expected));
    }
    let several = layout.links.len() >= layout.nodes.len();
    if needs.int && several && paths != PathsChoice::Single {
        let problem = format!(
            "the algorithm \"{name}\" compares telemetry of the same port, but the packets of a flow take several paths"
        );
        let expected = "expected paths = \"single\", or an algorithm without telemetry";
        return Err(scenario.diagnostic_at(&["transport", "paths"], problem, expected));
    }
    Ok(())
}

/// Returns true if some switch at the border of a datacenter takes agents.
fn check_border(scenario: &Scenario, layout: &Layout, name: &str) -> Result<(), Diagnostic> {
    let links: Vec<LinkSpec> = layout.links.iter().map(|link| link.spec).collect();
    let borders = border_switches(&layout.nodes, &links);
    let Some(first) = borders.first() else {
        let problem = format!(
            "the algorithm \"{name}\" needs switches at the borders of datacenters, but no switch of one has a link to another switch outside"
        );
        let expected = "expected topology = \"datacenters\", or switches whose datacenters differ";
        return Err(scenario.diagnostic_at(&["network", "topology"], problem, expected));
    };
    let takes = |id: &NodeId| matches!(&layout.nodes[*id as usize].kind, NodeKind::Switch(s) if s.agents);
    if borders.iter().any(takes) {
        return Ok(());
    }
    let problem = format!(
        "the algorithm \"{name}\" needs an agent in the switches at the borders of datacenters, but none takes it"
    );
    if scenario.algorithm.agents != AgentPlaces::All {
        let expected = "expected \"all\", or a list with the switches at the borders";
        return Err(scenario.diagnostic_at(&["algorithm", "agents"], problem, expected));
    }
    let path = setting_path(scenario, layout, *first, "agents");
    Err(scenario.diagnostic_at(&path, problem, format!("expected {} = true", path.join("."))))
}

/// ACKs pass the switches that their data has passed: where there are several paths, all switches see to that.
fn check_symmetry(scenario: &Scenario, layout: &Layout, name: &str) -> Result<(), Diagnostic> {
    if layout.links.len() < layout.nodes.len() {
        return Ok(());
    }
    let other = (0..).zip(&layout.nodes).find(|(_, node)| match &node.kind {
        NodeKind::Switch(switch) => switch.ecmp != Ecmp::Symmetric,
        NodeKind::Host | NodeKind::Circuit(_) => false,
    });
    let Some((switch, node)) = other else { return Ok(()) };
    let problem = format!(
        "the algorithm \"{name}\" has switches write into ACKs, so an ACK must pass the switches that its data passed; \
         switch \"{}\" may send it another way",
        node.name
    );
    let path = setting_path(scenario, layout, switch, "ecmp");
    Err(scenario.diagnostic_at(&path, problem, format!("expected {} = \"symmetric\"", path.join("."))))
}
