//! Segments in packets: the field of each value.
//!
//! | segment | data packet, bare packet | ACK |
//! | --- | --- | --- |
//! | `seq`, `payload` | [`Packet::seq`], size on the wire | |
//! | `ack_seq` | | [`Packet::seq`] |
//! | timestamp (where they are used) | [`Packet::sent`]: its own | [`Packet::sent`]: the echo |
//! | `syn`, `fin`, `cwr`, `ect`, `ack`, `window_probe` | flags | flags (`syn`) |
//! | `ece` | | [`MARKED`] |
//! | `sack` | | notes, behind the header fields of the algorithm: begin and end in 8 bytes each |
//! | `window` | | none: applications read at once, so that it never changes |

use crate::packet::{ANSWERS, CWR, FIN, MARKED, NOT_ECT, Note, PROBE, Packet, PacketKind, SYN};
use farloop_tcp::{Range, SackBlocks, Segment, Timestamps};
use farloop_units::Time;

/// The flags of a segment from the source.
pub(crate) fn forward_flags(segment: &Segment) -> u8 {
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    flag(segment.syn, SYN)
        | flag(segment.fin, FIN)
        | flag(segment.cwr, CWR)
        | flag(!segment.ect, NOT_ECT)
        | flag(segment.window_probe, PROBE)
        | flag(segment.ack, ANSWERS)
}

/// The segment in a packet from the source, which has `overhead` bytes of headers if it carries data.
pub(crate) fn forward_segment(packet: &Packet, overhead: u16) -> Segment {
    let has = |bit: u8| packet.flags & bit != 0;
    let payload = if packet.kind == PacketKind::Data { packet.wire - overhead } else { 0 };
    Segment {
        syn: has(SYN),
        fin: has(FIN),
        cwr: has(CWR),
        ect: !has(NOT_ECT),
        window_probe: has(PROBE),
        ack: has(ANSWERS),
        seq: packet.seq,
        payload: u32::from(payload),
        timestamps: Some(Timestamps { value: packet.sent, echo: Time::ZERO }),
        ..Segment::default()
    }
}

/// The segment in an ACK that carries `sack`, from a receiver with a window of `window` bytes; with a timestamp if `timestamps`.
pub(crate) fn ack_segment(packet: &Packet, sack: SackBlocks, window: u64, timestamps: bool) -> Segment {
    Segment {
        syn: packet.flags & SYN != 0,
        ack: true,
        ece: packet.flags & MARKED != 0,
        ack_seq: packet.seq,
        window,
        sack,
        timestamps: timestamps.then_some(Timestamps { value: Time::ZERO, echo: packet.sent }),
        ..Segment::default()
    }
}

/// Blocks of selective acknowledgement as notes.
pub(crate) fn notes(sack: &SackBlocks) -> impl Iterator<Item = Note> {
    sack.as_slice().iter().map(|block| u128::from(block.begin) << 64 | u128::from(block.end))
}

/// The blocks among the notes of an ACK, which begin with `fields` header fields.
#[inline]
pub(crate) fn blocks(notes: &[Note], fields: usize) -> SackBlocks {
    if notes.len() <= fields {
        return SackBlocks::NONE;
    }
    notes[fields..].iter().map(|note| Range::new((note >> 64) as u64, *note as u64)).collect()
}

/// Bytes that selective acknowledgements add to an ACK: kind, length and 8 bytes for each block, padded to words (RFC 2018 §3).
pub(crate) fn sack_option(sack: &SackBlocks) -> u16 {
    match sack.as_slice().len() as u16 {
        0 => 0,
        blocks => 4 + 8 * blocks,
    }
}
