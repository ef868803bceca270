//! Frames that a line loses or delays by their number in their connection. Only a line that does so looks into frames.

use farloop_units::Numbers;
use std::collections::HashMap;

/// Losses and delays of TCP's segments in one direction, by their number in their connection, counted from 1.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Accidents {
    /// Of the segments with payload these are lost.
    pub lose_data: Option<Numbers>,
    /// Of the acknowledgements without payload these are lost; SYN, FIN and RST are none.
    pub lose_acks: Option<Numbers>,
    /// Of the segments with payload these leave so many ns later than others, which may overtake them.
    pub late_data: Option<(Numbers, u64)>,
}

/// The fate of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It leaves when it is due.
    Passes,
    /// It never leaves.
    Lost,
    /// It leaves so many ns later.
    Late(u64),
}

/// Counts the segments of each connection, and decides their fate.
#[derive(Clone, Debug)]
pub struct Counter {
    accidents: Accidents,
    /// By addresses and ports: segments with payload, and acknowledgements.
    arrived: HashMap<[u8; 12], [u64; 2]>,
}

/// The kinds of segments, which are counted apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Data,
    Ack,
}

const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const TCP: u8 = 6;
const FIN_SYN_RST: u8 = 0b111;

impl Counter {
    /// `None` where nothing happens.
    pub fn new(accidents: Accidents) -> Option<Counter> {
        (accidents != Accidents::default()).then(|| Counter { accidents, arrived: HashMap::new() })
    }

    /// Gives the fate of the next frame.
    pub fn decide(&mut self, frame: &[u8]) -> Fate {
        let Some((connection, kind)) = segment(frame) else { return Fate::Passes };
        let count = &mut self.arrived.entry(connection).or_default()[kind as usize];
        *count += 1;
        let number = *count;
        let hits = |numbers: &Option<Numbers>| numbers.as_ref().is_some_and(|numbers| numbers.contains(number));
        match (kind, &self.accidents.late_data) {
            (Kind::Data, _) if hits(&self.accidents.lose_data) => Fate::Lost,
            (Kind::Ack, _) if hits(&self.accidents.lose_acks) => Fate::Lost,
            (Kind::Data, Some((numbers, by))) if numbers.contains(number) => Fate::Late(*by),
            _ => Fate::Passes,
        }
    }
}

/// The connection of a TCP segment over IPv4, and what it counts as; `None` for all other frames.
fn segment(frame: &[u8]) -> Option<([u8; 12], Kind)> {
    let packet = frame.get(ETHERNET..)?;
    if frame.get(12..ETHERNET)? != IPV4 || packet.first()? >> 4 != 4 || *packet.get(9)? != TCP {
        return None;
    }
    let header = usize::from(packet.first()? & 15) * 4;
    let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let tcp = packet.get(header..)?;
    let offset = usize::from(tcp.get(12)? >> 4) * 4;
    let kind = match length.checked_sub(header + offset)? {
        0 if tcp.get(13)? & FIN_SYN_RST != 0 => return None,
        0 => Kind::Ack,
        _ => Kind::Data,
    };
    let mut connection = [0; 12];
    connection[..8].copy_from_slice(packet.get(12..20)?);
    connection[8..].copy_from_slice(tcp.get(..4)?);
    Some((connection, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(port: u8, payload: u16, flags: u8) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET];
        frame[12..].copy_from_slice(&IPV4);
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&(20 + 32 + payload).to_be_bytes());
        let mut tcp = vec![0; 32];
        (tcp[1], tcp[12], tcp[13]) = (port, 8 << 4, flags);
        frame.extend(packet);
        frame.extend(tcp);
        frame.resize(frame.len() + usize::from(payload), 0);
        frame
    }

    #[test]
    fn segments_are_counted_by_connection_and_kind() {
        let numbers = |text: &str| Some(text.parse().expect("accepted"));
        let accidents = Accidents {
            lose_data: numbers("2, 4"),
            lose_acks: numbers("1-/2"),
            late_data: numbers("3-4").map(|numbers| (numbers, 500)),
        };
        let mut counter = Counter::new(accidents).expect("something happens");
        let ack = 16;
        assert_eq!(counter.decide(&frame(1, 0, 2)), Fate::Passes, "a SYN");
        assert_eq!(counter.decide(&frame(1, 0, 18)), Fate::Passes, "its answer");
        let data: Vec<Fate> = (0..5).map(|_| counter.decide(&frame(1, 1448, ack))).collect();
        assert_eq!(data, [Fate::Passes, Fate::Lost, Fate::Late(500), Fate::Lost, Fate::Passes]);
        assert_eq!(counter.decide(&frame(2, 1448, ack)), Fate::Passes);
        assert_eq!(counter.decide(&frame(2, 1, ack | 1)), Fate::Lost, "the second of another connection");
        let acks: Vec<Fate> = (0..3).map(|_| counter.decide(&frame(1, 0, ack))).collect();
        assert_eq!(acks, [Fate::Lost, Fate::Passes, Fate::Lost]);
    }

    #[test]
    fn other_frames_pass() {
        let all = Accidents { lose_data: "1-".parse().ok(), lose_acks: "1-".parse().ok(), late_data: None };
        let mut counter = Counter::new(all).expect("something happens");
        let whole = frame(1, 10, 16);
        assert_eq!(counter.decide(&whole), Fate::Lost);
        for size in 0..ETHERNET + 20 + 13 {
            assert_eq!(counter.decide(&whole[..size]), Fate::Passes, "{size} B of it");
        }
        for (at, value) in [(12, 0x86), (14, 0x65), (23, 17)] {
            let mut other = whole.clone();
            other[at] = value;
            assert_eq!(counter.decide(&other), Fate::Passes, "byte {at}");
        }
        assert_eq!(Counter::new(Accidents::default()).map(|_| ()), None);
    }
}
