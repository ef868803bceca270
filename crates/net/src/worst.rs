//! The ports that turn out to be the worst of all: only at the end it is known which they are, so all are sampled until then.

use crate::ids::{PortNumber, Table};
use farloop_network::result::{PortRow, PortSample};
use farloop_units::Time;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Measures of the worst ports: mean queue, longest queue, drops, time paused.
const WORST_BY: [fn(&PortRow) -> u128; 4] = [
    |row| row.queue_integral,
    |row| u128::from(row.max_queue.get()),
    |row| u128::from(row.drops.count_dropped()),
    |row| u128::from(row.paused.as_ps()),
];

/// The samples up to `end` of those ports that are among the `most` worst of all by anything, by time and port.
pub(crate) fn series(
    watched: impl Iterator<Item = PortSample>,
    ports: &Table<PortNumber, PortRow>,
    most: usize,
    end: Time,
) -> Vec<PortSample> {
    if most == 0 {
        return Vec::new();
    }
    let chosen = worst_ports(ports, most);
    let mut kept: Vec<PortSample> = watched.filter(|s| s.time <= end && chosen.contains(&s.port)).collect();
    kept.sort_unstable_by_key(|sample| (sample.time, sample.port));
    kept
}

/// The numbers of the ports that are among the `most` worst by anything. Of equal ones the first count; one that has nothing of it is none.
fn worst_ports(ports: &Table<PortNumber, PortRow>, most: usize) -> BTreeSet<u32> {
    let mut chosen = BTreeSet::new();
    for how_bad in WORST_BY {
        let bad = ports.iter().map(|(port, row)| (Reverse(how_bad(row)), port.0)).filter(|(Reverse(of), _)| *of > 0);
        let mut bad: Vec<(Reverse<u128>, u32)> = bad.collect();
        if bad.len() > most {
            bad.select_nth_unstable(most);
            bad.truncate(most);
        }
        chosen.extend(bad.into_iter().map(|(_, port)| port));
    }
    chosen
}
