//! A sender with its choosers. Of a sprayed flow each plane has its own chooser, so that equally many entropy values belong to each.

use super::sender::{Next, SelectiveRepeat};
use farloop_cc::paths::{AnyChooser, PathChooser, PathCtx};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Time};

/// A sender and the chooser of its paths.
pub(crate) struct MultipathSender {
    pub packets: SelectiveRepeat,
    /// Of the first plane.
    pub chooser: AnyChooser,
    /// Where its host sprays.
    pub planes: Option<Box<Planes>>,
    /// The last time at which it began to have a packet that its window allows, where packets are paced from their entry into the host's
    /// queue; `None` where they are paced from their departure.
    pub allowed: Option<Time>,
}

impl MultipathSender {
    /// Returns true if there is a packet that a window of `cwnd` allows.
    #[inline]
    pub fn can_send(&self, limit: u64, cwnd: Bytes) -> bool {
        self.packets.can_send(limit, cwnd)
    }

    /// Sends the next packet of a flow of `limit` bytes on a path that the chooser names.
    pub fn next(&mut self, now: Time, limit: u64, (cwnd, plane): (Bytes, u8), random: &mut RandomStream) -> Next {
        let in_flight = Bytes::new(self.packets.in_flight());
        self.packets.plane = plane;
        let chooser = chooser_of(&mut self.chooser, &mut self.planes, plane);
        let entropy = chooser.next(&mut PathCtx { now, cwnd, in_flight, random });
        self.packets.next(now, limit, cwnd, entropy)
    }

    /// The time from which pacing goes on, after a packet that leaves at `now` and might have left at `due` as far as pacing goes.
    ///
    /// A packet enters its host's queue when pacing and window allow it. While earlier packets of its flow wait there, its window is looked
    /// at when they have left: it may have been full a little longer than that.
    pub fn paced_from(&self, due: Time, now: Time) -> Time {
        self.allowed.map_or(now, |allowed| due.max(allowed).min(now))
    }

    /// Passes the feedback on packets to the chooser.
    pub fn tell_chooser(&mut self, now: Time, cwnd: Bytes, random: &mut RandomStream) {
        let in_flight = Bytes::new(self.packets.in_flight());
        for (plane, entropy, fate) in self.packets.fates.drain(..) {
            let chooser = chooser_of(&mut self.chooser, &mut self.planes, plane);
            chooser.feedback(&mut PathCtx { now, cwnd, in_flight, random: &mut *random }, entropy, fate);
        }
    }
}

/// The planes of a sprayed flow: the NIC ports that lead to its destination, by their places.
pub(crate) struct Planes {
    /// Number of ports of the host.
    pub places: u8,
    /// Those that lead there, a bit each, by the routes with this number.
    pub leading: u64,
    pub routing: usize,
    /// Choosers of all planes but the first.
    pub choosers: Vec<AnyChooser>,
}

impl Planes {
    /// Number of planes that lead there.
    pub fn count(&self) -> u32 {
        self.leading.count_ones().max(1)
    }
}

/// The chooser of a plane.
#[inline]
fn chooser_of<'a>(first: &'a mut AnyChooser, planes: &'a mut Option<Box<Planes>>, plane: u8) -> &'a mut AnyChooser {
    if plane == 0 {
        return first;
    }
    match planes {
        Some(planes) => &mut planes.choosers[usize::from(plane) - 1],
        None => first,
    }
}
