//! Invariants of every run: its counters add up.

use crate::ids::{PortId, PortNumber, SwitchId, Table};
use crate::packet::LOSSY;
use crate::part::Part;
use crate::port::Owner;
use crate::switch::bifrost::Record;
use farloop_network::Network;
use farloop_network::result::{DayRow, Invariant, PortRow, Totals};
use farloop_network::spec::{DATA_CLASSES, NodeId};
use farloop_units::{Bytes, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// Checks all invariants.
pub(crate) fn check_all(
    network: &Network,
    parts: &[Part],
    totals: &Totals,
    ports: &Table<PortNumber, PortRow>,
    days: &[DayRow],
) -> Vec<Invariant> {
    let mut all = counts(network, parts, totals, ports);
    all.push(buffers(network, parts));
    all.extend(circuits(network, parts, days));
    all.extend(bifrost(network, parts));
    all
}

/// Checks that the bytes which switches count as used equal the bytes that wait in them.
fn buffers(network: &Network, parts: &[Part]) -> Invariant {
    let mut wrong: BTreeSet<NodeId> = BTreeSet::new();
    for part in parts {
        let (cx, ingress) = (&part.context, &part.switches.ingress);
        // Bytes charged by ingress, and bytes shared by switch.
        let mut charged: BTreeMap<(PortId, usize), u64> = BTreeMap::new();
        let mut lossy: BTreeMap<SwitchId, u64> = BTreeMap::new();
        let mut shared: BTreeMap<SwitchId, (u64, NodeId)> = BTreeMap::new();
        for (p, port) in cx.ports.iter() {
            let Owner::Switch(s) = port.owner else { continue };
            for data_class in 0..DATA_CLASSES {
                for packet in
                    cx.waiting_packets(p, data_class).map(|slot| &cx.packets[slot]).filter(|p| p.ingress().exists())
                {
                    let wire = u64::from(packet.wire);
                    match packet.flags & LOSSY {
                        0 => *charged.entry((packet.ingress(), data_class)).or_default() += wire,
                        _ => *lossy.entry(s).or_default() += wire,
                    }
                }
                shared.entry(s).or_insert((0, cx.stats[p].row.node)).0 += ingress[p].held_bytes(data_class).0;
            }
        }
        for (p, _) in cx.ports.iter().filter(|(_, port)| matches!(port.owner, Owner::Switch(_))) {
            for data_class in 0..DATA_CLASSES {
                let (shared, headroom) = ingress[p].held_bytes(data_class);
                if shared + headroom != charged.get(&(p, data_class)).copied().unwrap_or(0) {
                    wrong.insert(cx.stats[p].row.node);
                }
            }
        }
        for (s, (bytes, node)) in shared {
            if part.switches.switches[s].buffer.used_bytes() != bytes + lossy.get(&s).copied().unwrap_or(0) {
                wrong.insert(node);
            }
        }
    }
    let names: Vec<&str> = wrong.iter().map(|n| network.node_specs[*n as usize].name.as_str()).collect();
    let detail = match &names[..] {
        [] => "switches hold what they count".to_string(),
        names => format!("these count more or less than waits in them: {}", names.join(", ")),
    };
    Invariant { name: "buffers", ok: wrong.is_empty(), detail }
}

/// Checks that nothing passed a circuit switch but by its circuits, and of each no more than it carries in a day; `None` without such
/// switches.
fn circuits(network: &Network, parts: &[Part], days: &[DayRow]) -> Option<Invariant> {
    let switches = || parts.iter().flat_map(|part| part.circuits.rows());
    switches().next()?;
    let astray: u64 = switches().map(|switch| switch.astray).sum();
    let mut rates: BTreeMap<NodeId, Rate> = BTreeMap::new();
    rates.extend(network.ends.rows().map(|end| (end.node, end.rate)));
    let over = days.iter().filter(|row| row.tx > rates[&row.circuit].bytes_in(row.day)).count();
    Some(Invariant {
        name: "circuits",
        ok: astray == 0 && over == 0,
        detail: format!("{astray} packets passed without a circuit, {over} days carried more than the link's rate"),
    })
}

/// Checks Theorem 1 of Bifrost at the end of each slot, and that no more came than was granted ([`crate::switch::bifrost`]); `None` where
/// no port has it.
fn bifrost(network: &Network, parts: &[Part]) -> Option<Invariant> {
    let ports = || parts.iter().flat_map(|part| part.switches.timed.iter().map(move |timed| (part, timed)));
    ports().next()?;
    let wrong: Vec<String> = ports()
        .filter(|(_, timed)| timed.law.record != Record::default())
        .map(|(part, timed)| {
            let (row, Record { wrong, leaked }) = (&part.context.stats[timed.port].row, timed.law.record);
            let [at, from] = [row.node, row.peer].map(|node| network.node_specs[node as usize].name.as_str());
            format!("at {at} from {from} in {wrong} slots more or less under way than the theorem says, in {leaked} more than granted")
        })
        .collect();
    let detail = match &wrong[..] {
        [] => format!("what waits and what may come add up as they must at {} ports", ports().count()),
        wrong => wrong.join("; "),
    };
    Some(Invariant { name: "bifrost", ok: wrong.is_empty(), detail })
}

fn counts(network: &Network, parts: &[Part], totals: &Totals, ports: &Table<PortNumber, PortRow>) -> Vec<Invariant> {
    let dropped = totals.drops.total();
    let accounted = totals.delivered + dropped + totals.in_flight;
    let conservation = Invariant {
        name: "conservation",
        ok: totals.injected == accounted,
        detail: format!(
            "{} packets injected = {} delivered + {dropped} dropped + {} in flight",
            totals.injected, totals.delivered, totals.in_flight
        ),
    };
    let name = |n: NodeId| network.node_specs[n as usize].name.clone();
    let mut lossless: BTreeMap<PortNumber, u64> = BTreeMap::new();
    for cx in parts.iter().map(|part| &part.context) {
        let drops = cx.stats.iter().filter(|(_, stats)| stats.lossless_drops > 0);
        lossless.extend(drops.map(|(p, stats)| (cx.numbers[p], stats.lossless_drops)));
    }
    let worst: Vec<String> = lossless
        .into_iter()
        .map(|(p, n)| format!("{n} packets that entered {} from {}", name(ports[p].node), name(ports[p].peer)))
        .collect();
    let lossless = Invariant {
        name: "lossless",
        ok: worst.is_empty(),
        detail: if worst.is_empty() {
            "no drop where priority flow control holds".into()
        } else {
            format!("dropped for lack of headroom: {}", worst.join(", "))
        },
    };
    let over: Vec<String> = ports
        .iter()
        .filter(|(p, row)| {
            // Bytes whose transmission began by the end, less the packet still on the transmitter.
            let end = &network.ends[*p];
            let exact = network.timeline.carries(*p, end.rate, totals.end);
            let allowed = network.clock_offset(end.node).max_bytes(exact);
            row.tx > allowed + Bytes::new(u64::from(u16::MAX))
        })
        .map(|(_, row)| format!("{} to {}", row.node, row.peer))
        .collect();
    let line_rate = Invariant {
        name: "line rate",
        ok: over.is_empty(),
        detail: if over.is_empty() { "no link above its rate".into() } else { over.join(", ") },
    };
    // Whose headers are still under way: none less than nothing, nor more than all that is.
    let under_way = totals.trimmed.checked_sub(totals.trimmed_delivered + totals.trimmed_lost);
    let trimming = (totals.trimmed > 0).then(|| Invariant {
        name: "trimming",
        ok: under_way.is_some_and(|packets| packets <= totals.in_flight),
        detail: format!(
            "{} packets trimmed, {} of their headers delivered, {} lost, {} packets in flight",
            totals.trimmed, totals.trimmed_delivered, totals.trimmed_lost, totals.in_flight
        ),
    });
    [conservation, lossless, line_rate].into_iter().chain(trimming).collect()
}
