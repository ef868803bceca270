use super::*;
use crate::frame::tests::tcp;
use crate::frame::{Packets, packets};
use farloop_test_support::cases;
use proptest::prelude::*;

/// A segment whose checksum is left to others, as a packet socket has it.
fn segment(v6: bool, sequence: u32, flags: u8, payload: &[u8]) -> Frame {
    let mut bytes = tcp(v6, flags, payload);
    let transport = if v6 { 54 } else { 34 };
    bytes[transport + 4..transport + 8].copy_from_slice(&sequence.to_be_bytes());
    frame::put_pseudo_sum(&mut bytes, 14, v6, transport, 20 + payload.len());
    let mut header = [0; VNET_HEADER];
    header[0] = 1;
    header[6..8].copy_from_slice(&(transport as u16).to_ne_bytes());
    header[8..10].copy_from_slice(&16_u16.to_ne_bytes());
    Frame { bytes, header }
}

/// The frames that a batch leaves as, each with its header.
fn sent(frames: Vec<Frame>) -> Vec<([u8; VNET_HEADER], Vec<u8>)> {
    let mut batch: Vec<(u64, Frame)> = frames.into_iter().map(|frame| (0, frame)).collect();
    let mut joiner = Joiner::default();
    // What a batch before this one has left behind is no matter.
    joiner.join(&mut batch.clone(), true);
    joiner.join(&mut batch, true);
    let all: Vec<_> =
        joiner.frames(&batch).map(|(header, parts)| (*header, parts.collect::<Vec<_>>().concat())).collect();
    let joined = all.iter().filter(|(header, _)| header[1] != 0).map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
    assert_eq!(joiner.longest(), joined);
    all
}

fn lengths(frames: Vec<Frame>) -> Vec<usize> {
    sent(frames).into_iter().map(|(_, bytes)| bytes.len()).collect()
}

#[derive(Default)]
struct Cut(Vec<Frame>);

