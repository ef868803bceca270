//! The NIC ports of hosts: the addresses of each.

use super::flows::Flows;
use crate::ids::{HostNumber, Key};
use crate::spec::Bond;

/// The ports of all hosts, by address. Nothing is kept where each host has one.
#[derive(Clone, Default, Debug)]
pub struct Nics {
    /// The place of each address among those of its host.
    places: Vec<u8>,
    /// Number of addresses of its host.
    counts: Vec<u8>,
}

impl Nics {
    /// The ports of hosts with these numbers of links, in their order.
    pub(crate) fn new(links: impl Iterator<Item = u32>) -> Nics {
        let mut nics = Nics::default();
        for count in links {
            nics.places.extend((0..count).map(|place| place as u8));
            nics.counts.extend((0..count).map(|_| count as u8));
        }
        if nics.counts.iter().all(|count| *count == 1) { Nics::default() } else { nics }
    }

    /// Returns true if each host has one port.
    #[inline]
    pub fn are_single(&self) -> bool {
        self.counts.is_empty()
    }

    /// Number of ports of the host with this address.
    #[inline]
    pub fn count(&self, address: HostNumber) -> usize {
        self.counts.get(address.index()).map_or(1, |count| usize::from(*count))
    }

    /// The place of an address among those of its host.
    #[inline]
    pub fn place(&self, address: HostNumber) -> u8 {
        self.places.get(address.index()).copied().unwrap_or(0)
    }

    /// The first address of the same host.
    #[inline]
    pub fn first(&self, address: HostNumber) -> HostNumber {
        HostNumber(address.0 - u32::from(self.place(address)))
    }

    /// The address of the port at this place, modulo the number of ports, of the host with the address `first`.
    #[inline]
    pub fn address(&self, first: HostNumber, place: u8) -> HostNumber {
        match self.counts.get(first.index()) {
            Some(count) => HostNumber(first.0 + u32::from(place % count)),
            None => first,
        }
    }
}

impl Bond {
    /// The port of a flow among `count` ports, of those that `leads` is true of; `None` without one. `key` is what is hashed, or the number
    /// of flows that had their turn before.
    pub(crate) fn choose(self, count: usize, key: u32, leads: impl Fn(u8) -> bool) -> Option<u8> {
        let leading: Vec<u8> = (0..count).map(|port| port as u8).filter(|port| leads(*port)).collect();
        let index = match self {
            // The finaliser of MurmurHash3 spreads labels that follow one another; scaled without a modulo bias.
            Bond::Hash => ((u64::from(scramble(key)) * leading.len() as u64) >> 32) as usize,
            Bond::Rail => key as usize % leading.len().max(1),
            Bond::Spray => return leading.first().map(|first| Flows::sprayed_port(*first)),
        };
        leading.get(index).copied()
    }
}

/// The finaliser of MurmurHash3 (Appleby), 32 bits.
fn scramble(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_host_follow_one_another() {
        let nics = Nics::new([2, 1, 3].into_iter());
        let of = |address| {
            (nics.first(HostNumber(address)).0, nics.place(HostNumber(address)), nics.count(HostNumber(address)))
        };
        assert_eq!([0, 1, 2, 3, 5].map(of), [(0, 0, 2), (0, 1, 2), (2, 0, 1), (3, 0, 3), (3, 2, 3)]);
        assert_eq!([0, 2, 4].map(|place| nics.address(HostNumber(3), place).0), [3, 5, 4]);
        assert!(Nics::new([1, 1].into_iter()).are_single());
    }

    #[test]
    fn bonds_spread_flows_over_the_ports_that_lead_there() {
        let mut of_port = [0; 8];
        for label in 0..8000 {
            let port = Bond::Hash.choose(8, label, |port| port != 3).expect("seven lead there");
            of_port[usize::from(port)] += 1;
        }
        assert!(
            of_port[3] == 0 && (0..8).filter(|p| *p != 3).all(|p| (1043..1243).contains(&of_port[p])),
            "{of_port:?}"
        );
        assert_eq!(
            [0, 1, 2, 3].map(|label| Bond::Rail.choose(3, label, |_| true)),
            [Some(0), Some(1), Some(2), Some(0)]
        );
        assert_eq!(Bond::Rail.choose(3, 1, |_| false), None);
    }
}
