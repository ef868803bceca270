//! A trace as columns, for a map on which packets move.
//!
//! A packet is on a link from when it begins to leave a port: it has left after its size over the rate, and is there a
//! delay later. So departures from ports give the place of every packet; drops, marks and pauses are shown at their port.

use crate::columns::{Buffer, Buffers};
use farloop_trace::{Ecn, Event, Packet, PacketKind, Place, Trace};
use serde_json::{Value as Json, json};

/// Events, by the numbers in [`columns`].
const EVENTS: [&str; 5] = ["leave", "drop", "mark", "pause", "resume"];
/// Kinds of packets.
const KINDS: [&str; 4] = ["data", "ack", "signal", "pfc"];

/// Events at ports, in the order of time. Columns: time, port (the row of the table of ports), flow (the largest number
/// where there is none), event, kind of packet, ECN mark, bytes on the wire, and bytes that wait at the port afterwards.
pub(crate) fn columns(trace: &Trace, buffers: &mut Buffers) -> Json {
    let (mut time, mut port, mut flow) = (Vec::new(), Vec::new(), Vec::new());
    let (mut event, mut kind, mut marked) = (Vec::new(), Vec::new(), Vec::new());
    let (mut wire, mut queue) = (Vec::new(), Vec::new());
    for record in &trace.records {
        let Place::Port(at) = record.place else { continue };
        let (what, packet, waiting) = match &record.event {
            Event::Dequeue { packet, queue } => (0, Some(packet), queue.as_f64()),
            Event::Drop { packet, queue, .. } => (1, Some(packet), queue.as_f64()),
            Event::Mark { packet, queue } => (2, Some(packet), queue.as_f64()),
            Event::Pause { .. } => (3, None, 0.0),
            Event::Resume { .. } => (4, None, 0.0),
            _ => continue,
        };
        time.push(record.time.as_secs_f64());
        port.push(at);
        flow.push(record.flow.unwrap_or(u32::MAX));
        event.push(what);
        kind.push(packet.map_or(3, of_kind));
        marked.push(u8::from(packet.is_some_and(|p| p.ecn == Ecn::Marked)));
        wire.push(packet.map_or(0, |p| p.wire));
        queue.push(waiting);
    }
    json!({
        "left_out": trace.left_out,
        "events": EVENTS,
        "kinds": KINDS,
        "columns": {
            "time": buffers.column("f64", Buffer::F64(time)),
            "port": buffers.column("u32", Buffer::U32(port)),
            "flow": buffers.column("u32", Buffer::U32(flow)),
            "event": buffers.column("u8", Buffer::U8(event)),
            "kind": buffers.column("u8", Buffer::U8(kind)),
            "marked": buffers.column("u8", Buffer::U8(marked)),
            "wire": buffers.column("u32", Buffer::U32(wire)),
            "queue": buffers.column("f64", Buffer::F64(queue)),
        },
    })
}

fn of_kind(packet: &Packet) -> u8 {
    match packet.kind {
        PacketKind::Data => 0,
        PacketKind::Ack | PacketKind::Nack => 1,
        PacketKind::Pause { .. } | PacketKind::Resume { .. } => 3,
        _ => 2,
    }
}
