//! Packets that a link loses or delays by their number among those that arrive over it.

use crate::packet::{Packet, PacketKind, SYN};
use farloop_units::{Delta, Numbers};

/// The fate of a packet at the end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It arrives.
    Arrives,
    /// It is lost.
    Lost,
    /// It arrives later by this time.
    Late(Delta),
}

/// Losses and delays of packets of one direction of a link by their number.
#[derive(Default)]
pub(crate) struct NumberedPackets {
    lost_data: Option<Count>,
    lost_acks: Option<Count>,
    late_data: Option<(Count, Delta)>,
}

/// Counts packets, and knows which of them something happens to.
struct Count {
    numbers: Numbers,
    arrived: u64,
}

impl NumberedPackets {
    /// From the next packet on, loses these of the packets with data.
    pub fn lose_data(&mut self, numbers: Numbers) {
        self.lost_data = Some(Count::new(numbers));
    }

    /// From the next packet on, loses these of the acknowledgements, but that of a SYN.
    pub fn lose_acks(&mut self, numbers: Numbers) {
        self.lost_acks = Some(Count::new(numbers));
    }

    /// From the next packet on, delays these of the packets with data by `by`.
    pub fn delay_data(&mut self, numbers: Numbers, by: Delta) {
        self.late_data = Some((Count::new(numbers), by));
    }

    /// Counts an arriving packet, and decides its fate.
    pub fn decide(&mut self, packet: &Packet) -> Fate {
        match packet.kind {
            PacketKind::Data => {
                let late = self.late_data.as_mut().and_then(|(count, by)| count.hits_next().then_some(*by));
                match self.lost_data.as_mut().is_some_and(Count::hits_next) {
                    true => Fate::Lost,
                    false => late.map_or(Fate::Arrives, Fate::Late),
                }
            }
            PacketKind::Ack if packet.flags & SYN == 0 && self.lost_acks.as_mut().is_some_and(Count::hits_next) => {
                Fate::Lost
            }
            _ => Fate::Arrives,
        }
    }
}

impl Count {
    fn new(numbers: Numbers) -> Count {
        Count { numbers, arrived: 0 }
    }

    fn hits_next(&mut self) -> bool {
        self.arrived += 1;
        self.numbers.contains(self.arrived)
    }
}
