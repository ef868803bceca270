//! Path choosers: which entropy value each packet of a multipath flow carries.
//!
//! Switches that hash the entropy value ([`Entropy`]) choose among equal-cost paths by it, so a sender that changes it changes the path, and
//! one that keeps it keeps the path. A chooser is pure: it sees entropy values come back with what their packets met, never the network.
//! One chooser is one file here, and two lines in [`registry`].

use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Time};

/// An entropy value: 16 bits of header that switches hash (Ultra Ethernet 1.0, §3.5; the UDP source port of RoCEv2 does the same).
pub type Entropy = u16;

/// What a packet with an entropy value met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFeedback {
    /// It was acknowledged without a mark.
    Good,
    /// It was acknowledged with a Congestion Experienced mark.
    Ecn,
    /// It was trimmed, or its receiver asked for it again.
    Nack,
    /// Its retransmission timer fired, or acknowledgements of later packets showed it to be lost.
    Timeout,
}

/// What a chooser knows of its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathInfo {
    /// Round-trip time of a full-size packet and its ACK in the empty network.
    pub base_rtt: Delta,
    /// Bandwidth-delay product in full-size packets, at least 1.
    pub bdp_packets: u32,
    /// Payload of a full-size packet.
    pub mss: Bytes,
}

/// Clock, window and randomness for one call of a chooser.
pub struct PathCtx<'a> {
    /// The simulated time.
    pub now: Time,
    /// The congestion window in payload bytes ([`Bytes::MAX`]: no limit).
    pub cwnd: Bytes,
    /// Payload bytes in flight.
    pub in_flight: Bytes,
    /// The random stream of the flow's host.
    pub random: &'a mut RandomStream,
}

/// Chooses the path of each packet of one flow.
pub trait PathChooser: Send {
    /// The entropy value of the packet that leaves now.
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy;
    /// What a packet with this entropy value met. Under ACK coalescing only the packet that an ACK answers is reported.
    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback);
}
