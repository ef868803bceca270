//! Whose ports are, and where packets arrive.

use crate::ids::{CircuitId, HostId, SwitchId};

/// Whose a port is, or where its packets arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Host(HostId),
    Switch(SwitchId),
    Circuit(CircuitId),
    /// A node of another part.
    Elsewhere,
}

/// An [`Owner`] in four bytes: its kind in the two highest bits, its number in the others.
#[derive(Clone, Copy)]
pub(crate) struct Peer(u32);

impl Peer {
    /// # Panics
    /// If there are too many of a kind; events have fewer numbers ([`farloop_engine::Calendar::MAX_IDS`]).
    pub fn new(owner: Owner) -> Peer {
        let (kind, id) = match owner {
            Owner::Switch(s) => (0, s.0),
            Owner::Host(h) => (1, h.0),
            Owner::Circuit(c) => (2, c.0),
            Owner::Elsewhere => (3, 0),
        };
        assert!(id < 1 << 30, "too many of a kind");
        Peer(kind << 30 | id)
    }

    /// Where packets arrive.
    #[inline(always)]
    pub fn owner(self) -> Owner {
        let id = self.0 & ((1 << 30) - 1);
        match self.0 >> 30 {
            0 => Owner::Switch(SwitchId(id)),
            1 => Owner::Host(HostId(id)),
            2 => Owner::Circuit(CircuitId(id)),
            _ => Owner::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_the_owner() {
        let last = (1 << 30) - 1;
        for owner in
            [Owner::Switch(SwitchId(7)), Owner::Host(HostId(last)), Owner::Circuit(CircuitId(0)), Owner::Elsewhere]
        {
            assert_eq!(Peer::new(owner).owner(), owner);
        }
    }

    #[test]
    #[should_panic(expected = "too many of a kind")]
    fn more_than_fit_are_refused() {
        Peer::new(Owner::Host(HostId(1 << 30)));
    }
}
