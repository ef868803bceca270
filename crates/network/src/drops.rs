//! Packets that did not arrive, counted by [`Cause`].

pub use farloop_trace::Cause;
use std::fmt;
use std::ops::Index;

/// Number of packets that were dropped, lost or damaged, by cause: `drops[Cause::Buffer]`.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops([u64; Cause::ALL.len()]);

impl Drops {
    /// Number of drops of all causes.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Number of packets dropped for want of a way on: by switches, hosts and port agents; not on links.
    pub fn count_dropped(&self) -> u64 {
        self.sum(|cause| !cause.is_on_link())
    }

    /// Number of packets dropped before they could leave by their port.
    #[inline]
    pub fn at_port(&self) -> u64 {
        self.sum(|cause| !cause.is_behind_port())
    }

    /// Adds the drops that were counted elsewhere.
    pub fn add(&mut self, other: &Drops) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }

    /// Counts a packet.
    #[inline]
    pub fn count(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    fn sum(&self, counts: impl Fn(Cause) -> bool) -> u64 {
        Cause::ALL.into_iter().filter(|cause| counts(*cause)).map(|cause| self[cause]).sum()
    }
}

impl Index<Cause> for Drops {
    type Output = u64;

    #[inline]
    fn index(&self, cause: Cause) -> &u64 {
        &self.0[cause as usize]
    }
}

impl FromIterator<Cause> for Drops {
    fn from_iter<I: IntoIterator<Item = Cause>>(causes: I) -> Drops {
        let mut drops = Drops::default();
        causes.into_iter().for_each(|cause| drops.count(cause));
        drops
    }
}

impl fmt::Debug for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(Cause::ALL.map(|cause| (cause, self[cause]))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_counts_once_in_all_and_in_its_groups() {
        for (i, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, i, "the place in the array");
            let mut drops = Drops::default();
            drops.count(cause);
            drops.add(&{ drops });
            assert_eq!((drops[cause], drops.total()), (2, 2));
            assert_eq!(drops.count_dropped(), if cause.is_on_link() { 0 } else { 2 });
            assert_eq!(drops.at_port(), if cause.is_behind_port() { 0 } else { 2 });
        }
    }
}
