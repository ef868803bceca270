//! Traces for Wireshark and its relatives: [pcapng](https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html).
//!
//! One interface for each port, named NODE:NEIGHBOUR. Captured are packets as they leave by a port (outbound), packets as they arrive
//! (inbound), packets that a port dropped before they left, and PFC frames that a port obeyed. A packet that a link lost is
//! captured as it left its port. Headers are made up ([`write()`]); payload is not there.

use crate::{Cause, Event, FlowName, Names, Place, Record, Trace, frame};
use std::collections::BTreeMap;
use std::io::{self, Write};

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const ETHERNET: u16 = 1;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const SHB_USERAPPL: u16 = 4;
const EPB_FLAGS: u16 = 2;
/// A PFC frame with preamble and gap, as the other lengths have them.
const PFC_WIRE: u32 = 84;
/// Nanoseconds.
const TSRESOL: u8 = 9;
/// Options are at most 64 kB; no name needs to be that long.
const MAX_TEXT_LENGTH: usize = 4096;

/// Writes a trace as pcapng.
///
/// Times are cut to nanoseconds; each packet's comment has picoseconds. Each packet has the length that it has on the wire in the
/// simulation, framing included (with the defaults 24 bytes more than a capture of a real link shows: preamble,
/// checksum, gap); its IP header says what its headers and payload amount to, RoCEv2's UDP header the headers alone. Hosts have
/// addresses 10.x.y.z by their number, flows ports (TCP) or queue pairs (RoCEv2). Sequence numbers are the simulation's byte offsets,
/// cut to 32 bits and one more for the SYN (TCP) or cut to 24 bits (the PSN of RoCEv2, which would count packets).
///
/// Errors are those of `out`.
pub fn write(trace: &Trace, names: &impl Names, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer { out, names, interfaces: BTreeMap::new() };
    writer.section(trace.left_out)?;
    for record in &trace.records {
        writer.record(record)?;
    }
    writer.out.flush()
}

struct Writer<'a, N, W> {
    out: &'a mut W,
    names: &'a N,
    interfaces: BTreeMap<Place, u32>,
}

#[derive(Clone, Copy)]
enum Direction {
    In = 1,
    Out = 2,
}

impl<N: Names, W: Write> Writer<'_, N, W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let (packet, direction, comment) = match &record.event {
            Event::Dequeue { packet, queue } => (packet, Direction::Out, format!("sent, queue {} B", queue.get())),
            Event::Drop { cause: Cause::Loss | Cause::Corruption, .. } => return Ok(()),
            Event::Drop { packet, queue, cause } => {
                (packet, Direction::Out, format!("dropped: {cause}, queue {} B", queue.get()))
            }
            // PFC frames appear by their effect on the port.
            Event::Arrive { packet }
                if matches!(packet.kind, crate::PacketKind::Pause { .. } | crate::PacketKind::Resume { .. }) =>
            {
                return Ok(());
            }
            Event::Arrive { packet } => (packet, Direction::In, "arrived".to_string()),
            Event::Pause { class } => {
                let comment = format!("pauses priority {class}");
                return self.packet(record, &frame::pfc(*class, true), PFC_WIRE, Direction::In, comment);
            }
            Event::Resume { class } => {
                let comment = format!("resumes priority {class}");
                return self.packet(record, &frame::pfc(*class, false), PFC_WIRE, Direction::In, comment);
            }
            _ => return Ok(()),
        };
        let number = record.flow.unwrap_or(0);
        let flow = match record.flow {
            Some(flow) => self.names.flow(flow),
            None => FlowName { name: "".into(), from: 0, to: 0, protocol: crate::Protocol::Rdma },
        };
        let headers = frame::headers(packet, number, &flow);
        let comment = match record.flow {
            Some(_) => format!("{comment}; flow {}, {} {}", flow.name, packet.kind, packet.sequence),
            None => format!("{comment}; {}", packet.kind),
        };
        self.packet(record, &headers, packet.wire, direction, comment)
    }

    fn section(&mut self, left_out: u64) -> io::Result<()> {
        let mut body = Vec::new();
        body.extend(0x1A2B_3C4Du32.to_le_bytes());
        body.extend(1u16.to_le_bytes());
        body.extend(0u16.to_le_bytes());
        // Unknown length.
        body.extend(u64::MAX.to_le_bytes());
        option(&mut body, COMMENT, format!("simulated; {left_out} older records left out").as_bytes());
        option(&mut body, SHB_USERAPPL, concat!("farloop ", env!("CARGO_PKG_VERSION")).as_bytes());
        self.block(SECTION, body)
    }

    fn interface(&mut self, place: Place) -> io::Result<u32> {
        if let Some(known) = self.interfaces.get(&place) {
            return Ok(*known);
        }
        let name = match place {
            Place::Port(port) => {
                let (node, neighbour) = self.names.port(port);
                format!("{node}:{neighbour}")
            }
            Place::Host(host) => self.names.host(host).into_owned(),
        };
        let mut body = Vec::new();
        body.extend(ETHERNET.to_le_bytes());
        body.extend(0u16.to_le_bytes());
        // No limit to captured bytes.
        body.extend(0u32.to_le_bytes());
        option(&mut body, IF_NAME, name.as_bytes());
        option(&mut body, IF_TSRESOL, &[TSRESOL]);
        self.block(INTERFACE, body)?;
        let id = self.interfaces.len() as u32;
        self.interfaces.insert(place, id);
        Ok(id)
    }

    fn packet(&mut self, record: &Record, headers: &[u8], wire: u32, to: Direction, comment: String) -> io::Result<()> {
        let interface = self.interface(record.place)?;
        let captured = &headers[..headers.len().min(wire as usize)];
        let ps = record.time.as_ps();
        let ns = ps / 1000;
        let mut body = Vec::new();
        body.extend(interface.to_le_bytes());
        body.extend(((ns >> 32) as u32).to_le_bytes());
        body.extend((ns as u32).to_le_bytes());
        body.extend((captured.len() as u32).to_le_bytes());
        body.extend(wire.to_le_bytes());
        body.extend(captured);
        pad(&mut body);
        option(&mut body, COMMENT, format!("{comment}; at {ps} ps").as_bytes());
        option(&mut body, EPB_FLAGS, &(to as u32).to_le_bytes());
        self.block(ENHANCED_PACKET, body)
    }

    /// A block: type, length, body, end of options, length again.
    fn block(&mut self, kind: u32, mut body: Vec<u8>) -> io::Result<()> {
        body.extend([0; 4]);
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&body)?;
        self.out.write_all(&length)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let mut end = value.len().min(MAX_TEXT_LENGTH);
    // No half character at the end of a text that was cut.
    while end < value.len() && end > 0 && value[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    body.extend(code.to_le_bytes());
    body.extend((end as u16).to_le_bytes());
    body.extend(&value[..end]);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut body = Vec::new();
        option(&mut body, COMMENT, "é".repeat(MAX_TEXT_LENGTH).as_bytes());
        assert_eq!(body.len() % 4, 0);
        let length = usize::from(u16::from_le_bytes([body[2], body[3]]));
        assert_eq!(std::str::from_utf8(&body[4..4 + length]).unwrap().chars().count(), MAX_TEXT_LENGTH / 2);
        let mut odd = Vec::new();
        option(&mut odd, COMMENT, format!("a{}", "é".repeat(MAX_TEXT_LENGTH)).as_bytes());
        let length = usize::from(u16::from_le_bytes([odd[2], odd[3]]));
        assert!(std::str::from_utf8(&odd[4..4 + length]).is_ok());
    }
}
