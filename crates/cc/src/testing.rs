//! A bench for algorithms without a network: feed signals by hand, read windows and rates, record the effects; or feed whatever may come
//! ([`torture`]). For algorithms from elsewhere as for those that come with farloop.

pub mod plugins;

use crate::api::*;
use crate::int::{IntRecord, RateCode};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate, Time};
#[cfg(any(test, feature = "testing"))]
use proptest::prelude::*;

/// The flow of most unit tests: 100 Gbps, 1460 B of payload in 1538 B on the wire, 32 µs inside a datacenter, 50 ms across.
pub fn flow(cross: bool) -> FlowInfo {
    FlowInfo {
        base_rtt: if cross { Delta::from_ms(50) } else { Delta::from_us(32) },
        intra_rtt: Delta::from_us(32),
        line_rate: Rate::from_gbps(100),
        peer_rate: Rate::from_gbps(100),
        initial_rate: Rate::from_gbps(100),
        initial_cwnd: None,
        ssthresh: None,
        mss: Bytes::new(1460),
        packet: Bytes::new(1538),
        crosses: cross,
        go_back_n: false,
        trims: false,
    }
}

/// A port of most unit tests: 100 Gbps, 16 MB of buffer.
pub const fn port(border: Border) -> PortInfo {
    let (rate, buffer) = (Rate::from_gbps(100), Bytes::new(16_000_000));
    PortInfo { rate, buffer, switch: 0, port: 0, border, intra_rtt: Delta::from_us(32) }
}

/// An ACK of `segments` segments of [`flow`] that ends at segment `end`, with `in_flight` segments still out: 32 µs, unmarked, without
/// telemetry.
pub fn ack(end: u64, segments: u64, in_flight: u64) -> Ack<'static> {
    Ack {
        fields: &[],
        acked: Bytes::new(1460 * segments),
        ack_seq: Bytes::new(1460 * end),
        snd_nxt: Bytes::new(1460 * (end + in_flight)),
        in_flight: Bytes::new(1460 * in_flight),
        rtt: Some(Delta::from_us(32)),
        ecn_echo: false,
        ce: None,
        in_recovery: false,
        app_limited: false,
        delivery: None,
        int: &[],
    }
}

/// The first hop's record at 100 Gbps: time since the start, bytes sent, queue.
pub fn hop(ts: Delta, tx: u64, qlen: u64) -> IntRecord {
    hop_at(0, ts, tx, qlen)
}

/// The same of any hop.
pub fn hop_at(number: u8, ts: Delta, tx: u64, qlen: u64) -> IntRecord {
    let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
    IntRecord::new(Time::ZERO + ts, Bytes::new(tx), Bytes::new(qlen), code, number)
}

/// Drives one sender by hand.
pub struct Bench<S> {
    /// The sender under test.
    pub sender: S,
    /// The time of the next call.
    pub now: Time,
    /// Effects of the last call.
    pub effects: Vec<Effect>,
    random: RandomStream,
}

impl<S: Sender> Bench<S> {
    /// Starts `sender` at time zero.
    pub fn new(sender: S) -> Bench<S> {
        let mut bench =
            Bench { sender, now: Time::ZERO, effects: Vec::new(), random: RandomStream::new(1, "bench", 0) };
        bench.call(|s, ctx| s.on_start(ctx));
        bench
    }

