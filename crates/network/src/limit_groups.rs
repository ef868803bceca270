//! The limits of the flows of each algorithm and kind of path.

use crate::limits::Times;
use crate::result::LimitRow;
use std::collections::BTreeMap;

/// The times of the flows of a part that are over, by algorithm and kind of path.
#[derive(Default)]
pub struct Limits(BTreeMap<(u16, bool), LimitRow>);

impl Limits {
    /// A flow is over, or the run.
    pub fn note(&mut self, algorithm: u16, crosses: bool, times: &Times) {
        self.join(&LimitRow { algorithm, crosses, flows: 1, time: times.map(u128::from) });
    }

    /// Adds the rows of another part.
    pub fn add(&mut self, other: &Limits) {
        other.0.values().for_each(|row| self.join(row));
    }

    /// Returns the rows by algorithm, those inside a datacenter first.
    pub fn rows(self) -> Vec<LimitRow> {
        self.0.into_values().collect()
    }

    fn join(&mut self, row: &LimitRow) {
        self.0.entry((row.algorithm, row.crosses)).and_modify(|known| known.join(row)).or_insert(*row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limit;

    #[test]
    fn parts_are_joined() {
        let mut whole = Times::default();
        whole[Limit::Link as usize] = 20;
        let (mut here, mut there) = (Limits::default(), Limits::default());
        here.note(3, true, &whole);
        there.note(3, true, &whole);
        there.note(3, false, &whole);
        here.add(&there);
        let rows = here.rows();
        assert_eq!(rows.iter().map(|row| (row.crosses, row.flows)).collect::<Vec<_>>(), [(false, 1), (true, 2)]);
        assert_eq!(rows[1].time[Limit::Link as usize], 40);
    }
}
