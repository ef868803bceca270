//! `mlcc`: three short control loops where one long one would be slow, with the help of the switches that join datacenters.
//!
//! Source: Zhao et al., "Efficient Cross-Datacenter Congestion Control with Fast Control Loops", ICPP 2025. `spec/mlcc.md`
//! lists the points that the paper leaves open, and our own additions.
//!
//! The model in five lines:
//! - near source: the sender's DCI switch takes the telemetry off data and sends it back, so that the sender's datacenter answers within
//!   its own RTT;
//! - receiver-driven: each flow has a queue at the receiver's DCI switch, which gives out packets at the rate R_credit that the receiver
//!   computes from the telemetry of its datacenter, once per RTT of that (a round: C_R goes out with an ACK, and comes back as C_D);
//! - DQM: each round the receiver predicts that queue one long RTT ahead, and asks for the rate that brings its delay to D_t within θ;
//! - end to end: that rate, smoothed, reaches the sender with the ACKs; it sends at the lower of the two rates (Eq. 10);
//! - flows inside a datacenter follow the same rate law from end to end.
//!
//! ```text
//!   sender ---- data ----> DCI ======= long haul =======> DCI [queue of the flow] ---- data: C_D, Q_c ----> receiver
//!     ^  <-- telemetry ---'                                ^        rate <--- C_R, R_credit ---------------- rate law
//!     '---------------------------------- R_DQM, smoothed ----------------------------------------------------- DQM
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | here | the sender |
//! | [`params`] | parameters |
//! | [`wire`] | the header fields |
//! | [`law`] | HPCC or PowerTCP as a law from telemetry to a rate |
//! | [`dci`] | the switch halves |
//! | [`receiver`] | the credit-driven algorithm |
//! | [`dqm`] | queue prediction and smoothing |

pub mod dci;
pub mod dqm;
pub mod law;
pub mod params;
pub mod receiver;
pub mod wire;

use crate::api::*;
use crate::int::IntRecord;
use dci::DciPort;
use farloop_units::{Bytes, Delta, Rate, Time};
use law::{RateLaw, Step};
pub use params::{Law, MlccParams, Smoothing};
use receiver::MlccReceiver;
use wire::{AckHeader, DataHeader};

/// MLCC: see the header of this file.
pub struct Mlcc;

impl Algorithm for Mlcc {
    const NAME: &'static str = "mlcc";
    const SUMMARY: &'static str =
        "short loops through DCI switches: telemetry sent back near the source, credits near the receiver";
    const SOURCE: &'static str = "Zhao et al., ICPP 2025; rate law: HPCC, SIGCOMM 2019";
    const NEEDS: Needs = Needs {
        int: true,
        header_bytes: wire::BYTES,
        fields: 1,
        port_agent: true,
        border_agent: true,
        symmetric: true,
        ..Needs::NONE
    };
    const NEEDS_REASON: &'static str =
        "telemetry, halves in DCI switches that write into passing ACKs; C_D and Q_c, C_R, R_credit and R_DQM";
    const LISTED: Listed = Listed::AcrossDatacenters("MLCC");
    type Params = MlccParams;
    type Sender = MlccSender;
    type Receiver = MlccReceiver;
    type Port = DciPort;

    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "mlcc-powertcp",
            summary: "MLCC with PowerTCP's law in its short loops",
            settings: &[("law", "powertcp", "the preset")],
        },
        Preset {
            name: "mlcc-printed",
            summary: "MLCC with the smoothing of Eqs. 6-9 as printed",
            settings: &[("smoothing", "printed", "the preset: MLCC, Eqs. 6-9")],
        },
    ];

    fn sender(params: &MlccParams, flow: &FlowInfo) -> MlccSender {
        MlccSender::new(params, flow)
    }
    fn receiver(params: &MlccParams, flow: &FlowInfo) -> MlccReceiver {
        MlccReceiver::new(params, flow)
    }
    fn port(params: &MlccParams, port: &PortInfo) -> Option<DciPort> {
        DciPort::new(params, port)
    }
}

