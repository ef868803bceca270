//! Packets at ports, read from a file that [`super::write`] made: of the format that alone, and of it only what happened at ports.

use super::messages::{DebugAnnotation, Kind, TracePacket, TrackEvent};
use super::{Lane, PORTS};
use prost::Message;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read};

/// Events at a port, in the order of their numbers.
pub const EVENTS: [&str; 5] = ["leave", "drop", "mark", "pause", "resume"];

/// Kinds of packets, in the order of their numbers.
pub const KINDS: [&str; 4] = ["data", "ack", "signal", "pfc"];

/// Instead of a flow's number where something belongs to none.
pub const NO_FLOW: u32 = u32::MAX;

const DROP: u8 = 1;
const PAUSE: u8 = 3;
const RESUME: u8 = 4;

/// Events at ports, in the order of time: one entry of each list for each record.
#[derive(Debug, Default)]
pub struct PortRecords {
    /// When, in picoseconds.
    pub time_ps: Vec<i64>,
    /// Number of the port.
    pub port: Vec<u32>,
    /// Number of the flow, or [`NO_FLOW`].
    pub flow: Vec<u32>,
    /// Number of the event in [`EVENTS`].
    pub event: Vec<u8>,
    /// To which kind of packet: a number of [`KINDS`].
    pub kind: Vec<u8>,
    /// 1 where the packet carries an ECN mark.
    pub marked: Vec<u8>,
    /// The packet's size on the wire.
    pub wire_bytes: Vec<u32>,
    /// Bytes of data that wait at the port afterwards.
    pub queue_bytes: Vec<i64>,
    /// True if these are all records of the file.
    pub complete: bool,
}

/// The cause why a trace cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be read.
    Input(io::Error),
    /// It is no trace.
    Format(&'static str),
}

const NO_TRACE: ReadError = ReadError::Format("is no trace of farloop's");
const CUT: ReadError = ReadError::Format("ends within a packet");

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Input(error) => error.fmt(f),
            ReadError::Format(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Input(error)
    }
}

/// Reads the first `max` records of ports in a trace, and stops there. `flows` are the numbers of flows by name.
pub fn port_records(
    input: &mut impl BufRead,
    flows: &HashMap<String, u32>,
    max: usize,
) -> Result<PortRecords, ReadError> {
    let mut made = PortRecords::default();
    let mut queues: HashMap<u32, i64> = HashMap::new();
    let mut frame = Vec::new();
    while next_frame(input, &mut frame)? {
        let packet = TracePacket::decode(&frame[..]).map_err(|_| NO_TRACE)?;
        let Some(event) = packet.track_event.filter(|event| event.track_uuid >> 40 == PORTS) else { continue };
        let (port, lane) = ((event.track_uuid >> 8) as u32, event.track_uuid & 0xff);
        if event.kind == Kind::Counter as i32 {
            if lane == Lane::Queue as u64 {
                let waiting = event.counter_value.unwrap_or(0);
                queues.insert(port, waiting);
                // The counter of a packet's port follows the packet.
                if made.port.last() == Some(&port)
                    && let Some(last) = made.queue_bytes.last_mut()
                {
                    *last = waiting;
                }
            }
            continue;
        }
        let Some(number) = event_number(&event, lane) else { continue };
        if made.port.len() == max {
            return Ok(made);
        }
        made.push(port, number, packet.timestamp.unwrap_or(0), &event.debug_annotations, flows)?;
        made.queue_bytes.push(queues.get(&port).copied().unwrap_or(0));
    }
    made.complete = true;
    Ok(made)
}

impl PortRecords {
    /// Adds a record without the queue behind it. `stamp` is the time in nanoseconds.
    fn push(
        &mut self,
        port: u32,
        event: u8,
        stamp: u64,
        notes: &[DebugAnnotation],
        flows: &HashMap<String, u32>,
    ) -> Result<(), ReadError> {
        let note = |name: &str| notes.iter().rfind(|note| note.name.as_deref() == Some(name));
        let number = |name: &str| note(name).and_then(|note| note.uint_value);
        let text = |name: &str| note(name).and_then(|note| note.string_value.as_deref()).unwrap_or("");
        let time = number("time_ps").unwrap_or(stamp.saturating_mul(1000));
        let time = i64::try_from(time).map_err(|_| NO_TRACE)?;
        // Slices have nanoseconds alone, and stand in the order of picoseconds all the same.
        self.time_ps.push(time.max(self.time_ps.last().copied().unwrap_or(0)));
        self.port.push(port);
        self.flow.push(flows.get(text("flow")).copied().unwrap_or(NO_FLOW));
        self.event.push(event);
        self.kind.push(match text("packet") {
            "data" => 0,
            "ACK" | "NACK" => 1,
            "" | "PFC pause" | "PFC resume" => 3,
            _ => 2,
        });
        self.marked.push(u8::from(text("ecn") == "marked"));
        self.wire_bytes.push(u32::try_from(number("wire_bytes").unwrap_or(0)).map_err(|_| NO_TRACE)?);
        Ok(())
    }
}

