//! Traces for [Perfetto](https://perfetto.dev): its protobuf format, which ui.perfetto.dev opens.
//!
//! One track for each port (what happened to packets, as instants), with its queue as a counter and its pauses as slices below; one for
//! each flow (ACKs, losses, timers, as instants), with window, pacing rate and round-trip time as counters below.
//!
//! [`port_records`] reads the events at ports again, for the report's player. The messages are declared with the fields that we write; a
//! test reads what comes out with Perfetto's own definitions.

mod messages;
mod read;

pub use read::{EVENTS, KINDS, NO_FLOW, PortRecords, ReadError, port_records};

use crate::{Event, Names, Packet, Place, Record, Trace};
use farloop_units::{Bytes, Rate};
use messages::{CounterDescriptor, DebugAnnotation, Kind, TracePacket, TrackDescriptor, TrackEvent, Unit};
use prost::Message;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes a trace in Perfetto's format. Times are cut to nanoseconds; each instant says its picoseconds.
///
/// Errors are those of `out`.
pub fn write(trace: &Trace, names: &impl Names, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer { out, names, declared: BTreeSet::new(), paused: BTreeSet::new(), first: true };
    writer.root(trace)?;
    for record in &trace.records {
        writer.record(record)?;
    }
    writer.out.flush()
}

struct Writer<'a, N, W> {
    out: &'a mut W,
    names: &'a N,
    /// Tracks that have been described.
    declared: BTreeSet<u64>,
    /// Tracks of pauses that go on.
    paused: BTreeSet<u64>,
    first: bool,
}

const ROOT: u64 = 1;
const PORTS: u64 = 2;
const FLOWS: u64 = 3;
const HOSTS: u64 = 4;

/// The purpose of a track below a port, flow or host.
#[derive(Clone, Copy)]
enum Lane {
    Events = 0,
    Queue = 1,
    Cwnd = 2,
    Rate = 3,
    Rtt = 4,
    /// And the priorities behind it.
    Paused = 16,
}

fn track(group: u64, number: u32, lane: u64) -> u64 {
    group << 40 | u64::from(number) << 8 | lane
}

