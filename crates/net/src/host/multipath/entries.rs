//! When packets enter the queue of their host, where they count from then on
//! ([`MultipathSpec::entry_times`](farloop_network::spec::MultipathSpec::entry_times)).
//!
//! Hosts here ask a flow for its next packet when the link is free. A packet in a queue left its flow before, when pacing and window
//! allowed it (spcl/Uno_SC25, sim/lcp.cpp:1988-2098): round-trip times begin then, and a repair enters behind it.

use farloop_units::Time;
use std::collections::VecDeque;

/// Since when the window has had room for a flow's payload.
#[derive(Default, Debug)]
pub(crate) struct Entries {
    /// Offsets up to which there has been room, and since when; both grow.
    rooms: VecDeque<(u64, Time)>,
}

impl Entries {
    /// The window has room for payload up to `offset`.
    pub fn note(&mut self, offset: u64, now: Time) {
        if self.rooms.back().is_none_or(|(last, _)| *last < offset) {
            self.rooms.push_back((offset, now));
        }
    }

    /// When there was room for payload up to `offset` for the first time; `None` if that is not known.
    pub fn time(&self, offset: u64) -> Option<Time> {
        self.rooms.iter().find(|(end, _)| *end >= offset).map(|(_, time)| *time)
    }

    /// Forgets what is below `offset`, up to which packets have left.
    pub fn forget(&mut self, offset: u64) {
        while self.rooms.front().is_some_and(|(end, _)| *end <= offset) {
            self.rooms.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_closes_takes_no_room_back() {
        let (mut entries, at) = (Entries::default(), Time::from_ps);
        for (offset, time) in [(10, 1), (30, 4), (20, 5), (30, 6), (40, 9)] {
            entries.note(offset, at(time));
        }
        assert_eq!(
            [10, 11, 30, 31, 41].map(|end| entries.time(end)),
            [Some(1), Some(4), Some(4), Some(9), None].map(|t| t.map(at))
        );
        entries.forget(30);
        assert_eq!((entries.time(1), entries.rooms.len()), (Some(at(9)), 1), "earlier packets have left");
    }
}
