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

/// The input of the choice beside the switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The flow alone.
    Flow,
    /// When the packet was sent, too.
    Sent,
    /// The entropy value that the packet carries, too.
    Entropy,
    /// The queues, which the simulator knows: it chooses before the routes are used.
    Queues,
}

impl By {
    /// The rule of transports that give packets entropy values, or not.
    pub fn from_spec(ecmp: Ecmp, entropy: bool) -> By {
        match ecmp {
            Ecmp::Entropy if entropy => By::Entropy,
            Ecmp::Flow | Ecmp::Symmetric | Ecmp::Entropy => By::Flow,
            Ecmp::Packet => By::Sent,
            Ecmp::Adaptive => By::Queues,
        }
    }

    /// The hash of a packet whose flow has this one.
    #[inline]
    pub fn spread(self, hash: u64, packet: &impl Routed) -> u64 {
        match self {
            By::Flow | By::Queues => hash,
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
