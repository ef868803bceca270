//! Delay noise of hosts, as far as networks follow from it: its longest delay, and links as PFC must see them.

use super::{LinkSpec, NodeKind, NodeSpec, TransportKind, TransportSpec};
use farloop_units::Delta;

/// The largest delay of one packet where round trips have a standard deviation of `sigma`: √6 times that, rounded down.
pub fn max_delay(sigma: Delta) -> Delta {
    let ps = u128::from(sigma.as_ps());
    Delta::from_ps((6 * ps * ps).isqrt() as u64)
}

impl TransportSpec {
    /// Returns true if hosts have delay noise.
    pub fn has_noise(&self) -> bool {
        self.kind == TransportKind::Tcp && self.largest_noise() > Delta::ZERO
    }

    fn largest_noise(&self) -> Delta {
        self.tcp.delay_noise_intra.max(self.tcp.delay_noise_cross)
    }

    /// Returns a link as PFC must see it: data that a host had sent before a pause reached it arrives up to the longest noise later, and
    /// needs headroom like that of a longer link.
    pub fn with_noise(&self, link: &LinkSpec, nodes: &[NodeSpec]) -> LinkSpec {
        let ends = [link.a, link.b].map(|node| nodes[node as usize].kind == NodeKind::Host);
        if !self.has_noise() || !ends.contains(&true) {
            return *link;
        }
        let half = Delta::from_ps(max_delay(self.largest_noise()).as_ps().div_ceil(2));
        LinkSpec { delay: link.delay + half, ..*link }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_vary_as_set() {
        // Two uniform times up to x vary by x²/12 each: 17 us² = x²/6.
        assert_eq!(max_delay(Delta::from_us(17)), Delta::from_ps(41_641_325));
        assert_eq!(max_delay(Delta::ZERO), Delta::ZERO);
    }
}