/// The number of an event; none for those that no map shows.
fn event_number(event: &TrackEvent, lane: u64) -> Option<u8> {
    if lane >= Lane::Paused as u64 && event.kind == Kind::SliceBegin as i32 {
        return Some(PAUSE);
    }
    if lane >= Lane::Paused as u64 && event.kind == Kind::SliceEnd as i32 {
        return Some(RESUME);
    }
    match event.name.as_deref().unwrap_or("") {
        "dequeue" => Some(0),
        "mark" => Some(2),
        "pause" => Some(PAUSE),
        "resume" => Some(RESUME),
        name => name.starts_with("drop: ").then_some(DROP),
    }
}

/// Reads the next `TracePacket`, which is field 1 of the file's one message. Returns false at the end.
fn next_frame(input: &mut impl BufRead, frame: &mut Vec<u8>) -> Result<bool, ReadError> {
    let Some(tag) = next_byte(input)? else { return Ok(false) };
    if tag != 1 << 3 | 2 {
        return Err(NO_TRACE);
    }
    let (mut size, mut shift) = (0u64, 0);
    loop {
        let byte = next_byte(input)?.ok_or(CUT)?;
        size |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
        if shift > 56 {
            return Err(NO_TRACE);
        }
    }
    frame.clear();
    // A wrong size takes no more memory than the file has bytes.
    let read = input.take(size).read_to_end(frame)?;
    if read as u64 == size { Ok(true) } else { Err(CUT) }
}

fn next_byte(input: &mut impl BufRead) -> Result<Option<u8>, ReadError> {
    let byte = input.fill_buf()?.first().copied();
    if byte.is_some() {
        input.consume(1);
    }
    Ok(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(packets: &[TracePacket]) -> Vec<u8> {
        let framed = |packet: &TracePacket| [&[0x0a][..], &packet.encode_length_delimited_to_vec()].concat();
        packets.iter().flat_map(framed).collect()
    }

    fn at_port(timestamp: u64, lane: u64, kind: Kind, name: &str, counter_value: Option<i64>) -> TracePacket {
        let track_uuid = super::super::track(PORTS, 7, lane);
        let name = (!name.is_empty()).then(|| name.to_string());
        let event = TrackEvent { kind: kind as i32, track_uuid, name, counter_value, ..TrackEvent::default() };
        TracePacket { timestamp: Some(timestamp), track_event: Some(event), ..TracePacket::default() }
    }

    fn read(bytes: &[u8], max: usize) -> Result<PortRecords, String> {
        port_records(&mut &*bytes, &HashMap::from([("f1".to_string(), 5)]), max).map_err(|error| error.to_string())
    }

    #[test]
    fn records_have_the_queue_that_follows_them() {
        let bytes = file(&[
            at_port(1, 0, Kind::Instant, "enqueue", None),
            at_port(2, 0, Kind::Instant, "dequeue", None),
            at_port(2, Lane::Queue as u64, Kind::Counter, "", Some(300)),
            at_port(3, Lane::Paused as u64 + 3, Kind::SliceBegin, "paused", None),
            at_port(1, 0, Kind::Instant, "drop: full", None),
        ]);
        let made = read(&bytes, 10).expect("a trace");
        assert_eq!((made.time_ps, made.event), (vec![2000, 3000, 3000], vec![0, PAUSE, DROP]));
        assert_eq!((made.queue_bytes, made.flow), (vec![300, 300, 300], vec![NO_FLOW; 3]));
        assert_eq!((made.port, made.complete), (vec![7; 3], true));
        let first = read(&bytes, 2).expect("a trace");
        assert_eq!((first.event.len(), first.complete), (2, false));
    }

    #[test]
    fn files_that_are_no_traces_are_refused() {
        let bytes = file(&[at_port(2, 0, Kind::Instant, "dequeue", None)]);
        for length in 1..bytes.len() {
            assert_eq!(read(&bytes[..length], 10).expect_err("cut"), "ends within a packet");
        }
        for wrong in
            [&b"\x0b\x00"[..], b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x02\x5a\x09", b"text"]
        {
            assert_eq!(read(wrong, 10).expect_err("no trace"), "is no trace of farloop's");
        }
    }
}