impl<N: Names, W: Write> Writer<'_, N, W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match (record.place, record.flow) {
            (Place::Port(port), _) => self.at_port(record, port),
            (Place::Host(_), Some(flow)) => self.of_flow(record, flow),
            (Place::Host(host), None) => {
                let lane = self.lane(HOSTS, host, Lane::Events as u64)?;
                self.instant(record, lane, name_of(&record.event), &[])
            }
        }
    }

    fn at_port(&mut self, record: &Record, port: u32) -> io::Result<()> {
        let (Event::Pause { class } | Event::Resume { class }) = record.event else {
            let lane = self.lane(PORTS, port, Lane::Events as u64)?;
            self.instant(record, lane, name_of(&record.event), &[])?;
            if let Event::Enqueue { queue, .. } | Event::Dequeue { queue, .. } | Event::Drop { queue, .. } =
                record.event
            {
                let lane = self.lane(PORTS, port, Lane::Queue as u64)?;
                self.counter(record, lane, Value::Whole(signed_counter(queue.get())))?;
            }
            let (Event::Drop { cause, .. }, Some(flow)) = (record.event, record.flow) else { return Ok(()) };
            let (node, neighbour) = self.names.port(port);
            let at = format!("{node}:{neighbour}");
            let lane = self.lane(FLOWS, flow, Lane::Events as u64)?;
            return self.instant(record, lane, format!("loss: {cause}"), &[("at", &at)]);
        };
        let lane = self.lane(PORTS, port, Lane::Paused as u64 + u64::from(class % 8))?;
        let pause = matches!(record.event, Event::Pause { .. });
        let kind = match (pause, self.paused.contains(&lane)) {
            (true, false) => {
                self.paused.insert(lane);
                Kind::SliceBegin
            }
            (false, true) => {
                self.paused.remove(&lane);
                Kind::SliceEnd
            }
            // Paused again, or before the trace began.
            _ => return self.instant(record, lane, name_of(&record.event), &[]),
        };
        self.event(
            record,
            TrackEvent { kind: kind as i32, track_uuid: lane, name: Some("paused".into()), ..TrackEvent::default() },
        )
    }

    fn of_flow(&mut self, record: &Record, flow: u32) -> io::Result<()> {
        let lane = self.lane(FLOWS, flow, Lane::Events as u64)?;
        let mut notes = Vec::new();
        if let Event::Ack { sequence, acked, marked, .. } = record.event {
            notes.push(("sequence", sequence.to_string()));
            notes.push(("acked_bytes", acked.get().to_string()));
            notes.push(("marked", marked.to_string()));
        }
        if let Event::Start { size: Some(size) } = record.event {
            notes.push(("size_bytes", size.get().to_string()));
        }
        let notes: Vec<(&str, &str)> = notes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        self.instant(record, lane, name_of(&record.event), &notes)?;
        let (Event::Ack { cwnd, rate, .. } | Event::Change { cwnd, rate }) = record.event else { return Ok(()) };
        if cwnd != Bytes::MAX {
            let lane = self.lane(FLOWS, flow, Lane::Cwnd as u64)?;
            self.counter(record, lane, Value::Whole(signed_counter(cwnd.get())))?;
        }
        if rate != Rate::MAX {
            let lane = self.lane(FLOWS, flow, Lane::Rate as u64)?;
            self.counter(record, lane, Value::Whole(signed_counter(rate.as_bps())))?;
        }
        if let Event::Ack { rtt: Some(rtt), .. } = record.event {
            let lane = self.lane(FLOWS, flow, Lane::Rtt as u64)?;
            self.counter(record, lane, Value::Real(rtt.as_ps() as f64 / 1000.0))?;
        }
        Ok(())
    }

    /// The tracks above all others, and how much is missing.
    fn root(&mut self, trace: &Trace) -> io::Result<()> {
        let description = format!("{} records; {} older ones left out", trace.records.len(), trace.left_out);
        self.declare(TrackDescriptor {
            uuid: ROOT,
            name: Some("farloop".into()),
            description: Some(description.clone()),
            ..TrackDescriptor::default()
        })?;
        for (uuid, name) in [(PORTS, "ports"), (FLOWS, "flows"), (HOSTS, "hosts")] {
            self.declare(TrackDescriptor {
                uuid,
                parent_uuid: Some(ROOT),
                name: Some(name.into()),
                ..TrackDescriptor::default()
            })?;
        }
        match trace.records.first() {
            Some(first) if trace.left_out > 0 => self.instant(first, ROOT, description, &[]),
            _ => Ok(()),
        }
    }

    /// The track's id; described the first time.
    fn lane(&mut self, group: u64, number: u32, lane: u64) -> io::Result<u64> {
        let uuid = track(group, number, lane);
        if !self.declared.insert(uuid) {
            return Ok(uuid);
        }
        if lane == Lane::Events as u64 {
            let name = match group {
                PORTS => {
                    let (node, neighbour) = self.names.port(number);
                    format!("{node}:{neighbour}")
                }
                FLOWS => self.names.flow(number).name.into_owned(),
                _ => self.names.host(number).into_owned(),
            };
            self.declare(TrackDescriptor {
                uuid,
                parent_uuid: Some(group),
                name: Some(name),
                ..TrackDescriptor::default()
            })?;
            return Ok(uuid);
        }
        let parent = self.lane(group, number, Lane::Events as u64)?;
        let counter = |unit: Option<Unit>, unit_name: Option<&str>| {
            Some(CounterDescriptor { unit: unit.map(|unit| unit as i32), unit_name: unit_name.map(str::to_string) })
        };
        let (name, counter) = match lane {
            lane if lane == Lane::Queue as u64 => ("queue".to_string(), counter(Some(Unit::SizeBytes), None)),
            lane if lane == Lane::Cwnd as u64 => ("cwnd".to_string(), counter(Some(Unit::SizeBytes), None)),
            lane if lane == Lane::Rate as u64 => ("pacing rate".to_string(), counter(None, Some("bit/s"))),
            lane if lane == Lane::Rtt as u64 => ("RTT".to_string(), counter(Some(Unit::TimeNs), None)),
            lane => (format!("pauses of priority {}", lane - Lane::Paused as u64), None),
        };
        self.declare(TrackDescriptor {
            uuid,
            parent_uuid: Some(parent),
            name: Some(name),
            counter,
            ..TrackDescriptor::default()
        })?;
        Ok(uuid)
    }

    fn instant(&mut self, record: &Record, track_uuid: u64, name: String, notes: &[(&str, &str)]) -> io::Result<()> {
        let mut debug_annotations = vec![note("time_ps", record.time.as_ps())];
        if let Some(packet) = record.event.packet() {
            debug_annotations.extend(packet_notes(packet));
            if let Some(flow) = record.flow {
                debug_annotations.push(text("flow", &self.names.flow(flow).name));
            }
        }
        debug_annotations.extend(notes.iter().map(|(key, value)| text(key, value)));
        let event = TrackEvent {
            kind: Kind::Instant as i32,
            track_uuid,
            name: Some(name),
            debug_annotations,
            ..TrackEvent::default()
        };
        self.event(record, event)
    }

    fn counter(&mut self, record: &Record, track_uuid: u64, value: Value) -> io::Result<()> {
        let mut event = TrackEvent { kind: Kind::Counter as i32, track_uuid, ..TrackEvent::default() };
        match value {
            Value::Whole(value) => event.counter_value = Some(value),
            Value::Real(value) => event.double_counter_value = Some(value),
        }
        self.event(record, event)
    }

    fn declare(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    fn event(&mut self, record: &Record, event: TrackEvent) -> io::Result<()> {
        let timestamp = Some(record.time.as_ps() / 1000);
        self.packet(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() })
    }

    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = 1;
        if std::mem::replace(&mut self.first, false) {
            packet.sequence_flags = Some(SEQ_INCREMENTAL_STATE_CLEARED);
        }
        // A trace is one message, `repeated TracePacket packet = 1`: written packet by packet.
        self.out.write_all(&[1 << 3 | 2])?;
        self.out.write_all(&packet.encode_length_delimited_to_vec())
    }
}

