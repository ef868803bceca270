//! The header fields of MLCC: one of 16 bytes in data packets, one in ACKs.
//!
//! | bits | data | ACK |
//! | --- | --- | --- |
//! | 0-7 | flags: crosses, asks for its telemetry, has a credit | flags: has R_credit, has R_DQM |
//! | 8-39 | C_D | C_R |
//! | 40-79 | Q_c in bytes (saturating) | R_credit in bit/s |
//! | 80-119 | | R_DQM in bit/s, smoothed |

use crate::api::{Field, Fields};
use farloop_units::{Bytes, Rate};

/// Bytes of the header on the wire, in every packet.
pub const BYTES: u16 = 16;

const ROUND_SHIFT: u32 = 8;
const FIRST_SHIFT: u32 = 40;
const SECOND_SHIFT: u32 = 80;
/// Flags of data.
const CROSSES: u128 = 1;
const REFLECT: u128 = 2;
const CREDIT: u128 = 4;
/// Flags of ACKs.
const HAS_CREDIT: u128 = 1;
const HAS_DQM: u128 = 2;
/// Largest number of 40 bits.
const LARGEST: u64 = (1 << 40) - 1;

/// The header of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DataHeader {
    /// It is of a flow across datacenters.
    pub crosses: bool,
    /// The DCI switch near the source shall send its telemetry back.
    pub reflect: bool,
    /// C_D and Q_c, from the DCI switch near the receiver.
    pub credit: Option<(u32, Bytes)>,
}

/// The header of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AckHeader {
    /// C_R: the round that the receiver waits for.
    pub round: u32,
    /// R_credit.
    pub credit: Option<Rate>,
    /// R_DQM, smoothed.
    pub dqm: Option<Rate>,
}

impl DataHeader {
    /// The header in these fields; `None` without any.
    pub fn from_fields(fields: &[Field]) -> Option<DataHeader> {
        let field = *fields.first()?;
        let credit =
            (field & CREDIT != 0).then(|| ((field >> ROUND_SHIFT) as u32, Bytes::new(number(field, FIRST_SHIFT))));
        Some(DataHeader { crosses: field & CROSSES != 0, reflect: field & REFLECT != 0, credit })
    }

    /// As fields.
    pub fn fields(&self) -> Fields {
        let mut field = if self.crosses { CROSSES } else { 0 } | if self.reflect { REFLECT } else { 0 };
        if let Some((round, queue)) = self.credit {
            field |= CREDIT | u128::from(round) << ROUND_SHIFT | shift_into(queue.get(), FIRST_SHIFT);
        }
        Fields::new(&[field])
    }
}

impl AckHeader {
    /// The header in these fields; `None` without any.
    pub fn from_fields(fields: &[Field]) -> Option<AckHeader> {
        let field = *fields.first()?;
        let rate = |flag, shift| (field & flag != 0).then(|| Rate::from_bps(number(field, shift)));
        let round = (field >> ROUND_SHIFT) as u32;
        Some(AckHeader { round, credit: rate(HAS_CREDIT, FIRST_SHIFT), dqm: rate(HAS_DQM, SECOND_SHIFT) })
    }

    /// As fields.
    pub fn fields(&self) -> Fields {
        let rate = |rate: Option<Rate>, flag, shift| rate.map_or(0, |r| flag | shift_into(r.as_bps(), shift));
        let rates = rate(self.credit, HAS_CREDIT, FIRST_SHIFT) | rate(self.dqm, HAS_DQM, SECOND_SHIFT);
        Fields::new(&[u128::from(self.round) << ROUND_SHIFT | rates])
    }
}

fn shift_into(number: u64, shift: u32) -> u128 {
    u128::from(number.min(LARGEST)) << shift
}

fn number(field: Field, shift: u32) -> u64 {
    (field >> shift) as u64 & LARGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_the_wire() {
        for credit in [None, Some((0, Bytes::ZERO)), Some((u32::MAX, Bytes::new(LARGEST)))] {
            for (crosses, reflect) in [(false, false), (true, false), (true, true)] {
                let header = DataHeader { crosses, reflect, credit };
                assert_eq!(DataHeader::from_fields(header.fields().as_slice()), Some(header));
            }
        }
        let rates = [None, Some(Rate::from_bps(1)), Some(Rate::from_gbps(1000))];
        for (credit, dqm) in rates.into_iter().flat_map(|c| rates.map(|d| (c, d))) {
            let header = AckHeader { round: 77, credit, dqm };
            assert_eq!(AckHeader::from_fields(header.fields().as_slice()), Some(header));
        }
        assert_eq!((DataHeader::from_fields(&[]), AckHeader::from_fields(&[])), (None, None));
    }

    #[test]
    fn what_does_not_fit_is_the_largest_that_does() {
        let header = DataHeader { credit: Some((1, Bytes::MAX)), ..DataHeader::default() };
        assert_eq!(
            DataHeader::from_fields(header.fields().as_slice()).and_then(|h| h.credit),
            Some((1, Bytes::new(LARGEST)))
        );
    }
}
