//! Settings of multipath endpoints, and of the switches that trim their packets.

use farloop_cc::paths::ChooserParams;
use farloop_units::{Bytes, Delta};

/// Endpoints that deliver packets in any order, repair them one by one and choose a path for each (Ultra Ethernet 1.0).
#[derive(Clone, PartialEq, Debug)]
pub struct MultipathSpec {
    /// The chooser of each packet's entropy value.
    pub paths: ChooserParams,
    /// Least retransmission timeout of a packet; `None` for 15 µs and six base round-trip times (`docs/network-model.md`).
    pub rto: Option<Delta>,
    /// The same of flows between datacenters; `None` for `rto`.
    pub rto_across: Option<Delta>,
    /// Timeouts grow with measured round-trip times, and double when a packet is lost again.
    pub rto_growth: bool,
    /// A new packet leaves only if the window has room for all of it; otherwise if it has room for a byte.
    pub whole_packets: bool,
    /// Pacing goes on from the time at which a packet might leave, as it enters its host's queue; otherwise from its departure.
    pub entry_pacing: bool,
    /// Packets count from that time on, as of a queue in their host: round-trip times begin with it, and a repair goes behind new packets
    /// of its flow that entered before the loss was found. It asks for `entry_pacing`, and for losses that timeouts alone tell.
    pub entry_times: bool,
    /// Most new payload after which the receiver sends an ACK; `None` for [`MultipathSpec::ACK_BYTES`], or a quarter of the flow's
    /// bandwidth-delay product where that is less.
    pub ack_bytes: Option<Bytes>,
    /// Packets are taken as lost when this many windows have been delivered beyond the first gap; `None` for never.
    pub overtaken: Option<f64>,
    /// Blocks of data and repair packets.
    pub coding: CodingSpec,
}

/// Rule by which multipath endpoints make blocks of a flow's packets ([`farloop_cc::coding`]).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CodingSpec {
    /// As the flow's algorithm has them ([`farloop_cc::Needs::coding`]), which is none for most.
    #[default]
    Own,
    /// No flow has blocks.
    None,
    /// Numbers of data packets and repair packets; at most [`CodingSpec::MAX_PACKETS`] together.
    Blocks(u8, u8),
}

impl CodingSpec {
    /// Most packets of a block: the bits of a bitmap.
    pub const MAX_PACKETS: u8 = 64;
}

impl MultipathSpec {
    /// Payload between ACKs where the path holds at least four times as much (uet-htsim, `_bytes_unacked_threshold`).
    pub const ACK_BYTES: Bytes = Bytes::new(16_384);
}

impl Default for MultipathSpec {
    /// The defaults of uet-htsim, with the repair of overtaken packets that it has on demand: mixed, 16,384 B, 1.5 windows.
    fn default() -> MultipathSpec {
        MultipathSpec {
            paths: farloop_cc::paths::chooser("mixed").expect("it comes with farloop"),
            rto: None,
            rto_across: None,
            rto_growth: true,
            whole_packets: false,
            entry_pacing: false,
            entry_times: false,
            ack_bytes: None,
            overtaken: Some(1.5),
            coding: CodingSpec::Own,
        }
    }
}

/// A switch cuts the payload off packets that find no room, and sends the rest on before all data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrimSpec {
    /// Size of a trimmed packet as an IP packet.
    pub size: Bytes,
    /// The mark that the packet had stays, and its NACK echoes it (Ultra Ethernet 1.0, §3.6.16).
    pub keeps_mark: bool,
}

impl TrimSpec {
    /// Trims to `size`.
    pub const fn plain(size: Bytes) -> TrimSpec {
        TrimSpec { size, keeps_mark: false }
    }
}