enum Value {
    Whole(i64),
    Real(f64),
}

/// Perfetto's counters have a sign.
fn signed_counter(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn name_of(event: &Event) -> String {
    match event {
        Event::Enqueue { .. } => "enqueue".into(),
        Event::Dequeue { .. } => "dequeue".into(),
        Event::Mark { .. } => "mark".into(),
        Event::Drop { cause, .. } => format!("drop: {cause}"),
        Event::Arrive { .. } => "arrive".into(),
        Event::Pause { .. } => "pause".into(),
        Event::Resume { .. } => "resume".into(),
        Event::Ack { .. } => "ACK".into(),
        Event::Change { .. } => "change".into(),
        Event::Timer { timer } => format!("timer: {timer}"),
        Event::Start { .. } => "start".into(),
        Event::Finish => "finish".into(),
    }
}

fn packet_notes(packet: &Packet) -> [DebugAnnotation; 5] {
    [
        text("packet", &packet.kind.to_string()),
        note("sequence", packet.sequence),
        note("wire_bytes", u64::from(packet.wire)),
        note("class", u64::from(packet.class)),
        text(
            "ecn",
            match packet.ecn {
                crate::Ecn::NotCapable => "not capable",
                crate::Ecn::Capable => "capable",
                crate::Ecn::Marked => "marked",
            },
        ),
    ]
}

fn note(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_string()), uint_value: Some(value), string_value: None }
}

fn text(name: &str, value: &str) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_string()), uint_value: None, string_value: Some(value.to_string()) }
}

const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
