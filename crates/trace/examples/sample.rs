//! Writes a small trace made by hand in both formats, for other programs to read:
//! `cargo run -p farloop-trace --example sample -- DIRECTORY`.
//!
//! Two hosts and a switch: flow 0 is RDMA, flow 1 TCP. Records come from two tracers, as of a simulation in two parts.

use farloop_trace::{
    Cause, Ecn, Event, Filter, FlowName, Names, Packet, PacketKind, Place, Protocol, Record, TcpFlags, Tracer, join,
    pcapng, perfetto,
};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("usage: sample DIRECTORY");
        return ExitCode::from(2);
    };
    match write(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{directory}: {e}");
            ExitCode::FAILURE
        }
    }
}

struct Network;

impl Names for Network {
    fn port(&self, port: u32) -> (Cow<'_, str>, Cow<'_, str>) {
        [("s1", "tor"), ("tor", "r1")]
            .get(port as usize)
            .map_or(("?".into(), "?".into()), |(a, b)| ((*a).into(), (*b).into()))
    }
    fn host(&self, host: u32) -> Cow<'_, str> {
        ["s1", "r1"].get(host as usize).map_or("?".into(), |name| (*name).into())
    }
    fn flow(&self, flow: u32) -> FlowName<'_> {
        let protocol = if flow == 0 { Protocol::Rdma } else { Protocol::Tcp };
        FlowName { name: if flow == 0 { "storage".into() } else { "backup".into() }, from: 0, to: 1, protocol }
    }
}

const NEAR: Place = Place::Port(0);
const FAR: Place = Place::Port(1);
const SOURCE: Place = Place::Host(0);

fn write(directory: &Path) -> io::Result<()> {
    let filter = Filter { limit: 17, ..Filter::default() };
    let (mut hosts, mut switch) = (Tracer::new(filter.clone()), Tracer::new(filter));
    let mut at = |ps: u64, place: Place, flow: Option<u32>, event: Event| {
        let tracer = if place == FAR { &mut switch } else { &mut hosts };
        tracer.record(Record { time: Time::from_ps(ps), place, flow, event });
    };
    let rdma = Packet {
        sequence: 1_000,
        wire: 1_078,
        payload: 1_000,
        kind: PacketKind::Data,
        class: 2,
        ecn: Ecn::Capable,
        flags: TcpFlags::default(),
    };
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let tcp = Packet { sequence: 5_000_000_000, wire: 1_538, payload: 1_460, class: 3, flags: ack, ..rdma };
    let answer = Packet { sequence: 2_000, wire: 102, payload: 0, kind: PacketKind::Ack, class: 1, ..rdma };
    let echo = Packet { sequence: 5_000_001_460, flags: TcpFlags { ece: true, ..ack }, ..answer };
    let queue = Bytes::new;
    // Oldest and beyond the limit.
    at(500, SOURCE, Some(0), Event::Start { size: None });
    at(1_000_999, SOURCE, Some(0), Event::Start { size: Some(Bytes::new(1_000_000)) });
    at(1_001_000, NEAR, Some(0), Event::Dequeue { packet: rdma, queue: queue(0) });
    at(2_000_000, FAR, Some(0), Event::Enqueue { packet: rdma, queue: queue(1_078) });
    let marked = Packet { ecn: Ecn::Marked, ..rdma };
    at(2_000_000, FAR, Some(0), Event::Mark { packet: marked, queue: queue(1_078) });
    at(2_000_001, FAR, None, Event::Pause { class: 0 });
    at(2_500_000, FAR, Some(1), Event::Enqueue { packet: tcp, queue: queue(2_616) });
    at(
        3_000_000,
        FAR,
        Some(1),
        Event::Drop { packet: Packet { sequence: 5_000_001_460, ..tcp }, queue: queue(2_616), cause: Cause::Buffer },
    );
    at(4_000_000, FAR, None, Event::Resume { class: 0 });
    at(4_000_000, FAR, Some(0), Event::Dequeue { packet: marked, queue: queue(1_538) });
    at(4_100_000, FAR, Some(1), Event::Dequeue { packet: tcp, queue: queue(0) });
    at(5_000_000, NEAR, Some(0), Event::Arrive { packet: answer });
    let sent = |acked, rtt, rate| Event::Ack {
        sequence: 2_000,
        acked: Bytes::new(acked),
        rtt: Some(Delta::from_ps(rtt)),
        marked: true,
        cwnd: Bytes::new(125_000),
        rate,
    };
    at(5_000_000, SOURCE, Some(0), sent(1_000, 3_999_500, Rate::from_gbps(50)));
    at(5_100_000, NEAR, Some(1), Event::Arrive { packet: echo });
    at(5_100_000, SOURCE, Some(1), sent(1_460, 2_600_000, Rate::MAX));
    at(6_000_000, SOURCE, Some(1), Event::Timer { timer: "retransmission" });
    at(6_000_000, SOURCE, Some(1), Event::Change { cwnd: Bytes::new(1_460), rate: Rate::MAX });
    at(7_000_000, SOURCE, Some(0), Event::Finish);
    let trace = join([hosts, switch]);
    perfetto::write(&trace, &Network, &mut BufWriter::new(File::create(directory.join("sample.perfetto-trace"))?))?;
    pcapng::write(&trace, &Network, &mut BufWriter::new(File::create(directory.join("sample.pcapng"))?))
}
