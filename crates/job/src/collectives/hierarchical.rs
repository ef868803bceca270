//! Hierarchical over sites: a ring inside of each site, rings across the sites among members of equal place, a ring inside again.
//!
//! Across a site's border goes 1/m of the data per member, with m members in a site, so that each byte crosses once. Sites must have
//! equally many members.

use super::ring;
use super::schedule::{Schedule, Traffic, group_members, part};
use crate::job::Collective;

/// Members by site, in the order of the sites' first members; `None` where sites differ in size or there is one.
pub fn equal_sites(sites: &[u32]) -> Option<Vec<Vec<usize>>> {
    let members = group_members(sites.iter().copied());
    let size = members.first()?.len();
    (members.len() > 1 && members.iter().all(|m| m.len() == size)).then_some(members)
}

/// Adds the collective for members at `sites`.
pub fn add(made: &mut Schedule, kind: Collective, bytes: u64, sites: &[u32]) {
    let Some(inside) = equal_sites(sites) else { return };
    let size = inside[0].len();
    let across = |made: &mut Schedule, kind: Collective, bytes: u64| {
        for place in 0..size {
            let members: Vec<usize> = inside.iter().map(|m| m[place]).collect();
            // What a ring leaves with each: the part after its own.
            ring::add(made, kind, part(bytes, size, (place + 1) % size), &members);
        }
    };
    let within = |made: &mut Schedule, kind: Collective, bytes: u64| {
        for members in &inside {
            ring::add(made, kind, bytes, members);
        }
    };
    match kind {
        Collective::AllReduce => {
            within(made, Collective::ReduceScatter, bytes);
            across(made, Collective::AllReduce, bytes);
            within(made, Collective::AllGather, bytes);
        }
        Collective::ReduceScatter => {
            within(made, Collective::ReduceScatter, bytes);
            across(made, Collective::ReduceScatter, bytes);
        }
        _ => {
            // Each has bytes / n: gathered across the sites first, so that a byte crosses once for each site.
            across(made, Collective::AllGather, bytes);
            within(made, Collective::AllGather, bytes);
        }
    }
}

/// Counts its messages among `sites` sites of `size` members each.
pub fn traffic(kind: Collective, sites: u32, size: u32) -> Traffic {
    let (many, size) = (f64::from(sites), f64::from(size));
    let half = if kind == Collective::AllReduce { Collective::AllGather } else { kind };
    let (within, across) = (ring::traffic(half, size), ring::traffic(kind, many));
    let passes = if kind == Collective::AllReduce { 2.0 } else { 1.0 };
    Traffic {
        steps: passes * many * within.steps + size * across.steps,
        channels: many * within.channels + size * across.channels,
    }
}
