//! A time by equal slices of it, for pictures.

use farloop_units::Time;

/// Number of slices.
const SLICES: u64 = 100;

/// Of the time from `start` to `end` that `segments` are, in order: of each slice the places of the parts in it, with picoseconds.
pub(crate) fn slices(
    start: Time,
    end: Time,
    segments: impl Iterator<Item = (Time, Time, usize)>,
) -> Vec<Vec<(usize, u64)>> {
    let (start, total) = (start.as_ps(), (end - start).as_ps());
    let edge = |i: u64| start + (u128::from(total) * u128::from(i) / u128::from(SLICES)) as u64;
    let mut slices = vec![Vec::new(); SLICES as usize];
    let mut i = 0;
    for (from, until, part) in segments {
        let (mut at, until) = (from.as_ps(), until.as_ps());
        while at < until {
            while edge(i + 1) <= at && i + 1 < SLICES {
                i += 1;
            }
            let end = until.min(edge(i + 1));
            let slice: &mut Vec<(usize, u64)> = &mut slices[i as usize];
            match slice.iter_mut().find(|(known, _)| *known == part) {
                Some((_, time)) => *time += end - at,
                None => slice.push((part, end - at)),
            }
            at = end;
        }
    }
    slices
}
