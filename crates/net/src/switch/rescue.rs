//! Elephants that come at the wrong time: AccelToR drops their packets while their day is far off (Algorithm 1, Case IV). A flow that keeps
//! coming then, because its timeouts and the week have got out of step, may be dropped week after week. With a rescue it is let into the
//! packet network some time after the first drop, until it has sent something in time: the authors' simulation does so, their text does
//! not.

use crate::ids::FlowId;
use farloop_units::{Delta, Time};

/// Flows that are dropped, and the time of the first drop.
pub(crate) struct Rescue {
    after: Delta,
    /// Flows that have not come in time since they were dropped, with the time of the first drop, by rack and flow.
    dropped: Vec<Vec<(FlowId, Time)>>,
}

impl Rescue {
    /// For `racks` racks; flows are let pass from `after` the first drop on.
    pub fn new(after: Delta, racks: usize) -> Rescue {
        Rescue { after, dropped: vec![Vec::new(); racks] }
    }

    /// A packet has come too early: returns true if it may take the packet network all the same.
    pub fn lets_pass(&mut self, now: Time, rack: usize, flow: FlowId) -> bool {
        let dropped = &mut self.dropped[rack];
        let first = match dropped.binary_search_by_key(&flow, |(flow, _)| *flow) {
            Ok(own) => dropped[own].1,
            Err(place) => {
                dropped.insert(place, (flow, now));
                now
            }
        };
        now >= first.saturating_add(self.after)
    }

    /// A packet has come in time.
    pub fn in_time(&mut self, rack: usize, flow: FlowId) {
        let dropped = &mut self.dropped[rack];
        if let Ok(own) = dropped.binary_search_by_key(&flow, |(flow, _)| *flow) {
            dropped.remove(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_pass_some_time_after_their_first_drop() {
        let mut rescue = Rescue::new(Delta::from_us(520), 3);
        let us = |n| Time::ZERO + Delta::from_us(n);
        let lets = |rescue: &mut Rescue, at, rack, flow| rescue.lets_pass(us(at), rack, FlowId(flow));
        assert!(!lets(&mut rescue, 100, 1, 5) && !lets(&mut rescue, 400, 1, 4) && !lets(&mut rescue, 619, 1, 5));
        assert!(lets(&mut rescue, 620, 1, 5) && lets(&mut rescue, 9000, 1, 5));
        assert!(!lets(&mut rescue, 919, 1, 4) && lets(&mut rescue, 920, 1, 4), "each from its own first drop on");
        assert!(!lets(&mut rescue, 920, 2, 6), "each rack for itself");
        rescue.in_time(1, FlowId(5));
        assert!(!lets(&mut rescue, 9001, 1, 5) && lets(&mut rescue, 9521, 1, 5), "it begins anew");
        rescue.in_time(1, FlowId(5));
        rescue.in_time(1, FlowId(4));
        assert!(rescue.dropped[1].is_empty(), "of flows that come in time nothing is kept");
    }
}
