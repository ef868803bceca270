//! The ACK of a multipath receiver: two notes behind the header fields of the algorithm, which take no room on the wire beyond the size of
//! an ACK (`transport.ack`; uet-htsim's ACK of 64 B has them all).
//!
//! | field | where |
//! | --- | --- |
//! | number and entropy value of the packet that is answered | [`Packet::seq`](crate::packet::Packet::seq), so that it takes a path of its own |
//! | when that packet left | [`Packet::sent`](crate::packet::Packet::sent) |
//! | mark, duplicate | flags |
//! | payload received in all; all packets before this one have arrived | first note, lower and upper half |
//! | SACK bitmap of 64 packets; the number of the first of them | second note |

use crate::packet::Note;
use farloop_cc::paths::Entropy;
use farloop_units::Time;

/// Number of notes of an ACK beside the fields of the algorithm.
pub(crate) const NOTES: usize = 2;

/// The state of a receiver that an ACK carries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Received {
    /// Payload received, each byte once.
    pub bytes: u64,
    /// The first packet that has not arrived.
    pub cumulative: u64,
    /// The packet that the lowest bit of [`Received::bitmap`] stands for.
    pub base: u64,
    /// Bitmap of the 64 packets from there on that have arrived.
    pub bitmap: u64,
}

impl Received {
    /// Packs them into notes.
    pub fn notes(&self) -> [Note; NOTES] {
        let note = |low: u64, high: u64| Note::from(low) | Note::from(high) << 64;
        [note(self.bytes, self.cumulative), note(self.bitmap, self.base)]
    }

    /// Reads the notes of an ACK, which begin with `fields` header fields; nothing where there are none.
    pub fn from_notes(notes: &[Note], fields: usize) -> Received {
        let Some([first, second]) = notes.get(fields..fields + NOTES) else { return Received::default() };
        let halves = |note: &Note| (*note as u64, (*note >> 64) as u64);
        let ((bytes, cumulative), (bitmap, base)) = (halves(first), halves(second));
        Received { bytes, cumulative, base, bitmap }
    }

    /// Keeps only those packets of the bitmap that are not in the one of `other`.
    #[inline]
    pub fn news_since(mut self, other: &Received) -> Received {
        let (ahead, behind) = (self.base.saturating_sub(other.base), other.base.saturating_sub(self.base));
        let apart = ahead.max(behind) >= u64::BITS.into();
        let known = if apart { 0 } else { other.bitmap >> ahead << behind };
        self.bitmap &= !known;
        self
    }

    /// The packets of the bitmap that have arrived.
    pub fn selected_packets(&self) -> impl Iterator<Item = u64> {
        let (mut left, base) = (self.bitmap, self.base);
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(base + u64::from(bit))
        })
    }
}

/// The note of an answer whose path is not that of the data (`mrc`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Reflected {
    /// The entropy value of the packet that is answered.
    pub entropy: Entropy,
    /// Ports of the answering host that are down, a bit each.
    pub down: u64,
    /// Rcv_Cwnd_Pend.
    pub penalty: u8,
}

impl Reflected {
    /// Packs it into a note.
    pub fn note(&self) -> Note {
        Note::from(self.entropy) | Note::from(self.penalty) << 16 | Note::from(self.down) << 64
    }

    /// Reads the note at this place; nothing where there is none.
    pub fn from_notes(notes: &[Note], place: usize) -> Option<Reflected> {
        let note = *notes.get(place)?;
        Some(Reflected { entropy: note as Entropy, down: (note >> 64) as u64, penalty: (note >> 16) as u8 })
    }
}

/// An ACK, as the sender reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// The packet that it answers.
    pub number: u64,
    pub entropy: Entropy,
    /// When that packet left.
    pub sent: Time,
    pub marked: bool,
    /// True if that packet had arrived before.
    pub duplicate: bool,
    pub received: Received,
}

/// A NACK, as the sender reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trimmed {
    pub number: u64,
    pub entropy: Entropy,
    pub sent: Time,
    /// True if the packet was marked before, and the switch keeps marks.
    pub marked: bool,
    pub last_hop: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_behind_fields_is_read_again() {
        let received = Received { bytes: 1 << 50, cumulative: 1 << 40, base: 77, bitmap: 1 << 63 | 0b101 };
        let [first, second] = received.notes();
        assert_eq!(Received::from_notes(&[9, first, second], 1), received);
        assert_eq!(received.selected_packets().collect::<Vec<_>>(), [77, 79, 140]);
        assert_eq!(Received::from_notes(&[9], 1), Received::default());
    }

    #[test]
    fn reflected_values_are_read_again() {
        let reflected = Reflected { entropy: 0xfedc, down: 1 << 63 | 5, penalty: 127 };
        assert_eq!(Reflected::from_notes(&[7, reflected.note()], 1), Some(reflected));
        assert_eq!(Reflected::from_notes(&[7], 1), None);
    }

    #[test]
    fn what_one_bitmap_has_beyond_another() {
        let at = |base, bitmap| Received { base, bitmap, ..Received::default() };
        let news = |new: Received, old: Received| new.news_since(&old).selected_packets().collect::<Vec<_>>();
        assert_eq!(news(at(10, 0b1101), at(10, 0b0101)), [13], "of the same packets");
        assert_eq!(news(at(12, 0b1111), at(10, 0b1100)), [14, 15], "further on");
        assert_eq!(news(at(10, 0b1101), at(12, 0b10)), [10, 12], "of an ACK that was overtaken");
        assert_eq!(news(at(200, 0b11), at(10, u64::MAX)), [200, 201], "with none in common");
        assert_eq!(news(at(10, 0b11), at(1 << 40, u64::MAX)), [10, 11], "with none in common");
    }
}
