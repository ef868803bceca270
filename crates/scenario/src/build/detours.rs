//! `[[detour]]`: packets that some switches send another way than the shortest.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::parallel::{neighbour_name, peer_and_number};
use crate::scenario::Scenario;
use crate::topology::Layout;
use farloop_net::spec::{DetourSpec, NodeId, NodeKind};
use std::collections::{BTreeMap, HashMap};

/// Resolves the names of detours. The finished network checks that they lead to their destinations.
pub(crate) fn detours(scenario: &Scenario, layout: &Layout) -> Result<Vec<DetourSpec>, Diagnostic> {
    if scenario.detours.is_empty() {
        return Ok(Vec::new());
    }
    let name_of = |id: NodeId| layout.nodes[id as usize].name.as_str();
    let is_host = |id: NodeId| matches!(layout.nodes[id as usize].kind, NodeKind::Host);
    let ids: HashMap<&str, NodeId> = (0..).zip(&layout.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
    // By node: its neighbours, with the number of links to each.
    let mut neighbours: HashMap<NodeId, BTreeMap<NodeId, u32>> = HashMap::new();
    for link in &layout.links {
        *neighbours.entry(link.spec.a).or_default().entry(link.spec.b).or_default() += 1;
        *neighbours.entry(link.spec.b).or_default().entry(link.spec.a).or_default() += 1;
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
            Err(Diagnostic { suggestion, ..scenario.diagnostic_at(&["detour", name, key], problem, expected) })
        };
        let switch = find("switch", &keys.switch, &|| all().filter(|id| is_switch(*id)).collect(), "switches")?;
        let destination =
            find("destination", &keys.destination, &|| all().filter(|id| is_host(*id)).collect(), "hosts")?;
        // Hosts pass nothing on.
        let leads_on = |id: &NodeId| *id == destination || !is_host(*id);
        let around =
            || neighbours.get(&switch).into_iter().flat_map(BTreeMap::keys).copied().filter(leads_on).collect();
        let (neighbour, which) = peer_and_number(keys.next.as_deref().unwrap_or_default());
        let are = format!("neighbours of \"{}\" that lead on", name_of(switch));
        let next = find("next", &Some(neighbour.to_string()), &around, &are)?;
        let links = neighbours.get(&switch).and_then(|near| near.get(&next)).copied().unwrap_or_default();
        let link = which.unwrap_or(1).wrapping_sub(1);
        if link >= links {
            let problem = format!("there is no link \"{}\"", keys.next.as_deref().unwrap_or_default());
            let last = neighbour_name(neighbour, links);
            let expected = match links {
                1 => format!("one link leads there: expected \"{neighbour}\""),
                _ => format!("{links} links lead there: expected \"{neighbour}\", or \"{neighbour}#2\" to \"{last}\""),
            };
            return Err(scenario.diagnostic_at(&["detour", name, "next"], problem, expected));
        }
        specs.push(DetourSpec { switch, destination, next, link });
    }
    Ok(specs)
}
