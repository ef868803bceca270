use super::*;
use farloop_test_support::cases;
use proptest::prelude::*;

#[derive(Default)]
struct Taken(Vec<Frame>);

impl Packets for Taken {
    fn buffer(&mut self) -> Vec<u8> {
        // Whatever was in it before.
        vec![0xee; 3]
    }

    fn take(&mut self, packet: Frame) {
        self.0.push(packet);
    }
}

/// A TCP segment over IPv4 or IPv6 with this payload; its checksums as a host leaves them that has offloads.
pub(crate) fn tcp(v6: bool, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let length = (20 + payload.len()) as u16;
    if v6 {
        frame.extend([0x86, 0xdd, 0x60, 0x20, 0, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([TCP, 64]);
        frame.extend(1..=32);
    } else {
        frame.extend([8, 0, 0x45, 2]);
        frame.extend((20 + length).to_be_bytes());
        frame.extend([0xff, 0xff, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let checksum = !fold(sum(&frame[14..34]));
        put(&mut frame, 24, checksum);
    }
    let transport = frame.len();
    frame.extend([0x1f, 0x90, 0x30, 0x39, 0xff, 0xff, 0xff, 0, 0, 0, 0, 9, 5 << 4, flags, 1, 0, 0, 0, 0, 0]);
    frame.extend(payload);
    assert_eq!(frame.len() - transport, usize::from(length));
    frame
}

fn cut(bytes: &[u8], size: u16, vlan: Option<(u16, u16)>) -> Vec<Frame> {
    let mut taken = Taken::default();
    let kind = if bytes[12] == 8 { GSO_TCP4 } else { GSO_TCP6 };
    let offload = Offload { checksum: Some((0, 0)), segments: Some((kind, size)) };
    assert!(packets(bytes, offload, vlan, &mut taken));
    taken.0
}

/// True if the IPv4 header's checksum is right.
fn is_intact(frame: &[u8], ip: usize) -> bool {
    fold(sum(&frame[ip..ip + 20])) == 0xffff
}

#[test]
fn a_mark_sets_both_bits_of_what_is_capable() {
    for v6 in [false, true] {
        let mut frame = tcp(v6, 16, &[1; 10]);
        let before = frame.clone();
        assert!(mark(&mut frame));
        if v6 {
            assert_eq!((frame[14], frame[15]), (0x60, 0x30));
        } else {
            assert!(frame[15] == 3 && is_intact(&frame, 14));
        }
        assert_eq!(frame[34..], before[34..]);
        let marked = frame.clone();
        assert!(mark(&mut frame) && frame == marked, "marked already");
        frame[15] = 0;
        let other = frame.clone();
        assert!(!mark(&mut frame) && frame == other, "not capable");
    }
}

#[test]
fn what_is_not_ip_has_no_mark_and_no_kind() {
    let arp = [vec![0xff; 12], vec![8, 6], vec![0x45; 46]].concat();
    let mut copy = arp.clone();
    assert!(!mark(&mut copy) && copy == arp && kind(&arp).is_none() && tags(&arp) == 0);
    let whole = tcp(false, 16, &[1; 10]);
    for length in 0..whole.len() {
        let mut part = whole[..length].to_vec();
        // Short ones are read as far as they go, and nothing panics.
        mark(&mut part);
        kind(&part);
        sample_key(&part);
    }
}

#[test]
fn segments_are_told_apart_by_payload_and_flags() {
    for v6 in [false, true] {
        let of = |flags: u8, payload: &[u8]| kind(&tcp(v6, flags, payload));
        assert_eq!(of(16, &[1]), Some(Kind::Data));
        assert_eq!(of(16, &[]), Some(Kind::Ack));
        assert_eq!([of(18, &[]), of(17, &[]), of(20, &[])], [None; 3], "SYN, FIN, RST");
    }
    let mut udp = tcp(false, 16, &[1; 10]);
    udp[23] = UDP;
    assert_eq!(kind(&udp), None);
}

#[test]
fn a_tag_goes_back_where_it_was() {
    let whole = tcp(false, 16, &[1; 10]);
    let mut taken = Taken::default();
    let offload = Offload { checksum: Some((34, 16)), segments: None };
    assert!(packets(&whole, offload, Some((0x8100, 0x2064)), &mut taken));
    let frame = &taken.0[0];
    assert_eq!(frame.bytes[..12], whole[..12]);
    assert_eq!(frame.bytes[12..16], [0x81, 0, 0x20, 0x64]);
    assert_eq!(frame.bytes[16..], whole[12..]);
    assert_eq!((tags(&frame.bytes), kind(&frame.bytes)), (4, Some(Kind::Data)));
    // The checksum counts from behind the tag.
    assert_eq!(Offload::from_bytes(&frame.header).checksum, Some((38, 16)));
    let mut marked = frame.bytes.clone();
    assert!(mark(&mut marked) && marked[19] == 3);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let whole = tcp(false, 16, &[1; 100]);
    for (kind, size) in [(GSO_UDP, 10), (GSO_TCP4, 0), (3, 10)] {
        let mut taken = Taken::default();
        let offload = Offload { checksum: None, segments: Some((kind, size)) };
        assert!(!packets(&whole, offload, None, &mut taken) && taken.0.is_empty(), "{kind} {size}");
    }
    let offload = Offload { checksum: None, segments: Some((GSO_TCP4, 10)) };
    assert!(!packets(&whole[..40], offload, None, &mut Taken::default()));
}

#[test]
fn datagrams_are_cut_as_udp_has_them() {
    let mut whole = tcp(false, 16, &[]);
    whole.truncate(34);
    whole[23] = UDP;
    whole.extend([0x1f, 0x90, 0x30, 0x39, 0, 0, 0, 0]);
    whole.extend((0..25).collect::<Vec<u8>>());
    let mut taken = Taken::default();
    let offload = Offload { checksum: Some((34, 6)), segments: Some((GSO_UDP, 10)) };
    assert!(packets(&whole, offload, None, &mut taken));
    let lengths: Vec<u16> = taken.0.iter().filter_map(|frame| word(&frame.bytes, 38)).collect();
    assert_eq!(lengths, [18, 18, 13]);
    assert!(taken.0.iter().all(|frame| is_intact(&frame.bytes, 14)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]
    #[test]
    fn segments_are_the_frame_again(v6: bool, size in 1_u16..200, length in 1_usize..900, tag: bool) {
        let payload: Vec<u8> = (0..length).map(|i| i as u8).collect();
        // CWR, ACK, PSH and FIN.
        let whole = tcp(v6, 0b1001_1001, &payload);
        let frames = cut(&whole, size, tag.then_some((0x8100, 5)));
        prop_assert_eq!(frames.len(), length.div_ceil(usize::from(size)));
        let shift = if tag { TAG } else { 0 };
        let (ip, transport) = (14 + shift, if v6 { 54 } else { 34 } + shift);
        let mut joined = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            let bytes = &frame.bytes;
            prop_assert_eq!(tags(bytes), shift);
            let data = &bytes[transport + 20..];
            let sequence = u32::from_be_bytes(bytes[transport + 4..transport + 8].try_into().expect("four"));
            prop_assert_eq!(sequence, 0xffff_ff00_u32.wrapping_add(joined.len() as u32));
            let (first, last) = (number == 0, number + 1 == frames.len());
            prop_assert_eq!(bytes[transport + 13], 16 | if first { 0x80 } else { 0 } | if last { 9 } else { 0 });
            if v6 {
                prop_assert_eq!(usize::from(word(bytes, ip + 4).expect("there")), 20 + data.len());
            } else {
                prop_assert_eq!(usize::from(word(bytes, ip + 2).expect("there")), 40 + data.len());
                prop_assert_eq!(word(bytes, ip + 4), Some(0xffff_u16.wrapping_add(number as u16)));
                prop_assert!(is_intact(bytes, ip));
            }
            // Who completes the checksum finds the pseudo header's sum in its place: together they are right.
            prop_assert_eq!(Offload::from_bytes(&frame.header).checksum, Some((transport as u16, 16)));
            let addresses = if v6 { &bytes[ip + 8..ip + 40] } else { &bytes[ip + 12..ip + 20] };
            let pseudo = fold(sum(addresses) + u64::from(TCP) + (20 + data.len()) as u64);
            prop_assert_eq!(word(bytes, transport + 16), Some(pseudo));
            joined.extend_from_slice(data);
        }
        prop_assert_eq!(joined, payload);
    }
}
