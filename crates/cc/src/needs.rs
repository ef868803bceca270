//! The demands of an algorithm on network and endpoints.

/// The demands of an algorithm on the network; checked when a scenario is built.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// Some switch marks ECN.
    pub ecn: bool,
    /// Some switch stamps in-band telemetry.
    pub int: bool,
    /// Bytes that the algorithm adds to the header of every data packet and ACK.
    pub header_bytes: u16,
    /// Header fields of its own (`Field`) in data packets and ACKs, at most `MAX_FIELDS`.
    pub fields: u8,
    /// It has a half in the switches.
    pub port_agent: bool,
    /// Of these the ones at the borders of datacenters (`Border`).
    pub border_agent: bool,
    /// ACKs pass the switches that their data has passed: symmetric ECMP, or a network with one path.
    pub symmetric: bool,
    /// The receiver echoes every mark as it came (RFC 8257 §3.2) instead of until the sender has confirmed it (RFC 3168 §6.1).
    pub accurate_ecn: bool,
    /// The endpoint measures `Ack::delivery`: TCP or multipath.
    pub delivery_rate: bool,
    /// It is paced packet by packet, also by hosts that hand their NICs chunks of packets.
    pub even_pacing: bool,
    /// Its window holds to the byte. Over TCP others without a slow start threshold may have as much in flight as a receiver that delays
    /// ACKs waits for.
    pub exact_window: bool,
    /// The endpoint repairs losses packet by packet and tells each (`Sender::on_packet_loss`): a multipath endpoint.
    pub multipath: bool,
    /// Receiving hosts grant credit (`Algorithm::granter`, `Sender::on_credit`); without, its flows stand still.
    pub credit: bool,
    /// Data and repair packets of the blocks (`coding`) of its flows over multipath endpoints, where nothing else is set.
    pub coding: Option<(u8, u8)>,
}

impl Needs {
    /// Nothing.
    pub const NONE: Needs = Needs {
        ecn: false,
        int: false,
        header_bytes: 0,
        fields: 0,
        port_agent: false,
        border_agent: false,
        symmetric: false,
        accurate_ecn: false,
        delivery_rate: false,
        even_pacing: false,
        exact_window: false,
        multipath: false,
        credit: false,
        coding: None,
    };
}
