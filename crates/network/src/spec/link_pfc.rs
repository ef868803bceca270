//! Priority flow control over a link.

use farloop_units::{Bytes, Delta, Rate};

/// The way in which the ends of a link pause each other.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LinkPfc {
    /// As the switches at its ends have it, and not at all between datacenters: the data in flight over a long link fits no ordinary
    /// headroom.
    #[default]
    Local,
    /// As the switches at its ends have it, also between datacenters.
    On {
        /// Headroom of each class at either end; `None` to compute it from the link.
        headroom: Option<Bytes>,
    },
    /// By Bifrost (ICNP 2023), also between datacenters: pauses with a time, which the receiver computes from what waits and from what may
    /// still come.
    Bifrost {
        /// Buffer of each class at either end (H); `None` for [`BifrostSpec::default_buffer`].
        buffer: Option<Bytes>,
        /// Time between two pauses (T).
        slot: Delta,
    },
}

impl LinkPfc {
    /// Bifrost's slot (T), 10 us (Section V).
    pub const SLOT: Delta = Delta::from_us(10);
}

/// Bifrost at one end of a link, for each class, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BifrostSpec {
    /// Rate at which the neighbour sends (R_s).
    pub rate: Rate,
    /// Time between two pauses (T).
    pub slot: Delta,
    /// The bytes that may still come after a pause is decided (Δ): a round trip, and the packets that delay the pause.
    pub in_flight: Bytes,
    /// The bytes that may wait (H).
    pub buffer: Bytes,
    /// A pause lasts longer than the bytes in question take by this: a frame waits for a packet in transmission, and the neighbour ends a
    /// packet that it has begun.
    pub margin: Delta,
    /// True if pauses can be lost on the way.
    pub lossy: bool,
}

impl BifrostSpec {
    /// The longest pause of a frame, in times of 512 bits (IEEE 802.1Qbb).
    pub const MAX_QUANTA: u64 = 65_535;
    /// A quantum in bytes.
    pub const QUANTUM: Bytes = Bytes::new(64);

    /// The bytes of a slot at the link's rate (R_s·T).
    pub fn slot_bytes(&self) -> Bytes {
        self.rate.bytes_in(self.slot)
    }

    /// The buffer of the authors' testbed: H = Δ + 3·R_s·T (Section VI-A).
    pub fn default_buffer(&self) -> Bytes {
        self.in_flight + self.slot_bytes() * 3
    }

    /// The least buffer with which nothing is lost nor starved: Δ + 2·R_s·T (Section IV-C), and a packet, because packets come whole.
    pub fn least_buffer(&self, largest: Bytes) -> Bytes {
        self.in_flight + self.slot_bytes() * 2 + largest
    }
}
