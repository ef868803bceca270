//! The incremental scoreboard against a naive one that follows the text of RFC 6675 octet by octet, in units of a segment.

use super::*;
use farloop_test_support::cases;
use farloop_units::Delta;
use proptest::prelude::*;

const MSS: u64 = 100;
const THRESHOLD: u32 = 3;

/// `SetPipe`, `IsLost` and `NextSeg` as RFC 6675 §4 words them. A segment is one unit.
#[derive(Default)]
struct Naive {
    acked: usize,
    sent: usize,
    sacked: Vec<bool>,
    /// A retransmission is in flight.
    again: Vec<bool>,
    /// It was sent again at any time.
    ever: Vec<bool>,
    /// Lost in the sense of the last judgement: judgement happens when something is sacked.
    lost: Vec<bool>,
}

impl Naive {
    fn is_lost(&self, segment: usize) -> bool {
        let above: Vec<usize> = (segment + 1..self.sent).filter(|k| self.sacked[*k]).collect();
        let runs = above.iter().enumerate().filter(|(i, k)| *i == 0 || above[i - 1] + 1 < **k).count();
        runs >= THRESHOLD as usize || above.len() > THRESHOLD as usize - 1
    }
    fn judge(&mut self) {
        for k in self.acked..self.sent {
            self.lost[k] |= !self.sacked[k] && self.is_lost(k);
        }
    }
    fn pipe(&self) -> u64 {
        let mut pipe = 0;
        for k in self.acked..self.sent {
            if !self.sacked[k] {
                pipe += u64::from(!self.lost[k]) * MSS;
                pipe += u64::from(self.again[k]) * MSS;
            }
        }
        pipe
    }
    fn open(&self) -> impl Iterator<Item = usize> {
        (self.acked..self.sent).filter(|k| !self.sacked[*k])
    }
    fn rule_1(&self) -> Option<usize> {
        self.open().find(|k| self.lost[*k] && !self.again[*k])
    }
    fn rule_3(&self) -> Option<usize> {
        let highest = (self.acked..self.sent).rfind(|k| self.sacked[*k])?;
        self.open().find(|k| *k < highest && !self.again[*k])
    }
    fn rule_4(&self) -> Option<usize> {
        self.open().last()
    }
}

fn tally() -> Tally {
    Tally::new(Time::ZERO, None, Delta::ZERO, 0, 0)
}

fn segment(k: usize) -> Range {
    Range::new(k as u64 * MSS, (k as u64 + 1) * MSS)
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Sack(usize, usize),
    Ack(usize),
    Repair,
    RepairUnsacked,
    Timeout(bool),
    Unlose,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1usize..8).prop_map(Step::Send),
        8 => (0usize..40, 1usize..5).prop_map(|(a, n)| Step::Sack(a, n)),
        4 => (1usize..6).prop_map(Step::Ack),
        6 => Just(Step::Repair),
        2 => Just(Step::RepairUnsacked),
        1 => any::<bool>().prop_map(Step::Timeout),
        1 => Just(Step::Unlose),
    ]
}

