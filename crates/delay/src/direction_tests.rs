use super::*;
use crate::impairments::BurstLoss;
use farloop_test_support::cases;
use proptest::prelude::*;

/// 1000 bytes on the wire take 8 us, the way 1 ms.
fn plain() -> Settings {
    Settings {
        rate: 1_000_000_000,
        delay: 1_000_000,
        framing: 24,
        longest: 1514,
        limit: 1 << 40,
        limit_packets: None,
        marking: None,
        impairments: Impairments::default(),
    }
}

fn random() -> RandomStream {
    RandomStream::new(1, "test", 0)
}

/// An ECN-capable TCP segment of IPv4 with a number, 1000 bytes on the wire.
fn packet(number: u32) -> Frame {
    let mut bytes = vec![0; 976];
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
    bytes[16..18].copy_from_slice(&962_u16.to_be_bytes());
    (bytes[23], bytes[46], bytes[47]) = (6, 5 << 4, 16);
    bytes[60..64].copy_from_slice(&number.to_be_bytes());
    Frame { bytes, ..Frame::default() }
}

fn number(packet: &Frame) -> u32 {
    u32::from_be_bytes(packet.bytes[60..64].try_into().expect("four"))
}

fn is_marked(packet: &Frame) -> bool {
    packet.bytes[15] & 3 == 3
}

/// Lets all of it happen: when each packet was due, and its number.
fn run(direction: &mut Direction) -> Vec<(u64, u32)> {
    let mut left = Vec::new();
    while let Some(due) = direction.next_due() {
        direction.advance(due);
        while let Some((due, packet)) = direction.take(due) {
            left.push((due, number(&packet)));
        }
    }
    left
}

fn offer(
    settings: Settings,
    changes: Vec<(u64, Change)>,
    times: impl Iterator<Item = u64>,
) -> (Direction, Vec<(u64, u32)>) {
    let mut direction = Direction::new(settings, changes, random());
    times.zip(0..).for_each(|(at, number)| direction.arrive(at, packet(number)));
    let left = run(&mut direction);
    (direction, left)
}

#[test]
fn packets_leave_at_the_rate_and_arrive_the_delay_later() {
    let (direction, left) = offer(plain(), vec![], [0, 0, 0, 100_000].into_iter());
    assert_eq!(left, [(1_008_000, 0), (1_016_000, 1), (1_024_000, 2), (1_108_000, 3)]);
    // The second finds one in transmission, the third one that waits.
    assert_eq!((direction.counts().queue, direction.counts().bytes), (2000, 4000));
}

#[test]
fn a_rate_that_is_no_whole_number_of_nanoseconds_is_kept() {
    // 8000 bits at 3 Gbps take 2666.67 ns.
    let settings = Settings { rate: 3_000_000_000, ..plain() };
    let (_, left) = offer(settings, vec![], std::iter::repeat_n(0, 3000));
    // Each is at most a picosecond off.
    let last = left.last().map_or(0, |(due, _)| *due);
    assert!((9_000_000 - 3..=9_000_000).contains(&last), "{last}");
}

