//! Acceleration counted in packets: AccelToR's text accelerates an elephant until a round trip before its day (Algorithm 1, Case III), its
//! authors' simulation by a number of packets (github.com/HPCC724/RDCNSimulate, `src/ocs/model/Ipv4EpsRouting.cc` and `.h`:
//! `GetSent() < GetWarmupThresh()`; four, or eight after a week of fewer than 25 packets).

use crate::ids::FlowId;

/// Packets that elephants of each rack have sent since they were last dropped.
pub(crate) struct WarmUp {
    /// Number of packets by which an elephant is accelerated.
    packets: u32,
    /// An elephant that sent fewer packets from drop to drop is accelerated by twice as many.
    few: u32,
    sent: Vec<Vec<(FlowId, Sent)>>,
}

/// Packets of one elephant.
#[derive(Clone, Copy, Default)]
struct Sent {
    /// Packets since it was last dropped for coming too early.
    now: u32,
    /// Packets between the last two such drops.
    before: Option<u32>,
}

impl WarmUp {
    /// For `racks` racks.
    pub fn new(packets: u32, few: u32, racks: usize) -> WarmUp {
        WarmUp { packets, few, sent: vec![Vec::new(); racks] }
    }

    /// A packet has come in time, in the day of its circuit or before: returns true if it is one of those that accelerate its flow.
    pub fn accelerates(&mut self, rack: usize, flow: FlowId) -> bool {
        let (packets, few) = (self.packets, self.few);
        let own = self.sent_packets(rack, flow);
        let twice = own.before.is_some_and(|before| before < few);
        let early = own.now < packets.saturating_mul(1 + u32::from(twice));
        own.now = own.now.saturating_add(1);
        early
    }

    /// A packet has come too early.
    pub fn too_early(&mut self, rack: usize, flow: FlowId) {
        let own = self.sent_packets(rack, flow);
        // The first drop after a day ends the count; those after it say nothing new.
        if own.now > 0 {
            own.before = Some(own.now);
        }
        own.now = 0;
    }

    fn sent_packets(&mut self, rack: usize, flow: FlowId) -> &mut Sent {
        let flows = &mut self.sent[rack];
        let place = flows.binary_search_by_key(&flow, |(flow, _)| *flow).unwrap_or_else(|place| {
            flows.insert(place, (flow, Sent::default()));
            place
        });
        &mut flows[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(warm_up: &mut WarmUp, rack: usize, flow: u32, packets: u32) -> u32 {
        (0..packets).map(|_| u32::from(warm_up.accelerates(rack, FlowId(flow)))).sum()
    }

    #[test]
    fn the_first_packets_after_a_drop_accelerate() {
        let mut warm_up = WarmUp::new(4, 0, 2);
        assert_eq!((times(&mut warm_up, 0, 7, 3), times(&mut warm_up, 0, 7, 9)), (3, 1));
        assert_eq!((times(&mut warm_up, 0, 5, 9), times(&mut warm_up, 1, 7, 9)), (4, 4), "each flow to each rack");
        warm_up.too_early(0, FlowId(7));
        assert_eq!((times(&mut warm_up, 0, 7, 9), times(&mut warm_up, 0, 5, 9)), (4, 0));
    }

    #[test]
    fn elephants_that_sent_little_are_accelerated_by_twice_as_many() {
        let mut warm_up = WarmUp::new(4, 25, 1);
        assert_eq!(times(&mut warm_up, 0, 1, 24), 4, "not before anything is known");
        warm_up.too_early(0, FlowId(1));
        warm_up.too_early(0, FlowId(1));
        assert_eq!(times(&mut warm_up, 0, 1, 25), 8, "a second drop forgets nothing");
        warm_up.too_early(0, FlowId(1));
        assert_eq!(times(&mut warm_up, 0, 1, 25), 4);
    }
}
