//! The order of events at the same picosecond.
//!
//! The order is that of event ids ([`crate::events`]), and these are in the order of ports, which in a part are in the order of links.
//! This order is arbitrary: real networks have none. A seed can therefore permute it: links in a random order, and in every other order
//! arrivals before transmissions. A packet that arrives when the transmitter becomes free finds its place taken there, and free otherwise.
//! Every part has its links in the network's one order, so that the cut cannot be seen. Numbers of ports do not change: paths, random
//! streams and rows are the same.

use crate::ids::PortNumber;
use farloop_engine::RandomStream;

/// The order of a network's links in its parts.
#[derive(Clone, Debug)]
pub(crate) enum Ties {
    /// As specified.
    Specified,
    /// Drawn.
    Drawn { ranks: Vec<u64>, arrivals_first: bool },
}

impl Ties {
    /// The order `number` of those that `seed` draws for `links` links; `None`: as specified.
    pub fn new(number: Option<u64>, seed: u64, links: usize) -> Ties {
        let Some(number) = number else { return Ties::Specified };
        let mut random = RandomStream::new(seed, "tie order", number);
        Ties::Drawn { ranks: (0..links).map(|_| random.bits()).collect(), arrivals_first: number % 2 == 1 }
    }

    /// Returns true if arrivals go before transmissions.
    pub fn arrivals_first(&self) -> bool {
        matches!(self, Ties::Drawn { arrivals_first: true, .. })
    }

    /// Puts ports into order; the two of a link stay together, the one of its first end first. Returns true if that may be another order
    /// than theirs.
    pub fn sort(&self, ports: &mut [PortNumber]) -> bool {
        let Ties::Drawn { ranks, .. } = self else { return false };
        ports.sort_unstable_by_key(|port| (ranks[port.0 as usize / 2], *port));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_their_links_in_one_order_and_pairs_stay_together() {
        let order = |ties: &Ties, links: &[u32]| {
            let mut ports: Vec<PortNumber> =
                links.iter().flat_map(|l| [PortNumber(2 * l), PortNumber(2 * l + 1)]).collect();
            ties.sort(&mut ports);
            assert!(ports.chunks(2).all(|pair| pair[0].0 % 2 == 0 && pair[1] == pair[0].other_end()));
            ports.chunks(2).map(|pair| pair[0].0 / 2).collect::<Vec<_>>()
        };
        let all: Vec<u32> = (0..40).collect();
        let (first, second) = (Ties::new(Some(1), 7, 40), Ties::new(Some(2), 7, 40));
        assert_eq!(order(&Ties::new(None, 7, 40), &all), all);
        let whole = order(&first, &all);
        assert!(whole != all && whole != order(&second, &all) && whole != order(&Ties::new(Some(1), 8, 40), &all));
        let odd: Vec<u32> = all.iter().copied().filter(|l| l % 2 == 1).collect();
        assert_eq!(order(&first, &odd), whole.iter().copied().filter(|l| l % 2 == 1).collect::<Vec<_>>());
        assert!(first.arrivals_first() && !second.arrivals_first());
    }
}