#[test]
fn a_full_queue_drops_what_comes() {
    let settings = Settings { limit: 2500, ..plain() };
    let (direction, left) = offer(settings, vec![], [0; 6].into_iter());
    // One is in transmission, two wait.
    assert_eq!(left.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((direction.counts().dropped_queue, direction.counts().queue), (3, 2000));
    let settings = Settings { limit_packets: Some(1), ..plain() };
    let (direction, left) = offer(settings, vec![], [0, 0, 0, 8000, 8000].into_iter());
    // At 8 us the second is in transmission.
    assert_eq!(left.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!(direction.counts().dropped_queue, 2);
}

#[test]
fn an_idle_port_takes_a_packet_whatever_the_limit() {
    let (direction, left) = offer(Settings { limit: 1, ..plain() }, vec![], [0, 8000].into_iter());
    assert_eq!((left.len(), direction.counts().gone()), (2, 0));
}

#[test]
fn marks_go_by_the_queue_that_a_packet_finds() {
    let step = Some(Marking { kmin: 2000, kmax: 2000, pmax: 1.0 });
    let mut direction = Direction::new(Settings { marking: step, ..plain() }, vec![], random());
    (0..6).for_each(|number| direction.arrive(0, packet(number)));
    let mut marked = Vec::new();
    direction.advance(100_000_000);
    while let Some((_, packet)) = direction.take(100_000_000) {
        marked.push(is_marked(&packet));
    }
    // Queues of 0, 0, 1000, 2000, 3000 and 4000.
    assert_eq!(marked, [false, false, false, false, true, true]);
    assert_eq!(direction.counts().marked, 2);
}

#[test]
fn marks_between_the_thresholds_are_as_likely_as_the_law_says() {
    // The queue stays at 2000, half way from 1000 to 3000: half of 0.4.
    let law = Marking { kmin: 1000, kmax: 3000, pmax: 0.4 };
    assert_eq!([1000, 1001, 2000, 3000, 3001].map(|queue| law.probability(queue)), [0.0, 0.0002, 0.2, 0.4, 1.0]);
    let mut direction = Direction::new(Settings { marking: Some(law), ..plain() }, vec![], random());
    [0, 0, 0].into_iter().for_each(|at| direction.arrive(at, packet(0)));
    (0..20_000).for_each(|number: u64| direction.arrive(number * 8000, packet(0)));
    let part = direction.counts().marked as f64 / 20_000.0;
    assert!((part - 0.2).abs() < 0.01, "{part}");
}

#[test]
fn what_is_not_capable_is_not_marked() {
    let law = Marking { kmin: 0, kmax: 0, pmax: 1.0 };
    let mut direction = Direction::new(Settings { marking: Some(law), ..plain() }, vec![], random());
    for _ in 0..4 {
        let mut other = packet(0);
        other.bytes[15] = 0;
        direction.arrive(0, other);
    }
    assert_eq!((direction.counts().marked, run(&mut direction).len()), (0, 4));
}

#[test]
fn losses_are_as_frequent_as_asked_for() {
    let loss =
        |impairments| offer(Settings { impairments, ..plain() }, vec![], (0..100_000).map(|i| i * 8000)).0.counts();
    let counts = loss(Impairments { loss: 0.01, ..Impairments::default() });
    assert!((900..1100).contains(&counts.lost_random) && counts.gone() == counts.lost_random, "{counts:?}");
    let counts = loss(Impairments { corruption: 0.01, ..Impairments::default() });
    assert!((900..1100).contains(&counts.damaged) && counts.gone() == counts.damaged, "{counts:?}");
    let law = BurstLoss { to_bad: 0.001, to_good: 0.1, loss_bad: 1.0, loss_good: 0.0 };
    let counts = loss(Impairments { bursts: Some(law), ..Impairments::default() });
    // 990 on average, in some 100 bursts of 10.
    assert!((600..1400).contains(&counts.lost_burst) && counts.gone() == counts.lost_burst, "{counts:?}");
}

#[test]
fn jitter_keeps_the_order_and_its_bound() {
    let impairments = Impairments { jitter: 500_000, ..Impairments::default() };
    let (_, left) = offer(Settings { impairments, ..plain() }, vec![], (0..2000).map(|i| i * 1_000_000));
    let extra: Vec<u64> = left.iter().map(|(due, number)| due - u64::from(*number) * 1_000_000 - 1_008_000).collect();
    let mean = extra.iter().sum::<u64>() / 2000;
    assert!(extra.iter().all(|extra| *extra <= 500_000) && (235_000..265_000).contains(&mean), "{mean}");
    let (_, left) = offer(Settings { impairments, ..plain() }, vec![], (0..2000).map(|i| i * 8000));
    assert!(left.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1));
}

#[test]
fn others_overtake_what_is_reordered() {
    let impairments = Impairments { reordering: Some((0.1, 20_000)), ..Impairments::default() };
    let (direction, left) = offer(Settings { impairments, ..plain() }, vec![], (0..10_000).map(|i| i * 8000));
    let late = direction.counts().late;
    assert!((900..1100).contains(&late) && left.len() == 10_000);
    let overtaken = left.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
    assert!(overtaken > 600, "{overtaken}");
    assert!(left.iter().all(|(due, number)| {
        let on_time = u64::from(*number) * 8000 + 1_008_000;
        *due == on_time || *due == on_time + 20_000
    }));
}

#[test]
fn a_link_that_goes_down_loses_what_it_holds() {
    let changes = vec![(3_000_000, Change::Up), (1_024_000, Change::Down)];
    let times = [0, 0, 16_000, 1_020_000, 1_020_000, 1_500_000, 3_000_000];
    let (direction, left) = offer(plain(), changes, times.into_iter());
    // The third would be complete at 1.024 ms, and the change comes first; of two at 1.02 ms one is in transmission.
    assert_eq!(left, [(1_008_000, 0), (1_016_000, 1), (4_008_000, 6)]);
    let counts = direction.counts();
    assert_eq!((counts.lost_down, counts.dropped_down), (2, 2));
}

#[test]
fn rates_and_delays_change_for_what_is_sent_from_then_on() {
    let changes = vec![(10_000, Change::Rate(100_000_000)), (90_000, Change::Delay(500_000))];
    let (_, left) = offer(plain(), changes, [0; 4].into_iter());
    // The second leaves from 8 to 16 us at the old rate, the third until 96 us at the new one, the fourth until 176 us with the new
    // delay, and does not overtake the third.
    assert_eq!(left, [(1_008_000, 0), (1_016_000, 1), (1_096_000, 2), (1_096_000, 3)]);
}

#[test]
fn losses_change_for_what_arrives_from_then_on() {
    let changes =
        vec![(1_010_000, Change::Loss(1.0)), (1_020_000, Change::Loss(0.0)), (1_030_000, Change::Corruption(1.0))];
    let (direction, left) = offer(plain(), changes, [0; 5].into_iter());
    assert_eq!(left, [(1_008_000, 0), (1_024_000, 2)]);
    assert_eq!((direction.counts().lost_random, direction.counts().damaged), (1, 2));
}

#[test]
fn packets_are_lost_and_late_by_their_number() {
    let numbers = |text: &str| text.parse::<Numbers>().expect("accepted");
    let changes = vec![
        (1_010_000, Change::LoseData(numbers("2"))),
        (1_010_000, Change::LateData(numbers("1"), 50_000)),
        (1_040_000, Change::LoseData(numbers("1"))),
    ];
    let (direction, left) = offer(plain(), changes, [0; 5].into_iter());
    // They count from 1.01 ms on: the second and third, and again from 1.04 ms on.
    assert_eq!(left, [(1_008_000, 0), (1_032_000, 3), (1_066_000, 1)]);
    assert_eq!((direction.counts().lost_numbered, direction.counts().late), (2, 1));
}

#[test]
fn a_frame_that_is_too_long_is_dropped_and_a_tag_does_not_count() {
    let mut direction = Direction::new(Settings { longest: 976, ..plain() }, vec![], random());
    direction.arrive(0, packet(0));
    let mut tagged = packet(1);
    tagged.bytes.splice(12..12, [0x81, 0, 0, 5]);
    direction.arrive(0, tagged);
    let mut long = packet(2);
    long.bytes.push(0);
    direction.arrive(0, long);
    direction.refuse();
    assert_eq!((run(&mut direction).len(), direction.counts().dropped_long), (2, 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]
    #[test]
    fn all_packets_are_counted_once(
        times in proptest::collection::vec(0_u64..5_000_000, 1..300),
        changes in proptest::collection::vec((0_u64..5_000_000, 0_usize..6), 0..8),
        limit in 1_u64..100_000,
        loss in 0.0..0.3,
        looks in proptest::collection::vec(0_u64..8_000_000, 0..20),
    ) {
        let change = |kind: usize| match kind {
            0 => Change::Down,
            1 => Change::Up,
            2 => Change::Rate(50_000_000),
            3 => Change::Delay(10_000),
            4 => Change::Loss(0.5),
            _ => Change::Corruption(0.2),
        };
        let law = BurstLoss { to_bad: 0.1, to_good: 0.3, loss_bad: 0.8, loss_good: loss / 10.0 };
        let impairments = Impairments { loss, corruption: loss / 2.0, bursts: Some(law), jitter: 3000, reordering: Some((loss, 100_000)) };
        let settings = Settings { limit, impairments, ..plain() };
        let changes = changes.into_iter().map(|(at, kind)| (at, change(kind))).collect();
        let mut direction = Direction::new(settings, changes, random());
        let mut all: Vec<(u64, bool)> = times.iter().map(|at| (*at, true)).chain(looks.iter().map(|at| (*at, false))).collect();
        all.sort_unstable();
        let (mut left, mut last) = (0, 0);
        for (at, comes) in all {
            if comes {
                direction.arrive(at, packet(0));
            }
            direction.advance(at);
            while let Some((due, _)) = direction.take(at) {
                prop_assert!(last <= due && due <= at);
                (left, last) = (left + 1, due);
            }
            let counts = direction.counts();
            prop_assert_eq!(counts.came, counts.left + counts.gone() + direction.inside());
            prop_assert!(counts.queue <= limit.max(1000));
        }
        left += run(&mut direction).len() as u64;
        let counts = direction.counts();
        prop_assert!(direction.is_empty() && counts.came == times.len() as u64);
        prop_assert_eq!((counts.left, counts.came), (left, left + counts.gone()));
    }
}