/// The sender half of [`Mlcc`].
pub struct MlccSender(Kind);

enum Kind {
    /// Inside a datacenter: the rate law from end to end.
    Intra(Box<RateLaw>),
    /// Across datacenters.
    Cross(Box<CrossSender>),
}

/// A flow across datacenters.
struct CrossSender {
    /// The near-source loop, which gives R_NS.
    near: RateLaw,
    /// Where its current round ends: one RTT inside the datacenter after it began.
    round_end: Time,
    round: Delta,
    /// R_DQM, smoothed, as the last ACK brought it; before that the initial rate.
    end_to_end: Rate,
    /// When the next packet asks for its telemetry.
    next_request: Time,
    feedback_interval: Delta,
    control: Control,
}

impl MlccSender {
    fn new(p: &MlccParams, flow: &FlowInfo) -> MlccSender {
        if !flow.crosses {
            return MlccSender(Kind::Intra(Box::new(RateLaw::new(p, flow, flow.base_rtt))));
        }
        let near = RateLaw::new(p, flow, flow.intra_rtt);
        let feedback_interval = p.feedback_interval.unwrap_or(Delta::from_ps(flow.intra_rtt.as_ps() / 8));
        MlccSender(Kind::Cross(Box::new(CrossSender {
            near,
            round_end: Time::ZERO,
            round: flow.intra_rtt,
            end_to_end: flow.initial_rate,
            next_request: Time::ZERO,
            feedback_interval,
            control: Control { cwnd: Bytes::MAX, pacing: flow.initial_rate },
        })))
    }
}

impl CrossSender {
    /// R_MLCC = min(R_NS, R̄_DQM) (Eq. 10).
    fn combine(&mut self) {
        self.control.pacing = self.near.rate().min(self.end_to_end).max(Rate::from_bps(1));
    }
}

impl Sender for MlccSender {
    #[inline]
    fn control(&self) -> Control {
        match &self.0 {
            Kind::Intra(law) => law.control(),
            Kind::Cross(cross) => cross.control,
        }
    }