fn agree(board: &mut Scoreboard, naive: &Naive) -> Result<(), TestCaseError> {
    prop_assert_eq!(board.una(), naive.acked as u64 * MSS);
    prop_assert_eq!(board.nxt(), naive.sent as u64 * MSS);
    prop_assert_eq!(board.pipe(), naive.pipe());
    prop_assert_eq!(board.sacked_bytes(), (naive.acked..naive.sent).filter(|k| naive.sacked[*k]).count() as u64 * MSS);
    prop_assert_eq!(board.lost_bytes(), naive.open().filter(|k| naive.lost[*k]).count() as u64 * MSS);
    prop_assert_eq!(board.copies(), naive.open().filter(|k| naive.again[*k]).count() as u64 * MSS);
    prop_assert_eq!(board.next_lost_segment(), naive.rule_1().map(segment));
    prop_assert_eq!(board.next_unsacked_segment(), naive.rule_3().map(segment));
    prop_assert_eq!(board.last_unsacked_segment(), naive.rule_4().map(segment));
    prop_assert_eq!(board.rescue(), naive.rule_4().filter(|k| !naive.again[*k]).map(segment));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2000)))]

    #[test]
    fn agrees_with_the_naive_scoreboard(steps in proptest::collection::vec(step(), 1..120)) {
        let mut board = Scoreboard::new(MSS);
        let mut naive = Naive::default();
        let mut now = Time::ZERO;
        for step in steps {
            now += Delta::from_us(1);
            match step {
                Step::Send(n) => {
                    for _ in 0..n {
                        board.send_new(now, MSS, Snapshot::default());
                        naive.sent += 1;
                        naive.sacked.push(false);
                        naive.again.push(false);
                        naive.ever.push(false);
                        naive.lost.push(false);
                    }
                }
                Step::Sack(a, n) => {
                    let (begin, end) = (naive.acked + a, naive.acked + a + n);
                    let mut t = tally();
                    board.sack(Range::new(segment(begin).begin, segment(end).begin), &mut t);
                    let fresh = (begin..end.min(naive.sent)).filter(|k| !naive.sacked[*k]).count() as u64;
                    prop_assert_eq!((t.sacked_segments, t.bytes), (fresh, fresh * MSS));
                    for k in begin..end.min(naive.sent) {
                        naive.sacked[k] = true;
                    }
                    if fresh > 0 {
                        board.lose_by_sack(THRESHOLD);
                        naive.judge();
                    }
                }
                Step::Ack(n) => {
                    let before = naive.acked;
                    naive.acked = (naive.acked + n).min(naive.sent);
                    let mut t = tally();
                    board.acknowledge(naive.acked as u64 * MSS, &mut t);
                    let fresh = (before..naive.acked).filter(|k| !naive.sacked[*k]).count() as u64;
                    prop_assert_eq!(t.bytes, fresh * MSS);
                    prop_assert_eq!(t.again, (before..naive.acked).any(|k| naive.ever[k]));
                }
                Step::Repair => {
                    if let Some(range) = board.next_lost_segment() {
                        board.send_again(now, range.begin, Snapshot::default(), false);
                        let k = (range.begin / MSS) as usize;
                        (naive.again[k], naive.ever[k]) = (true, true);
                    }
                }
                Step::RepairUnsacked => {
                    if let Some(range) = board.next_unsacked_segment() {
                        board.send_again(now, range.begin, Snapshot::default(), false);
                        let k = (range.begin / MSS) as usize;
                        (naive.again[k], naive.ever[k]) = (true, true);
                    }
                }
                Step::Timeout(forget) => {
                    board.lose_at_timeout(now, None, forget);
                    for k in naive.acked..naive.sent {
                        naive.sacked[k] &= !forget;
                        naive.again[k] = false;
                        naive.lost[k] = !naive.sacked[k];
                    }
                }
                Step::Unlose => {
                    board.unlose();
                    board.begin_recovery();
                    naive.lost.fill(false);
                    // Judged again at the next block.
                }
            }
            agree(&mut board, &naive)?;
        }
    }

    /// Whatever offsets an ACK names, the counts stay those of the records.
    #[test]
    fn odd_offsets_keep_the_counts(
        lens in proptest::collection::vec(1u64..=MSS, 1..40),
        steps in proptest::collection::vec((0u64..4000, 1u64..500, any::<bool>()), 1..40),
    ) {
        let mut board = Scoreboard::new(MSS);
        for len in lens {
            board.send_new(Time::ZERO, len, Snapshot::default());
        }
        let mut delivered = 0;
        for (at, len, cumulative) in steps {
            let mut t = tally();
            if cumulative {
                board.acknowledge((board.una() + len).min(board.nxt()), &mut t);
            } else {
                board.sack(Range::new(at, at + len), &mut t);
                board.lose_by_sack(THRESHOLD);
                if let Some(range) = board.next_lost_segment() {
                    board.send_again(Time::ZERO, range.begin, Snapshot::default(), false);
                }
            }
            delivered += t.bytes;
            let count = |flag| board.records.iter().filter(|r| r.is(flag)).map(Record::bytes).sum::<u64>();
            prop_assert_eq!(board.sacked_bytes(), count(SACKED));
            prop_assert_eq!(board.lost_bytes(), count(LOST));
            prop_assert_eq!(board.copies(), count(COPY));
            prop_assert_eq!(board.outstanding(), board.records.iter().map(Record::bytes).sum::<u64>());
            prop_assert_eq!(delivered, board.una() + board.sacked_bytes());
            let waiting = board.records.iter().filter(|r| r.is(LOST) && !r.is(COPY)).count();
            prop_assert_eq!(board.waits(), waiting > 0);
            prop_assert_eq!(board.next_lost_segment().is_some(), waiting > 0);
        }
    }
}

/// A retransmission sent before something that has arrived, and long enough ago, is lost (RFC 8985 §6.2 step 5).
#[test]
fn lost_retransmissions_are_found_by_time() {
    let at = |ms: u64| Time::ZERO + Delta::from_ms(ms);
    let mut board = Scoreboard::new(MSS);
    for k in 0..6 {
        board.send_new(at(k), MSS, Snapshot::default());
    }
    // 1 to 3 are sacked; 0 was sent before them.
    board.sack(Range::new(100, 400), &mut tally());
    assert_eq!(board.lose_by_time(at(40), (at(3), 400), Delta::from_ms(30)), None);
    assert_eq!((board.lost_bytes(), board.next_lost_segment()), (100, Some(segment(0))));
    board.send_again(at(40), 0, Snapshot::default(), true);
    board.send_new(at(41), MSS, Snapshot::default());
    assert_eq!((board.pipe(), board.next_lost_segment()), (400, None));
    // The segment sent after the repair arrives: the repair has until 70 ms.
    board.sack(segment(6), &mut tally());
    assert_eq!(board.lose_by_time(at(69), (at(41), 700), Delta::from_ms(30)), Some(at(70)));
    assert_eq!((board.copies(), board.lost_retransmissions()), (100, 0));
    assert_eq!(board.lose_by_time(at(70), (at(41), 700), Delta::from_ms(30)), None);
    assert_eq!((board.lost_retransmissions(), board.next_lost_segment()), (1, Some(segment(0))));
    assert_eq!(board.lost_bytes(), 300, "4 and 5 were sent long ago, too");
}

#[test]
fn a_record_is_small() {
    assert!(size_of::<Record>() <= 32);
}
