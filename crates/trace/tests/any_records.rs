//! Whatever is recorded: one order for any cut, and files for any numbers.

use farloop_test_support::cases;
use farloop_trace::{
    Cause, Ecn, Event, Filter, FlowName, Names, Packet, PacketKind, Place, Protocol, Record, TcpFlags, Trace, Tracer,
    join, pcapng, perfetto,
};
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;
use std::borrow::Cow;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0..5_000u64, any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX), 0..2_000u32, any::<u32>()]
}

fn packet() -> impl Strategy<Value = Packet> {
    let kind = prop_oneof![
        Just(PacketKind::Data),
        Just(PacketKind::Ack),
        Just(PacketKind::Nack),
        Just(PacketKind::Cnp),
        Just(PacketKind::Quantized),
        Just(PacketKind::ReceiveRate),
        Just(PacketKind::Credit),
        Just(PacketKind::Probe),
        Just(PacketKind::Telemetry),
        any::<u8>().prop_map(|class| PacketKind::Pause { class }),
        any::<u8>().prop_map(|class| PacketKind::Resume { class }),
    ];
    let ecn = prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable), Just(Ecn::Marked)];
    (number(), small(), small(), kind, any::<u8>(), ecn, any::<[bool; 6]>()).prop_map(
        |(sequence, wire, payload, kind, class, ecn, [syn, fin, ack, ece, cwr, ae])| Packet {
            sequence,
            wire,
            payload,
            kind,
            class,
            ecn,
            flags: TcpFlags { syn, fin, ack, ece, cwr, ae },
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let cause = prop::sample::select(Cause::ALL.to_vec());
    let bytes = || number().prop_map(Bytes::new);
    prop_oneof![
        (packet(), bytes()).prop_map(|(packet, queue)| Event::Enqueue { packet, queue }),
        (packet(), bytes()).prop_map(|(packet, queue)| Event::Dequeue { packet, queue }),
        (packet(), bytes()).prop_map(|(packet, queue)| Event::Mark { packet, queue }),
        (packet(), bytes(), cause).prop_map(|(packet, queue, cause)| Event::Drop { packet, queue, cause }),
        packet().prop_map(|packet| Event::Arrive { packet }),
        any::<u8>().prop_map(|class| Event::Pause { class }),
        any::<u8>().prop_map(|class| Event::Resume { class }),
        (number(), bytes(), proptest::option::of(number()), any::<bool>(), bytes(), number()).prop_map(
            |(sequence, acked, rtt, marked, cwnd, rate)| Event::Ack {
                sequence,
                acked,
                rtt: rtt.map(Delta::from_ps),
                marked,
                cwnd,
                rate: Rate::from_bps(rate)
            }
        ),
        (bytes(), number()).prop_map(|(cwnd, rate)| Event::Change { cwnd, rate: Rate::from_bps(rate) }),
        Just(Event::Timer { timer: "retransmission" }),
        proptest::option::of(bytes()).prop_map(|size| Event::Start { size }),
        Just(Event::Finish),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let place = prop_oneof![small().prop_map(Place::Port), small().prop_map(Place::Host)];
    (number(), place, proptest::option::of(small()), event()).prop_map(|(ps, place, flow, event)| Record {
        time: Time::from_ps(ps),
        place,
        flow,
        event,
    })
}

/// Few times and places, so that many records share them; the flow tells records apart.
fn story() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec((0..6u64, 0..6u32, any::<bool>()), 0..3_000).prop_map(|steps| {
        let mut records: Vec<Record> = steps
            .iter()
            .enumerate()
            .map(|(at, (step, place, host))| Record {
                time: Time::from_ps(at as u64 / 100 + step / 5),
                place: if *host { Place::Host(*place) } else { Place::Port(*place) },
                flow: Some(at as u32),
                event: Event::Finish,
            })
            .collect();
        records.sort_by_key(|record| record.time);
        records
    })
}

fn in_parts(records: &[Record], limit: usize, part_of: impl Fn(Place) -> usize, parts: usize) -> Trace {
    let mut tracers = vec![Tracer::new(Filter { limit, ..Filter::default() }); parts];
    for record in records {
        tracers[part_of(record.place)].record(*record);
    }
    join(tracers)
}

fn index(place: Place) -> usize {
    match place {
        Place::Port(n) => 2 * n as usize,
        Place::Host(n) => 2 * n as usize + 1,
    }
}

struct Anything;
impl Names for Anything {
    fn port(&self, port: u32) -> (Cow<'_, str>, Cow<'_, str>) {
        (format!("node {port}").into(), "é".repeat(port as usize % 5_000).into())
    }
    fn host(&self, _: u32) -> Cow<'_, str> {
        "".into()
    }
    fn flow(&self, flow: u32) -> FlowName<'_> {
        let protocol = if flow.is_multiple_of(2) { Protocol::Rdma } else { Protocol::Tcp };
        FlowName { name: "f".into(), from: flow, to: u32::MAX, protocol }
    }
}

/// Lengths of the blocks of a pcapng file, by type; panics where they do not add up.
fn blocks(file: &[u8]) -> Vec<u32> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut kinds) = (0, Vec::new());
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert!(length >= 12 && length.is_multiple_of(4));
        assert_eq!(word(at + length - 4) as usize, length);
        kinds.push(word(at));
        at += length;
    }
    kinds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]
    #[test]
    fn the_cut_makes_no_difference(records in story(), limit in 0..2_500usize, cut in proptest::collection::vec(0..4usize, 12)) {
        let whole = in_parts(&records, limit, |_| 0, 1);
        prop_assert_eq!(&in_parts(&records, limit, |place| cut[index(place)], 4), &whole);
        prop_assert_eq!(&in_parts(&records, limit, index, 12), &whole);
        // What is to come out, said directly.
        let mut expected = records.clone();
        expected.sort_by_key(|record| (record.time, record.place, record.flow));
        let surplus = expected.len().saturating_sub(limit);
        prop_assert_eq!(whole.left_out, surplus as u64);
        prop_assert_eq!(&whole.records[..], &expected[surplus..]);
    }

    #[test]
    fn any_records_can_be_written(records in proptest::collection::vec(record(), 0..40), left_out in number()) {
        let trace = Trace { records, left_out, why: None, messages: Vec::new() };
        let mut file = Vec::new();
        pcapng::write(&trace, &Anything, &mut file).unwrap();
        let captured = trace.records.iter().filter(|r| match r.event {
            Event::Dequeue { .. } | Event::Pause { .. } | Event::Resume { .. } => true,
            Event::Drop { cause, .. } => !matches!(cause, Cause::Loss | Cause::Corruption),
            Event::Arrive { packet } => !matches!(packet.kind, PacketKind::Pause { .. } | PacketKind::Resume { .. }),
            _ => false,
        });
        prop_assert_eq!(blocks(&file).iter().filter(|kind| **kind == 6).count(), captured.count());
        let mut other = Vec::new();
        perfetto::write(&trace, &Anything, &mut other).unwrap();
        prop_assert!(other.len() > trace.records.len() * 10);
    }
}

#[test]
fn what_a_full_disk_says_is_handed_on() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let trace = Trace::default();
    assert_eq!(pcapng::write(&trace, &Anything, &mut Full).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(perfetto::write(&trace, &Anything, &mut Full).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}