    fn fields(&mut self, ctx: &mut Ctx<'_>, _: &Sent) -> Fields {
        let Kind::Cross(cross) = &mut self.0 else { return DataHeader::default().fields() };
        let reflect = ctx.now() >= cross.next_request;
        if reflect {
            cross.next_request = ctx.now().saturating_add(cross.feedback_interval);
        }
        DataHeader { crosses: true, reflect, ..DataHeader::default() }.fields()
    }

    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        match &mut self.0 {
            Kind::Intra(law) => law.on_ack(ctx, ack),
            Kind::Cross(cross) => {
                if let Some(rate) = AckHeader::from_fields(ack.fields).and_then(|header| header.dqm) {
                    cross.end_to_end = rate;
                    cross.combine();
                }
            }
        }
    }

    /// Losses are the endpoint's business.
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}

    fn on_telemetry(&mut self, ctx: &mut Ctx<'_>, int: &[IntRecord]) {
        let Kind::Cross(cross) = &mut self.0 else { return };
        let step = if ctx.now() >= cross.round_end { Step::NewRound } else { Step::SameRound };
        if cross.near.react(ctx, int, step) && step == Step::NewRound {
            cross.round_end = ctx.now().saturating_add(cross.round);
        }
        cross.combine();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow, hop};

    fn us(us: u64) -> Delta {
        Delta::from_us(us)
    }

    fn bench(cross: bool) -> Bench<MlccSender> {
        Bench::new(MlccSender::new(&MlccParams { w_ai_fraction: 0.0, ..MlccParams::default() }, &flow(cross)))
    }

    fn dqm(rate: Rate) -> Fields {
        AckHeader { round: 1, credit: None, dqm: Some(rate) }.fields()
    }

    #[test]
    fn starts_at_line_rate_and_sends_at_the_lower_of_the_two_rates() {
        let mut b = bench(true);
        assert_eq!(b.sender.control(), Control { cwnd: Bytes::MAX, pacing: Rate::from_gbps(100) });
        let fields = dqm(Rate::from_gbps(40));
        let control = b.ack(&Ack { fields: fields.as_slice(), ..ack(1, 1, 10) });
        assert_eq!(control.pacing, Rate::from_gbps(40));
        // Near the source a hop is full, with a tenth of its BDP (32 us at 100 Gbps: 400,000 B) queued: R_NS = 100·0.95/1.1.
        b.call(|s, ctx| s.on_telemetry(ctx, &[hop(us(0), 0, 40_000)]));
        b.now = Time::ZERO + us(32);
        b.call(|s, ctx| s.on_telemetry(ctx, &[hop(us(32), 400_000, 40_000)]));
        assert_eq!(b.sender.control().pacing, Rate::from_gbps(40));
        let fields = dqm(Rate::from_gbps(90));
        let control = b.ack(&Ack { fields: fields.as_slice(), ..ack(2, 1, 10) });
        assert_eq!(control.pacing.as_bps() / 1_000_000, 86_363);
    }

    #[test]
    fn near_the_source_the_reference_moves_once_per_round() {
        let mut b = bench(true);
        let mut tell = |at: u64, int: IntRecord| {
            b.now = Time::ZERO + us(at);
            b.call(|s, ctx| s.on_telemetry(ctx, &[int]));
            (b.sender.control().pacing.as_bps() + 500_000) / 1_000_000
        };
        tell(0, hop(us(0), 0, 40_000));
        let congested = |n: u64| hop(us(32 * n), 400_000 * n, 40_000);
        assert_eq!(tell(32, congested(1)), 86_364);
        // The same load again in the same round: the same answer, from the same reference, which is by now the new one.
        assert_eq!([tell(40, congested(2)), tell(50, congested(3)), tell(60, congested(4))], [74_587; 3]);
        assert_eq!(tell(70, congested(5)), 74_587, "the first of the next round takes that for its reference");
        assert_eq!(tell(71, congested(6)), 64_416);
    }

    #[test]
    fn packets_ask_for_telemetry_no_more_often_than_the_interval() {
        let mut b = bench(true);
        let sent =
            Sent { seq: Bytes::ZERO, payload: Bytes::new(1460), in_flight: Bytes::new(1460), retransmission: false };
        let asks: Vec<u64> = (0..16)
            .filter(|t| {
                b.now = Time::ZERO + us(*t);
                DataHeader::from_fields(b.call(|s, ctx| s.fields(ctx, &sent)).as_slice()).expect("one").reflect
            })
            .collect();
        // RTT_D / 8 = 4 us.
        assert_eq!(asks, [0, 4, 8, 12]);
        let header = DataHeader::from_fields(bench(false).call(|s, ctx| s.fields(ctx, &sent)).as_slice()).expect("one");
        assert!(!header.crosses && !header.reflect);
    }

    #[test]
    fn inside_a_datacenter_it_is_its_rate_law() {
        use crate::algorithms::hpcc::{HpccParams, HpccSender};
        let params = HpccParams { w_ai_fraction: 0.02, ..HpccParams::default() };
        let mut hpcc = Bench::new(HpccSender::new(&params, &flow(false)));
        let mut mlcc = Bench::new(MlccSender::new(&MlccParams::default(), &flow(false)));
        for n in 0..50 {
            let int = [hop(us(7 * n), 60_000 * n, 1000 * (n % 9))];
            let ack = Ack { int: &int, ..ack(1 + 40 * n, 40, 200) };
            assert_eq!(hpcc.ack(&ack), mlcc.ack(&ack));
        }
    }

    #[test]
    fn an_ack_without_fields_changes_nothing() {
        let mut b = bench(true);
        let before = b.sender.control();
        assert_eq!(b.ack(&ack(1, 1, 10)), before);
    }
}
