//! Ports that a pause with a time stops: they go on when the time is over, or when a later frame says so.
//!
//! A frame replaces what the one before it said (IEEE 802.1Qbb). So a frame that is lost or late only lets the port go on earlier.

use crate::ids::PortId;
use farloop_network::spec::DATA_CLASSES;
use farloop_units::Time;

/// The ports of a part whose neighbours pause them for a time, in the order of their ids.
#[derive(Default)]
pub(crate) struct Resumes {
    ports: Vec<PortId>,
    /// When each class of each port may go on; [`Time::NEVER`] where it is not paused.
    until: Vec<[Time; DATA_CLASSES]>,
}

impl Resumes {
    /// None of these ports is paused.
    pub fn new(ports: Vec<PortId>) -> Resumes {
        let until = vec![[Time::NEVER; DATA_CLASSES]; ports.len()];
        Resumes { ports, until }
    }

    /// The port at this place.
    pub fn port(&self, place: usize) -> PortId {
        self.ports[place]
    }

    /// Pauses a class of port `p` until `until`; the place of the port, and when its first class goes on.
    pub fn set(&mut self, p: PortId, data_class: usize, until: Time) -> Option<(usize, Time)> {
        let place = self.ports.binary_search(&p).ok()?;
        self.until[place][data_class] = until;
        Some((place, self.next(place)))
    }

    /// A class of the port at this place that may go on by `now`: it is paused no longer.
    pub fn take_due(&mut self, place: usize, now: Time) -> Option<usize> {
        let data_class = self.until[place].iter().position(|until| *until <= now)?;
        self.until[place][data_class] = Time::NEVER;
        Some(data_class)
    }

    /// When the first class of the port at this place may go on.
    pub fn next(&self, place: usize) -> Time {
        self.until[place].into_iter().min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_frame_counts_and_classes_go_on_one_by_one() {
        let at = |ps| Time::from_ps(ps);
        let mut resumes = Resumes::new(vec![PortId(3), PortId(8)]);
        assert_eq!(resumes.set(PortId(8), 1, at(50)), Some((1, at(50))));
        assert_eq!(resumes.set(PortId(8), 0, at(90)), Some((1, at(50))));
        assert_eq!(resumes.set(PortId(8), 1, at(70)), Some((1, at(70))), "a longer pause");
        assert_eq!(resumes.set(PortId(8), 0, at(60)), Some((1, at(60))), "a shorter one");
        assert_eq!(resumes.set(PortId(4), 0, at(60)), None);
        assert_eq!(resumes.take_due(1, at(59)), None);
        assert_eq!((resumes.take_due(1, at(70)), resumes.take_due(1, at(70))), (Some(0), Some(1)));
        assert_eq!((resumes.next(1), resumes.next(0), resumes.port(1)), (Time::NEVER, Time::NEVER, PortId(8)));
    }
}
