//! Segments in packets: the field of each value.
//!
//! | segment | data packet, bare packet | ACK |
//! | --- | --- | --- |
//! | `seq`, `payload` | [`Packet::seq`], size on the wire | |
//! | `ack_seq` | | [`Packet::seq`] |
//! | timestamp (where they are used) | [`Packet::sent`]: its own | [`Packet::sent`]: the echo |
//! | `syn`, `fin`, `cwr`, `ect`, `ack`, `window_probe` | flags | flags (`syn`) |
//! | `ace` | of SYNs: [`CWR`], where they ask for Accurate ECN; others do not say anything new | [`Packet::value`], low three bits |
//! | `ece` | | [`MARKED`] |
//! | `sack` | | notes, behind the header fields of the algorithm: begin and end in 8 bytes each |
//! | `ecn_bytes` | | the last note, with [`OPTION`] in [`Packet::value`] |
//! | `window` | | none: applications read at once, so that it never changes |

use crate::packet::{ANSWERS, CWR, FIN, MARKED, NOT_ECT, Note, PROBE, Packet, PacketKind, SYN};
use farloop_tcp::{EcnBytes, Range, SackBlocks, Segment, Timestamps};
use farloop_units::Time;

/// In [`Packet::value`] of an ACK: it carries the option of Accurate ECN.
pub(crate) const OPTION: u8 = 8;
/// In [`Packet::value`] of an ACK: the flags AE, CWR and ECE.
pub(crate) const ACE: u8 = 7;

/// The flags of a segment from the source.
pub(crate) fn forward_flags(segment: &Segment) -> u8 {
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    flag(segment.syn, SYN)
        | flag(segment.fin, FIN)
        | flag(segment.cwr || (segment.syn && segment.ace == ACE), CWR)
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
        cwr: packet.flags & (CWR | SYN) == CWR,
        ace: if packet.flags & (CWR | SYN) == CWR | SYN { ACE } else { 0 },
        ect: !has(NOT_ECT),
        window_probe: has(PROBE),
        ack: has(ANSWERS),
        seq: packet.seq,
        payload: u32::from(payload),
        timestamps: Some(Timestamps { value: packet.sent, echo: Time::ZERO }),
        ..Segment::default()
    }
}

/// The segment in an ACK from a receiver with a window of `window` bytes, whose notes begin with `fields` header fields; with a timestamp
/// if `timestamps`.
#[inline]
pub(crate) fn ack_segment(packet: &Packet, notes: &[Note], fields: usize, window: u64, timestamps: bool) -> Segment {
    let none = (SackBlocks::NONE, None);
    let (sack, ecn_bytes) = if notes.len() > fields { read_options(packet, &notes[fields..]) } else { none };
    Segment {
        syn: packet.flags & SYN != 0,
        ack: true,
        ece: packet.flags & MARKED != 0,
        ace: packet.value & ACE,
        ack_seq: packet.seq,
        window,
        sack,
        ecn_bytes,
        timestamps: timestamps.then_some(Timestamps { value: Time::ZERO, echo: packet.sent }),
        ..Segment::default()
    }
}

/// The options among the notes of an ACK.
#[inline(never)] // few ACKs have one
fn read_options(packet: &Packet, mut notes: &[Note]) -> (SackBlocks, Option<EcnBytes>) {
    let mut ecn_bytes = None;
    if packet.value & OPTION != 0
        && let Some((last, others)) = notes.split_last()
    {
        ecn_bytes = Some(EcnBytes::new((last >> 32) as u32, *last as u32));
        notes = others;
    }
    (notes.iter().map(|note| Range::new((note >> 64) as u64, *note as u64)).collect(), ecn_bytes)
}

/// Options of an ACK as notes.
pub(crate) fn notes(sack: &SackBlocks, ecn_bytes: Option<EcnBytes>) -> impl Iterator<Item = Note> {
    let blocks = sack.as_slice().iter().map(|block| u128::from(block.begin) << 64 | u128::from(block.end));
    blocks.chain(ecn_bytes.map(|bytes| u128::from(bytes.ect0()) << 32 | u128::from(bytes.ce())))
}

/// Bytes that options add to an ACK, padded to words: selective acknowledgements kind, length and 8 bytes for each block (RFC 2018 §3),
/// Accurate ECN kind, length and two counts (RFC 9768 §3.2.3).
#[inline]
pub(crate) fn option_bytes(sack: &SackBlocks, ecn_bytes: Option<EcnBytes>) -> u16 {
    let blocks = match sack.as_slice().len() as u16 {
        0 => 0,
        blocks => 4 + 8 * blocks,
    };
    blocks + if ecn_bytes.is_some() { EcnBytes::WIRE } else { 0 }
}
