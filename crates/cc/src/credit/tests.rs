use super::*;
use crate::api::FlowInfo;

/// 400 Gbps, 4096 B, 12 us.
fn host() -> HostInfo {
    HostInfo {
        line_rate: Rate::from_gbps(400),
        mss: Bytes::new(4096),
        base_rtt: Delta::from_us(12),
        oversubscription: 4.0,
    }
}
/// 600,000 B of bandwidth-delay product.
fn info() -> FlowInfo {
    FlowInfo { base_rtt: Delta::from_us(12), line_rate: Rate::from_gbps(400), ..crate::testing::flow(false) }
}
fn core() -> CoreLimits {
    CoreLimits { base_rtt: Delta::from_us(12), target: 0.3, decrease: 0.5, increase: 0.01, weight: 0.5, least: 0.225 }
}
fn pacer(core: Option<CoreLimits>) -> PullPacer {
    PullPacer::new(PullLimits { per_pull: Bytes::new(16_384), share: 0.99, cap: 1.5, core }, &host())
}

/// A pacer, its clock and its randomness.
struct GrantedHost {
    pacer: PullPacer,
    now: Time,
    random: RandomStream,
}

impl GrantedHost {
    fn new(core: Option<CoreLimits>) -> GrantedHost {
        GrantedHost { pacer: pacer(core), now: Time::ZERO, random: RandomStream::new(1, "credit", 0) }
    }
    fn call<R>(&mut self, f: impl FnOnce(&mut PullPacer, &mut GrantCtx<'_>) -> R) -> R {
        f(&mut self.pacer, &mut GrantCtx { now: self.now, random: &mut self.random })
    }
    fn wants(&mut self, flow: u32, total: u64) {
        if !self.pacer.flows.contains_key(&flow) {
            self.pacer.on_begin(flow, info().bdp(), info().packet);
        }
        self.call(|p, ctx| p.on_wanted(ctx, flow, Bytes::new(total)));
    }
    /// The next pull, at its time: flow and total.
    fn pull(&mut self) -> Option<(u32, u64)> {
        self.now = self.pacer.next_pull()?.max(self.now);
        self.call(|p, ctx| p.pull(ctx)).map(|g| (g.flow, g.total.get()))
    }
}

#[test]
fn pulls_go_round_at_just_below_the_link_rate() {
    let mut d = GrantedHost::new(None);
    for flow in [7, 3, 5] {
        d.wants(flow, 10_000_000);
    }
    let first: Vec<_> = (0..6).filter_map(|_| d.pull()).collect();
    assert_eq!(first, [(7, 16_384), (3, 16_384), (5, 16_384), (7, 32_768), (3, 32_768), (5, 32_768)]);
    // (2): 16,384 B at 0.99 · 400 Gbps take 330.99 ns.
    assert_eq!(d.pacer.next_pull().expect("goes on").since(d.now).as_ps(), 330_990);
    let begun = d.now;
    let mut granted = 0;
    while d.now.since(begun) < Delta::from_us(100) {
        d.pull().expect("they want more");
        granted += 16_384;
    }
    let rate = Bytes::new(granted).per(d.now.since(begun)).as_f64() / 400e9;
    assert!((rate - 0.99).abs() < 0.004, "{rate}");
}

#[test]
fn a_flow_gets_what_it_wants_and_then_credit_ahead() {
    let mut d = GrantedHost::new(None);
    d.wants(1, 20_000);
    // (3): 16,384 B, then the rest.
    assert_eq!(d.pull(), Some((1, 16_384)));
    assert_eq!(d.pull(), Some((1, 20_000)));
    // (4): where nobody wants any, up to `most` ahead: 900,000 B are 54.9 pulls.
    let ahead: Vec<_> = std::iter::from_fn(|| d.pull()).collect();
    assert_eq!((ahead.len(), ahead[54].1), (55, 20_000 + 55 * 16_384));
    assert_eq!(d.pacer.next_pull(), None);
    // Less than it was granted is nothing new; more than that wakes it.
    d.wants(1, 500_000);
    assert_eq!(d.pull(), Some((1, 20_000 + 55 * 16_384)), "no credit, as it has more than it wants");
    let again = d.pull().expect("idle again");
    assert_eq!(again, (1, 20_000 + 56 * 16_384));
}

#[test]
fn who_wants_credit_goes_before_who_may_want_some_soon() {
    let mut d = GrantedHost::new(None);
    d.wants(1, 16_384);
    assert_eq!(d.pull(), Some((1, 16_384)));
    d.wants(2, 1_000_000);
    for _ in 0..10 {
        assert_eq!(d.pull().expect("flow 2").0, 2);
    }
    d.call(|p, _| p.on_finish(2));
    assert_eq!(d.pull().expect("flow 1 is left").0, 1);
    d.call(|p, _| p.on_finish(1));
    assert_eq!((d.pacer.next_pull(), d.pull()), (None, None));
}

#[test]
fn a_trim_makes_a_flow_active_again_and_an_empty_pull_takes_time() {
    let mut d = GrantedHost::new(None);
    d.wants(1, 16_384);
    d.pull();
    d.wants(2, 16_384);
    d.call(|p, ctx| p.on_trimmed(ctx, 1, true));
    assert_eq!(d.pull(), Some((2, 16_384)));
    assert_eq!(d.pull(), Some((1, 16_384)), "its turn, with nothing to grant");
    // 1,024 B at 0.99 · 400 Gbps.
    assert_eq!(d.pacer.next_pull().expect("both idle").since(d.now).as_ps(), 20_687);
}

#[test]
fn a_busy_pacer_keeps_its_pace_for_who_comes() {
    let mut d = GrantedHost::new(None);
    d.wants(1, 16_384);
    d.pull();
    d.call(|p, _| p.on_finish(1));
    d.wants(2, 16_384);
    assert_eq!(d.pacer.next_pull().expect("flow 2").as_ps(), 330_990);
}

#[test]
fn the_core_gives_way_to_marks_and_trims() {
    let mut c = CoreControl::new(core());
    // (7) (8): all of 10 marked: g = 0.5; 1 - (0.5 - 0.3)/2 = 0.9.
    (0..10).for_each(|_| c.observe(Arrival::Marked));
    c.step();
    assert!((c.marked - 0.5).abs() < 1e-12 && (c.rate - 0.9).abs() < 1e-12);
    // g = 0.25: + 0.01, and as nothing is marked twice that next, then four times.
    for wanted in [0.91, 0.93, 0.97, 1.0] {
        c.observe(Arrival::Plain);
        c.step();
        assert!((c.rate - wanted).abs() < 1e-12, "{}", c.rate);
    }
    // (6): 2 of 10 trimmed elsewhere take 0.2; the fraction counts the 8 others: 4/8.
    (0..6).for_each(|_| c.observe(Arrival::Plain));
    (0..4).for_each(|_| c.observe(Arrival::Marked));
    (0..2).for_each(|_| c.observe(Arrival::TrimmedElsewhere));
    let before = c.marked;
    c.step();
    assert!((c.rate - 0.8).abs() < 1e-12 && (c.marked - (before / 2.0 + 0.25)).abs() < 1e-12);
    // Trims at the host's own link are the pacer's affair: none of the two.
    c.observe(Arrival::Marked);
    (0..9).for_each(|_| c.observe(Arrival::Plain));
    (0..5).for_each(|_| c.observe(Arrival::TrimmedHere));
    let (rate, g) = (c.rate, c.marked);
    c.step();
    assert!((c.marked - (g / 2.0 + 0.1)).abs() < 1e-12, "1 of the 5 whole ones");
    assert!((c.rate - (rate + 0.01)).abs() < 1e-12, "marked a little: one step, however many before");
}

#[test]
fn the_core_never_falls_below_its_share() {
    let mut c = CoreControl::new(core());
    for _ in 0..100 {
        (0..10).for_each(|_| c.observe(Arrival::Plain));
        (0..9).for_each(|_| c.observe(Arrival::TrimmedElsewhere));
        c.step();
    }
    assert_eq!(c.rate, 0.225);
}

#[test]
fn the_pacer_follows_the_core() {
    let mut d = GrantedHost::new(Some(core()));
    d.wants(1, 100_000_000);
    for _ in 0..200_000 {
        d.pull();
        for _ in 0..4 {
            d.call(|p, ctx| p.on_data(ctx, true));
        }
        if d.now > Time::ZERO + Delta::from_us(600) {
            break;
        }
    }
    // All marked: g goes to 1, and each period takes 35 %: after some periods of 18 us the floor.
    assert_eq!(d.pacer.core_rate(), 0.225);
    d.pull();
    // 16,384 B at 0.225 · 0.99 · 400 Gbps.
    assert_eq!(d.pacer.next_pull().expect("goes on").since(d.now).as_ps(), 1_471_066);
    // A silent second later it is at the whole rate again, at once.
    d.now += Delta::from_secs(1);
    d.call(|p, ctx| p.on_data(ctx, false));
    assert_eq!(d.pacer.core_rate(), 1.0);
}

/// A period is 13.5 to 22.5 us long. The first one begins at zero, not with the first packet at 12 us.
#[test]
fn the_first_period_of_the_core_begins_with_the_simulation() {
    for seed in 0..50 {
        let mut d = GrantedHost { random: RandomStream::new(seed, "credit", 0), ..GrantedHost::new(Some(core())) };
        d.now = Time::ZERO + Delta::from_us(12);
        (0..10).for_each(|_| d.call(|p, ctx| p.on_data(ctx, true)));
        assert_eq!(d.pacer.core_rate(), 1.0);
        d.now = Time::ZERO + Delta::from_ns(22_600);
        d.call(|p, ctx| p.on_data(ctx, true));
        assert!(d.pacer.core_rate() < 1.0, "seed {seed}");
    }
}

/// After a silence, too, packets meet a period that is under way: it ends at any time within the next 22.5 us.
#[test]
fn periods_go_on_through_a_silence() {
    let ends: Vec<u64> = (0..200)
        .map(|seed| {
            let mut d = GrantedHost { random: RandomStream::new(seed, "credit", 0), ..GrantedHost::new(Some(core())) };
            d.now = Time::ZERO + Delta::from_secs(1);
            let mut after = 0;
            while d.pacer.core_rate() == 1.0 {
                d.call(|p, ctx| p.on_data(ctx, true));
                d.now += Delta::from_ns(100);
                after += 1;
            }
            after
        })
        .collect();
    // The mean rest of periods that are uniform from 13.5 to 22.5 us: (18² + 9²/12)/(2·18) = 9.19 us; its standard error is 0.4 us.
    let mean = ends.iter().sum::<u64>() as f64 / 2000.0;
    assert!((mean - 9.19).abs() < 1.2 && ends.iter().all(|end| *end <= 227), "{mean} us");
}