impl Packets for Cut {
    fn buffer(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn take(&mut self, packet: Frame) {
        self.0.push(packet);
    }
}

#[test]
fn segments_that_follow_one_another_are_one_frame() {
    for v6 in [false, true] {
        let head = if v6 { 74 } else { 54 };
        let all = (0..3).map(|i| segment(v6, 100 * i, 16, &[i as u8; 100])).collect();
        let frames = sent(all);
        let [(header, bytes)] = &frames[..] else { panic!("{} frames", frames.len()) };
        assert_eq!(bytes.len(), head + 300);
        assert_eq!(bytes[head..], [[0; 100], [1; 100], [2; 100]].concat());
        // Needs a checksum; TCP over this IP; headers, size; where the checksum is.
        let expected = [1, if v6 { 4 } else { 1 }, head as u8, 0, 100, 0, head as u8 - 20, 0, 16, 0];
        assert_eq!(header, &expected);
    }
}

#[test]
fn what_does_not_continue_begins_anew() {
    let of = |sequence, flags, size: usize| segment(false, sequence, flags, &vec![7; size]);
    // A gap, a segment sent again.
    assert_eq!(lengths(vec![of(0, 16, 100), of(200, 16, 100)]), [154, 154]);
    assert_eq!(lengths(vec![of(0, 16, 100), of(0, 16, 100)]), [154, 154]);
    // A short one is the last; a longer one cannot follow.
    assert_eq!(lengths(vec![of(0, 16, 100), of(100, 16, 30), of(130, 16, 100)]), [184, 154]);
    assert_eq!(lengths(vec![of(0, 16, 100), of(100, 16, 101)]), [154, 155]);
    // PSH ends a frame; FIN, RST, CWR and what has no payload stand alone.
    assert_eq!(lengths(vec![of(0, 16, 100), of(100, 24, 100), of(200, 16, 100)]), [254, 154]);
    assert_eq!(lengths(vec![of(0, 24, 100), of(100, 16, 100)]), [154, 154]);
    for flag in [1, 4, 0x80] {
        assert_eq!(lengths(vec![of(0, 16, 100), of(100, 16 | flag, 100), of(200, 16, 100)]), [154, 154, 154]);
    }
    assert_eq!(lengths(vec![of(0, 16, 100), of(100, 16, 0), of(100, 16, 100)]), [154, 54, 154]);
    // Another acknowledgement, window or echo of congestion.
    for (at, value) in [(34 + 11, 1), (34 + 15, 1), (34 + 13, 16 | 0x40)] {
        let mut other = of(100, 16, 100);
        other.bytes[at] = value;
        assert_eq!(lengths(vec![of(0, 16, 100), other]), [154, 154], "byte {at}");
    }
    // A mark.
    let mut marked = of(100, 16, 100);
    assert!(frame::mark(&mut marked.bytes));
    assert_eq!(lengths(vec![of(0, 16, 100), marked]), [154, 154]);
    // A checksum that is there already is not replaced: it could be wrong.
    let mut complete = of(100, 16, 100);
    complete.header = [0; VNET_HEADER];
    assert_eq!(lengths(vec![of(0, 16, 100), complete]), [154, 154]);
}

#[test]
fn a_frame_has_no_more_than_its_length_can_say() {
    let many = (0..50).map(|i| segment(false, 1448 * i, 16, &[0; 1448])).collect();
    assert_eq!(lengths(many), [54 + 45 * 1448, 54 + 5 * 1448]);
}

#[test]
fn other_connections_between_do_not_matter_and_unknown_frames_do() {
    let of = |port: u8, sequence, payload: &[u8]| {
        let mut made = segment(false, sequence, 16, payload);
        made.bytes[35] = port;
        made
    };
    let arp = Frame { bytes: [vec![0xff; 12], vec![8, 6], vec![0; 46]].concat(), header: [0; VNET_HEADER] };
    let mixed = vec![of(1, 0, &[0; 100]), of(2, 0, &[]), of(1, 100, &[0; 100]), of(2, 0, &[]), of(1, 200, &[0; 100])];
    assert_eq!(lengths(mixed), [354, 54, 54]);
    assert_eq!(lengths(vec![of(1, 0, &[0; 100]), arp, of(1, 100, &[0; 100])]), [154, 60, 154]);
}

#[test]
fn nothing_is_joined_where_that_is_not_wanted() {
    let mut batch: Vec<_> = (0..3).map(|i| (0, segment(false, 100 * i, 16, &[0; 100]))).collect();
    let mut joiner = Joiner::default();
    joiner.join(&mut batch, false);
    assert_eq!((joiner.frames(&batch).count(), joiner.longest()), (3, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(500)))]
    #[test]
    fn a_frame_cut_again_is_what_it_was_joined_from(
        v6: bool,
        segments in proptest::collection::vec((0_u8..2, 0_usize..3, prop::sample::select(vec![16_u8, 16, 16, 24, 17, 0x90]), 0_u8..8), 1..64),
    ) {
        let mut sequences = [u32::MAX - 500, 77];
        let mut before = Vec::new();
        for (connection, size, flags, accident) in segments {
            let sequence = &mut sequences[usize::from(connection)];
            let payload = vec![*sequence as u8; [0, 60, 100][size]];
            let mut made = segment(v6, *sequence, flags, &payload);
            // Source port.
            made.bytes[if v6 { 55 } else { 35 }] = connection;
            *sequence = sequence.wrapping_add(payload.len() as u32 + u32::from(accident == 0));
            if accident == 1 {
                frame::mark(&mut made.bytes);
            }
            before.push(made);
        }
        let mut after = Cut::default();
        for (header, bytes) in sent(before.clone()) {
            prop_assert!(packets(&bytes, Offload::from_bytes(&header), None, &mut after));
        }
        let of = |frames: &[Frame], connection: u8| -> Vec<Vec<u8>> {
            let port = if v6 { 55 } else { 35 };
            frames.iter().filter(|frame| frame.bytes[port] == connection).map(|frame| without_identification(&frame.bytes, v6)).collect()
        };
        for connection in 0..2 {
            prop_assert_eq!(of(&before, connection), of(&after.0, connection));
        }
    }
}

/// A frame without what receivers of a joined one do not see: the identification, and with it IPv4's checksum.
fn without_identification(bytes: &[u8], v6: bool) -> Vec<u8> {
    let mut left = bytes.to_vec();
    if !v6 {
        left[18..20].fill(0);
        left[24..26].fill(0);
    }
    left
}