    /// Calls any handler at the bench's time.
    pub fn call<R>(&mut self, f: impl FnOnce(&mut S, &mut Ctx<'_>) -> R) -> R {
        self.effects.clear();
        let mut ctx = Ctx::new(self.now, &mut self.random, &mut self.effects);
        f(&mut self.sender, &mut ctx)
    }

    /// Delivers an ACK.
    pub fn ack(&mut self, ack: &Ack<'_>) -> Control {
        self.call(|s, ctx| s.on_ack(ctx, ack));
        self.sender.control()
    }

    /// Reports a loss.
    pub fn loss(&mut self, kind: LossKind, in_flight: Bytes, snd_nxt: Bytes) -> Control {
        self.call(|s, ctx| s.on_loss(ctx, &Loss { kind, in_flight, snd_nxt }));
        self.sender.control()
    }
}

/// One step of a torture run; all numbers are arbitrary bits that [`torture`] scales.
#[derive(Clone, Debug)]
pub struct AnySignal {
    kind: u8,
    gap: u32,
    a: u32,
    b: u32,
    flag: bool,
}

/// `count` signals, the same for the same `seed`.
pub fn signals(seed: u64, count: usize) -> Vec<AnySignal> {
    let mut random = RandomStream::new(seed, "signals", 0);
    let signal = |_| {
        let (x, y) = (random.bits(), random.bits());
        AnySignal { kind: x as u8, flag: x & 256 > 0, gap: (x >> 32) as u32, a: y as u32, b: (y >> 32) as u32 }
    };
    (0..count).map(signal).collect()
}

/// Any sequence of signals, for property tests.
#[cfg(any(test, feature = "testing"))]
pub fn any_signals() -> impl Strategy<Value = Vec<AnySignal>> {
    let signal = (any::<u8>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>())
        .prop_map(|(kind, gap, a, b, flag)| AnySignal { kind, gap, a, b, flag });
    proptest::collection::vec(signal, 1..200)
}

/// Feeds `signals` to `sender` and asserts after each that window and rate are usable: the window at least one byte, the
/// rate at least 1 bit/s, and no panic on the way (overflow checks are on in tests). Returns them after each signal, so
/// that a test can compare two senders.
pub fn torture<S: Sender>(sender: &mut S, flow: &FlowInfo, signals: &[AnySignal], name: &str) -> Vec<Control> {
    feed(sender, flow, signals, name, true)
}

/// As [`torture`], by an endpoint that skips [`Sender::on_send`].
#[cfg(test)]
pub(crate) fn torture_without_on_send<S: Sender>(
    sender: &mut S,
    flow: &FlowInfo,
    signals: &[AnySignal],
    name: &str,
) -> Vec<Control> {
    feed(sender, flow, signals, name, false)
}

fn feed<S: Sender>(
    sender: &mut S,
    flow: &FlowInfo,
    signals: &[AnySignal],
    name: &str,
    calls_on_send: bool,
) -> Vec<Control> {
    let mut random = RandomStream::new(1, "torture", 0);
    let (mut effects, mut controls) = (Vec::new(), Vec::with_capacity(signals.len()));
    let (mut now, mut una, mut nxt, mut tx) = (Time::ZERO, 0u64, 0u64, 0u64);
    let mss = flow.mss.get();
    sender.on_start(&mut Ctx::new(now, &mut random, &mut effects));
    for s in signals {
        now += Delta::from_ps(u64::from(s.gap) * if s.flag { 1 } else { 30 });
        effects.clear();
        let mut ctx = Ctx::new(now, &mut random, &mut effects);
        let in_flight = Bytes::new(nxt - una);
        match s.kind % 8 {
            0 | 1 => {
                nxt += mss;
                let sent = Sent { seq: Bytes::new(nxt - mss), payload: flow.mss, in_flight, retransmission: s.flag };
                if calls_on_send {
                    sender.on_send(&mut ctx, &sent);
                }
            }
            2..=4 => {
                nxt += mss * u64::from(s.a % 64);
                let acked = (mss * u64::from(s.b % 70)).min(nxt - una);
                una += acked;
                tx += u64::from(s.a);
                let since = now.since(Time::ZERO);
                let prior = una - (u64::from(s.a) * mss / 16).min(una);
                let delivery = (s.gap % 4 > 0).then(|| Delivery {
                    delivered: Bytes::new(una),
                    prior_delivered: Bytes::new(prior),
                    interval: Delta::from_ps(u64::from(s.gap / 4) * 1000),
                    app_limited: s.a.is_multiple_of(3),
                    lost: Bytes::new(mss * u64::from(s.b % 5)),
                });
                let int = [hop(since, tx, u64::from(s.b)), hop_at(1 + (s.a % 31) as u8, since, tx / 2, 0)];
                let ack = Ack {
                    fields: &[],
                    acked: Bytes::new(acked),
                    ack_seq: Bytes::new(una),
                    snd_nxt: Bytes::new(nxt),
                    in_flight: Bytes::new(nxt - una),
                    rtt: (!s.b.is_multiple_of(4)).then_some(flow.base_rtt + Delta::from_ps(u64::from(s.b))),
                    ecn_echo: s.flag,
                    ce: s
                        .a
                        .is_multiple_of(3)
                        .then(|| Marked { packets: s.b % 9, bytes: Bytes::new(u64::from(s.b % 9) * mss) }),
                    in_recovery: s.a.is_multiple_of(5),
                    app_limited: s.a.is_multiple_of(7),
                    delivery,
                    int: &int[..(s.gap % 3) as usize],
                };
                sender.on_ack(&mut ctx, &ack);
            }
            5 => {
                let kind = [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Spurious][(s.a % 3) as usize];
                sender.on_loss(&mut ctx, &Loss { kind, in_flight, snd_nxt: Bytes::new(nxt) });
                let kind =
                    [PacketLossKind::Trimmed, PacketLossKind::Overtaken, PacketLossKind::Timeout][(s.b % 3) as usize];
                let payload = Bytes::new(u64::from(s.a) % (mss + 1));
                let rtt = s.flag.then(|| Delta::from_ps(u64::from(s.b)));
                let loss =
                    PacketLoss { kind, payload, in_flight: in_flight.saturating_sub(payload), rtt, last_hop: s.flag };
                sender.on_packet_loss(&mut ctx, &loss);
                sender.on_credit(&mut ctx, Bytes::new(u64::from(s.a) << (s.b % 32)));
                sender.credit_demand(Bytes::new(u64::from(s.b) << (s.a % 32)));
            }
            6 => {
                let signal = match s.a % 3 {
                    0 => Signal::Cnp,
                    1 => Signal::Quantized { feedback: (s.b % 64) as u8 },
                    _ => Signal::ReceiveRate { rate: Rate::from_bps(u64::from(s.b) << (s.gap % 32)) },
                };
                sender.on_signal(&mut ctx, &signal);
            }
            _ => sender.on_timer(&mut ctx, TimerId((s.a % TimerId::COUNT as u32) as u8)),
        }
        let control = sender.control();
        assert!(control.cwnd >= Bytes::new(1), "{name}: window {} after {s:?}", control.cwnd);
        assert!(control.pacing >= Rate::from_bps(1), "{name}: rate {} after {s:?}", control.pacing);
        for effect in &effects {
            if let Effect::Arm(timer, at) = effect {
                assert!((timer.0 as usize) < TimerId::COUNT && *at >= now, "{name}: {effect:?} at {now}");
            }
        }
        controls.push(control);
    }
    controls
}
