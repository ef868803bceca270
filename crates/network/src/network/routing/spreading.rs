//! The choice of switches among equally short paths.

use crate::ids::{FlowId, HostNumber};
use crate::spec::Ecmp;
use farloop_cc::paths::Entropy;
use farloop_units::Time;
use std::sync::Arc;

/// A packet, as far as switches choose its way by it.
pub trait Routed {
    /// The flow that it belongs to.
    fn flow(&self) -> FlowId;

    /// The host that it is bound for.
    fn destination(&self) -> HostNumber;

    /// When it left its source.
    fn sent(&self) -> Time;

    /// Its number among those of its flow that left at one time.
    fn sequence(&self) -> u64;

    /// Multipath: the value by which its sender chose its way.
    fn entropy(&self) -> Entropy;
}

/// Labels of flows in hashes: their numbers; of queue pairs of jobs a hash of their job and ranks.
#[derive(Clone)]
pub struct Labels {
    first: u32,
    labels: Arc<[u32]>,
}

impl Default for Labels {
    fn default() -> Labels {
        Labels { first: u32::MAX, labels: Arc::new([]) }
    }
}

impl Labels {
    /// The labels of the flows from `first` on.
    pub fn new(first: u32, labels: Vec<u32>) -> Labels {
        if labels.is_empty() { Labels::default() } else { Labels { first, labels: labels.into() } }
    }

    /// The label of a flow.
    #[inline]
    pub fn label(&self, flow: u32) -> u32 {
        if flow < self.first { flow } else { self.labels.get((flow - self.first) as usize).copied().unwrap_or(flow) }
    }
}

/// The rule by which a switch chooses among equally short paths.
#[derive(Clone, Copy)]
pub(super) struct Spreading {
    /// The switch's number in the network, which the hash depends on.
    pub number: u32,
    pub by: By,
}

/// Bits of the entropy value that name the port of a switch with hosts; those behind name the ports of switches above.
const SOURCE_BITS: u8 = 8;

/// The input of the choice beside the switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The flow alone.
    Flow,
    /// When the packet was sent, too.
    Sent,
    /// The entropy value that the packet carries, too.
    Entropy,
    /// That value alone, without a hash: its bits from this one on are the number of the port.
    Source(u8),
    /// The queues, which the simulator knows: it chooses before the routes are used.
    Queues,
}

impl By {
    /// The rule of transports that give packets entropy values, or not.
    /// `has_hosts`: the switch has hosts at its ports.
    pub fn from_spec(ecmp: Ecmp, entropy: bool, has_hosts: bool) -> By {
        match ecmp {
            Ecmp::Entropy if entropy => By::Entropy,
            Ecmp::Source if entropy => By::Source(if has_hosts { 0 } else { SOURCE_BITS }),
            Ecmp::Flow | Ecmp::Symmetric | Ecmp::Entropy | Ecmp::Source | Ecmp::Ucmp | Ecmp::Lcmp(_) => By::Flow,
            Ecmp::Packet => By::Sent,
            Ecmp::Adaptive => By::Queues,
        }
    }

    /// The hash by which a packet, whose flow has this one, takes one of `size` ports.
    #[inline]
    pub fn spread(self, hash: u64, packet: &impl Routed, size: u32) -> u64 {
        match self {
            By::Flow | By::Queues => hash,
            // Scaled to the number of ports it is that remainder again.
            By::Source(shift) => {
                let place = u64::from(packet.entropy() >> shift) % u64::from(size);
                (place << 32).div_ceil(u64::from(size)) << 32
            }
            By::Sent => mix(hash ^ packet.sent().as_ps()),
            By::Entropy => mix(hash ^ u64::from(packet.entropy())),
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
#[inline]
pub(super) fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Carrier(Entropy);

    impl Routed for Carrier {
        fn flow(&self) -> FlowId {
            FlowId(3)
        }
        fn destination(&self) -> HostNumber {
            HostNumber(0)
        }
        fn sent(&self) -> Time {
            Time::ZERO
        }
        fn sequence(&self) -> u64 {
            0
        }
        fn entropy(&self) -> Entropy {
            self.0
        }
    }

    #[test]
    fn sources_name_the_port_whatever_its_number() {
        for size in (1..=256).chain([1000, 4096]) {
            for entropy in (0..=Entropy::MAX).step_by(7) {
                for (shift, bits) in [(0, entropy), (SOURCE_BITS, entropy >> 8)] {
                    let hash = By::Source(shift).spread(0x1234_5678_9abc_def0, &Carrier(entropy), size);
                    // As the tables scale it.
                    let place = ((hash >> 32) * u64::from(size)) >> 32;
                    assert_eq!(place, u64::from(bits) % u64::from(size), "{entropy} of {size}");
                }
            }
        }
        assert!(By::from_spec(Ecmp::Source, false, true) == By::Flow, "without entropy values the flow decides");
    }
}
