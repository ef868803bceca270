//! `[[detour]]`: what some switches send another way than the shortest.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::scenario::Scenario;
use crate::topology::Layout;
use farloop_net::spec::{DetourSpec, NodeId, NodeKind};
use std::collections::{BTreeSet, HashMap};

/// The detours, for names that are there. Whether they lead anywhere, the finished network knows.
pub(crate) fn detours(scenario: &Scenario, layout: &Layout) -> Result<Vec<DetourSpec>, Diagnostic> {
    if scenario.detours.is_empty() {
        return Ok(Vec::new());
    }
    let name_of = |id: NodeId| layout.nodes[id as usize].name.as_str();
    let is_host = |id: NodeId| matches!(layout.nodes[id as usize].kind, NodeKind::Host);
    let ids: HashMap<&str, NodeId> = (0..).zip(&layout.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
    let mut neighbours: HashMap<NodeId, BTreeSet<NodeId>> = HashMap::new();
    for link in &layout.links {
        neighbours.entry(link.spec.a).or_default().insert(link.spec.b);
        neighbours.entry(link.spec.b).or_default().insert(link.spec.a);
    }
    let is_switch = |id: NodeId| matches!(layout.nodes[id as usize].kind, NodeKind::Switch(_));
    let all = || 0..layout.nodes.len() as NodeId;
    let mut specs = Vec::with_capacity(scenario.detours.len());
    for (name, keys) in &scenario.detours {
        // Of the nodes `among`, which `are` what they are called.
        let find = |key: &str, value: &Option<String>, among: &dyn Fn() -> Vec<NodeId>, are: &str| {
            let value = value.as_deref().unwrap_or_default();
            let among = among();
            if let Some(id) = ids.get(value).filter(|id| among.contains(id)) {
                return Ok(*id);
            }
            let problem = match ids.contains_key(value) {
                true => format!("the node \"{value}\" is none of the {are}"),
                false => format!("there is no node \"{value}\""),
            };
            let known = || among.iter().map(|id| name_of(*id));
            let expected = format!("{are}: {}", listing(known()));
            let suggestion = nearest(value, known());
            Err(Diagnostic { suggestion, ..scenario.at(&["detour", name, key], problem, expected) })
        };
        let switch = find("switch", &keys.switch, &|| all().filter(|id| is_switch(*id)).collect(), "switches")?;
        let destination =
            find("destination", &keys.destination, &|| all().filter(|id| is_host(*id)).collect(), "hosts")?;
        // Hosts pass nothing on.
        let leads_on = |id: &NodeId| *id == destination || !is_host(*id);
        let around = || neighbours.get(&switch).into_iter().flatten().copied().filter(leads_on).collect();
        let next = find("next", &keys.next, &around, &format!("neighbours of \"{}\" that lead on", name_of(switch)))?;
        specs.push(DetourSpec { switch, destination, next });
    }
    Ok(specs)
}
