//! A segment between the endpoints, with the options that matter here.

use crate::accecn::EcnBytes;
use farloop_units::Time;

/// A half-open range of byte offsets, `begin..end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Range {
    /// Offset of the first byte.
    pub begin: u64,
    /// Offset behind the last byte.
    pub end: u64,
}

impl Range {
    /// The range `begin..end`.
    pub const fn new(begin: u64, end: u64) -> Range {
        Range { begin, end }
    }
    /// Number of bytes.
    pub const fn bytes(self) -> u64 {
        self.end - self.begin
    }
    /// Returns true if `other` lies within.
    pub const fn contains(self, other: Range) -> bool {
        self.begin <= other.begin && other.end <= self.end
    }
}

/// Up to three blocks of selective acknowledgement: as many as fit beside timestamps (RFC 2018 §3).
///
/// The first block is the one that the segment just received belongs to; if that segment was a duplicate, the first block is
/// the duplicate (RFC 2883 §4), which the sender recognises by its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SackBlocks {
    blocks: [Range; SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// Blocks in one segment.
    pub const MAX: usize = 3;
    /// No blocks.
    pub const NONE: SackBlocks = SackBlocks { blocks: [Range::new(0, 0); SackBlocks::MAX], len: 0 };

    /// Adds a block at the end; false if there is no room.
    pub fn push(&mut self, block: Range) -> bool {
        let free = self.blocks.get_mut(usize::from(self.len));
        if let Some(slot) = free {
            *slot = block;
            self.len += 1;
            return true;
        }
        false
    }
    /// The blocks, the most recent first.
    pub fn as_slice(&self) -> &[Range] {
        &self.blocks[..usize::from(self.len)]
    }
    /// The blocks in order of sequence.
    pub(crate) fn ascending(mut self) -> impl Iterator<Item = Range> {
        let len = usize::from(self.len);
        self.blocks[..len].sort_unstable();
        self.blocks.into_iter().take(len)
    }
    /// No block is there.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for SackBlocks {
    /// No blocks: a constant, where the derived one fills an array in a loop.
    #[inline]
    fn default() -> SackBlocks {
        SackBlocks::NONE
    }
}

impl FromIterator<Range> for SackBlocks {
    /// The first [`SackBlocks::MAX`] ranges.
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        for range in ranges {
            if !blocks.push(range) {
                break;
            }
        }
        blocks
    }
}

/// The timestamps option (RFC 7323 §3), with a clock of unlimited resolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// When this segment was sent (TSval).
    pub value: Time,
    /// The value being answered (TSecr); meaningful with `ack`.
    pub echo: Time,
}

/// A TCP segment: data from sender to receiver, or an ACK the other way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Segment {
    /// Opens the connection; takes no sequence number.
    pub syn: bool,
    /// The last byte of the flow, or of a message on a connection that stays open, is in this segment; takes no sequence number. The
    /// receiver acknowledges it at once.
    pub fin: bool,
    /// `ack_seq` is valid.
    pub ack: bool,
    /// Echo of a congestion mark.
    pub ece: bool,
    /// The sender has reduced its window (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// The flags AE, CWR and ECE of Accurate ECN (RFC 9768), three bits: of SYNs what they ask for or grant, otherwise the count of marked
    /// packets modulo 8.
    pub ace: u8,
    /// The IP packet is ECN-capable: switches may mark it.
    pub ect: bool,
    /// Asks for the window without carrying data (RFC 9293 §3.8.6.1).
    pub window_probe: bool,
    /// The data has been sent before (for statistics; a real segment does not say so).
    pub retransmission: bool,
    /// Offset of the first byte of payload.
    pub seq: u64,
    /// Bytes of payload.
    pub payload: u32,
    /// Next byte expected: everything before has arrived.
    pub ack_seq: u64,
    /// Bytes that the receiver takes beyond `ack_seq`.
    pub window: u64,
    /// Ranges that have arrived beyond `ack_seq`.
    pub sack: SackBlocks,
    /// The option of Accurate ECN.
    pub ecn_bytes: Option<EcnBytes>,
    /// Time of sending, and the timestamp that it answers.
    pub timestamps: Option<Timestamps>,
}

// Up to here a copy is a few moves; beyond it is a call.
const _: () = assert!(size_of::<Segment>() <= 128);

impl Segment {
    /// The bytes that it carries.
    pub fn range(&self) -> Range {
        Range::new(self.seq, self.seq + u64::from(self.payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fourth_block_does_not_fit() {
        let blocks: SackBlocks = (0..5).map(|i| Range::new(10 * i, 10 * i + 5)).collect();
        assert_eq!(blocks.as_slice(), [Range::new(0, 5), Range::new(10, 15), Range::new(20, 25)]);
        assert!(!{ blocks }.push(Range::new(90, 95)));
    }
}
