//! Ports, and the packets that they launch.

use super::*;
use crate::ids::{FlowId, HostId, HostNumber};
use crate::packet::outbox::Outbox;

fn port(rate: Rate) -> Port {
    let random = RandomStream::new(1, "telemetry", 0);
    Port::new(Owner::Host(HostId(0)), Owner::Host(HostId(1)), rate, Delta::from_us(1), random)
}

fn data(class: u8) -> Packet {
    Packet::new(PacketKind::Data, class, FlowId(0), HostNumber(1), 1000)
}

#[test]
fn transmission_times_are_exact_or_rounded_up() {
    assert_eq!(port(Rate::from_gbps(100)).transmission_time(1500), Delta::from_ps(120_000));
    assert_eq!(port(Rate::from_gbps(66)).transmission_time(1500), Delta::from_ps(181_819));
}

#[test]
fn a_queue_counts_its_bytes_and_shows_what_is_not_paused() {
    let (mut port, mut packets) = (port(Rate::from_gbps(8)), Packets::default());
    for class in [DATA + 1, DATA, DATA + 1] {
        let slot = packets.insert(data(class));
        port.enqueue(&mut packets, slot);
    }
    assert_eq!((port.data_queue, port.data_packets, port.ready_classes()), (3000, 3, 0b1100));
    port.paused = 1 << DATA;
    assert_eq!(port.ready_classes(), 0b1000);
    port.dequeue(&packets, DATA + 1);
    port.dequeue(&packets, DATA + 1);
    assert_eq!((port.data_queue, port.data_packets, port.waiting, port.ready_classes()), (1000, 1, 0b100, 0));
}

/// The general path keeps the last packet, which its sender may look at, until it is posted.
#[test]
fn short_links_that_leave_a_part_have_an_outbox() {
    let (mut port, mut packets, mut calendar) = (port(Rate::from_gbps(8)), Packets::default(), Calendar::new(1));
    let outbox = packets.add_outbox();
    port.leave_by(outbox, 5);
    let us = |n| Time::ZERO + Delta::from_us(n);
    for at in 0..4 {
        let slot = packets.insert(Packet { seq: at, ..data(DATA) });
        match at % 2 {
            0 => port.launch::<false>(&mut packets, &mut calendar, 0, slot, us(at), Delta::ZERO),
            _ => port.launch::<true>(&mut packets, &mut calendar, 0, slot, us(at), Delta::ZERO),
        }
        assert_eq!((packets.unposted.len() as u64, port.carries(&packets)), (1 + at / 2, at % 2 == 0));
    }
    assert_eq!(calendar.time_of(0), None, "a part does not wait for what leaves it");
    let (mut mail, mut elsewhere) = (Outbox::default(), Packets::default());
    packets.take_outbox(outbox, &mut mail);
    let mut other = Port::new(Owner::Elsewhere, Owner::Host(HostId(1)), port.rate, port.delay, port.random.clone());
    while let Some((inlet, slot)) = elsewhere.receive(&mut mail) {
        assert_eq!(inlet, 5);
        other.receive(&mut elsewhere, &mut calendar, 0, slot);
    }
    assert_eq!(calendar.time_of(0), Some(us(2)));
    for seq in 0..4 {
        let (slot, next) = other.land(&mut elsewhere);
        assert_eq!((elsewhere[slot].seq, next), (seq, (seq < 3).then_some(us(seq + 3))));
    }
}

/// 1000 B at 8 Gbps take 1 us, the link 1 us: short links, long ones (packed) and those that leave the part hold the same packets.
#[test]
fn packets_land_in_order_at_their_times() {
    for (packed, leaves) in [(false, false), (true, false), (true, true)] {
        let (mut port, mut packets, mut calendar) = (port(Rate::from_gbps(8)), Packets::default(), Calendar::new(1));
        if packed {
            port.packed = packets.add_packed_link();
        }
        port.leaves = leaves;
        let us = |n| Time::ZERO + Delta::from_us(n);
        for at in [0, 1, 5] {
            let slot = packets.insert(Packet { seq: at, ..data(DATA) });
            port.launch::<false>(&mut packets, &mut calendar, 0, slot, us(at), Delta::ZERO);
            assert_eq!(port.busy_until, us(at + 1));
        }
        assert_eq!(calendar.time_of(0), (!leaves).then_some(us(2)), "a part does not wait for what leaves it");
        if leaves {
            port.pack_all(&mut packets);
        }
        for (seq, next) in [(0, Some(us(3))), (1, Some(us(7))), (5, None)] {
            let (slot, arrival) = port.land(&mut packets);
            assert_eq!((packets[slot].seq, arrival), (seq, next));
        }
    }
}
