//! Whether the network offers what algorithms need.

use super::switches::setting_path;
use crate::diagnostic::Diagnostic;
use crate::scenario::Scenario;
use crate::sections::AgentPlaces;
use crate::topology::Layout;
use farloop_cc::AnyParams;
use farloop_net::spec::{Ecmp, NodeId, NodeKind, SwitchSpec};

/// Parameters of the algorithms that run, after checking that the network offers what they need.
pub(crate) fn algorithms(scenario: &Scenario, layout: &Layout, names: &[String]) -> Result<Vec<AnyParams>, Diagnostic> {
    let offers = |wanted: fn(&SwitchSpec) -> bool| {
        layout.nodes.iter().any(|n| matches!(&n.kind, NodeKind::Switch(s) if wanted(s)))
    };
    let switch = (0..).zip(&layout.nodes).find(|(_, n)| n.kind != NodeKind::Host).map(|(id, _): (NodeId, _)| id);
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
                    return Err(scenario.at(&["network", "topology"], problem, expected));
                };
                if key == "agents" && scenario.algorithm.agents != AgentPlaces::All {
                    let problem = format!("the algorithm \"{name}\" needs {what}");
                    let expected = "expected \"all\", or switches with agents = true";
                    return Err(scenario.at(&["algorithm", "agents"], problem, expected));
                }
                // The key that decides for the first switch: of [switch], [wan_switch] or an override.
                let path = setting_path(scenario, layout, switch, key);
                let problem = format!("the algorithm \"{name}\" needs {what}");
                return Err(scenario.at(&path, problem, format!("expected {} = true", path.join("."))));
            }
            if needs.int && offers(|s| s.ecmp == Ecmp::Packet) {
                let problem = format!(
                    "the algorithm \"{name}\" compares telemetry of the same port, but packets are sprayed over several"
                );
                return Err(scenario.at(&["switch", "ecmp"], problem, "expected ecmp = \"flow\" at all switches"));
            }
            if needs.delivery_rate && !scenario.endpoint.is_tcp() {
                let problem = format!("the algorithm \"{name}\" needs the delivery rate, which only TCP measures");
                return Err(scenario.at(&["transport", "kind"], problem, "expected transport.kind = \"tcp\""));
            }
            Ok(params)
        })
        .collect()
}
