//! Clock offset of a host's transmitter.

use farloop_units::{Bytes, Rate};

/// Offset of a host's sending rate from the nominal one, in parts per billion; negative for slower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct ClockOffset(i32);

impl ClockOffset {
    /// A clock that is exact.
    pub const NONE: ClockOffset = ClockOffset(0);
    /// The tolerance that IEEE 802.3 grants a transmitter at 1 Gbps and above, to both sides: 100 parts per million.
    pub const MAX: ClockOffset = ClockOffset(100_000);

    /// An offset in parts per billion.
    pub const fn from_ppb(ppb: i32) -> ClockOffset {
        ClockOffset(ppb)
    }

    /// The offset in parts per billion.
    pub const fn as_ppb(self) -> i32 {
        self.0
    }

    /// Returns true if it is within the tolerance.
    pub fn is_legal(self) -> bool {
        self.0.unsigned_abs() <= ClockOffset::MAX.0.unsigned_abs()
    }

    /// Most bytes that a transmitter puts on a link while an exact one puts `bytes`: rounded up, and no less than that.
    pub fn max_bytes(self, bytes: Bytes) -> Bytes {
        let more = u128::from(bytes.get()) * self.0.max(0) as u128;
        Bytes::new(bytes.get().saturating_add(more.div_ceil(1_000_000_000) as u64))
    }

    /// The rate at which a transmitter of `nominal` sends at most, as PFC headroom must see it.
    pub fn fastest_rate(self, nominal: Rate) -> Rate {
        let more = (u128::from(nominal.as_bps()) * self.0.max(0) as u128).div_ceil(1_000_000_000);
        Rate::from_bps(nominal.as_bps().saturating_add(more as u64))
    }
}
