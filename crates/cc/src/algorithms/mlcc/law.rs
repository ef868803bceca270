//! The rate law of MLCC's short loops: the sender of HPCC or PowerTCP, which gets telemetry by rounds instead of by ACKs.
//!
//! Both laws answer every report, but move what they answer from once per round trip, which they tell by sequence numbers: a round ends
//! when an ACK comes for what was sent after it began. Here a round ends when the loop says so, and counts as one BDP sent and
//! acknowledged.

use super::params::{Law, MlccParams};
use crate::algorithms::hpcc::{HpccParams, HpccSender};
use crate::algorithms::powertcp::{PowerTcp, PowerTcpParams, PowerTcpSender};
use crate::api::*;
use crate::int::IntRecord;
use farloop_units::{Bytes, Delta, Rate};

/// A report's place in its round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The report is the first of a round.
    NewRound,
    /// The report belongs to the current round.
    SameRound,
}

/// A law from telemetry to a rate.
pub struct RateLaw {
    sender: LawSender,
    /// Bytes of a round.
    bdp: u64,
    /// Rounds begun.
    rounds: u64,
}

// As large as each other, and each flow has one or two.
#[allow(clippy::large_enum_variant)]
enum LawSender {
    Hpcc(HpccSender),
    PowerTcp(PowerTcpSender),
}

impl RateLaw {
    /// A law for a loop with the round-trip time `rtt`, which begins at the flow's initial rate.
    pub fn new(p: &MlccParams, flow: &FlowInfo, rtt: Delta) -> RateLaw {
        let flow = FlowInfo { base_rtt: rtt, initial_cwnd: None, ..*flow };
        let sender = match p.law {
            Law::Hpcc => {
                let hpcc = HpccParams::default();
                let hpcc = HpccParams { eta: p.eta, w_ai_fraction: p.w_ai_fraction, min_rate: p.min_rate, ..hpcc };
                LawSender::Hpcc(HpccSender::new(&hpcc, &flow))
            }
            Law::PowerTcp => {
                let beta = flow.bdp().as_f64() * p.w_ai_fraction;
                let params = PowerTcpParams { beta: Some(Bytes::from_f64(beta)), ..PowerTcpParams::default() };
                LawSender::PowerTcp(PowerTcp::sender(&params, &flow))
            }
        };
        RateLaw { sender, bdp: flow.bdp().get().max(1), rounds: 0 }
    }

    /// The law's window and rate.
    pub fn control(&self) -> Control {
        match &self.sender {
            LawSender::Hpcc(sender) => sender.control(),
            LawSender::PowerTcp(sender) => sender.control(),
        }
    }

    /// The law's rate.
    pub fn rate(&self) -> Rate {
        self.control().pacing
    }

    /// As a sender, from end to end.
    pub fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        match &mut self.sender {
            LawSender::Hpcc(sender) => sender.on_ack(ctx, ack),
            LawSender::PowerTcp(sender) => sender.on_ack(ctx, ack),
        }
    }

    /// Answers a report; `false` where it says nothing.
    pub fn react(&mut self, ctx: &mut Ctx<'_>, int: &[IntRecord], step: Step) -> bool {
        if int.is_empty() {
            return false;
        }
        self.rounds += u64::from(step == Step::NewRound);
        let begun = self.rounds * self.bdp;
        let ack = Ack {
            acked: Bytes::new(if step == Step::NewRound { self.bdp } else { 0 }),
            ack_seq: Bytes::new(begun + 1),
            snd_nxt: Bytes::new(begun + self.bdp),
            in_flight: Bytes::new(self.bdp - 1),
            rtt: None,
            ecn_echo: false,
            ce: None,
            in_recovery: false,
            app_limited: false,
            delivery: None,
            int,
            fields: &[],
        };
        self.on_ack(ctx, &ack);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, hop};
    use farloop_engine::RandomStream;
    use farloop_units::Time;

    fn react(law: &mut RateLaw, int: IntRecord, step: Step) -> u64 {
        let (mut random, mut effects) = (RandomStream::new(1, "law", 0), Vec::new());
        law.react(&mut Ctx::new(Time::ZERO, &mut random, &mut effects), &[int], step);
        (law.rate().as_bps() + 500_000) / 1_000_000
    }

    /// Full, and a tenth of the BDP of 400,000 B queued, over T = 32 us each time.
    fn congested(n: u64) -> IntRecord {
        hop(Delta::from_us(32 * n), 400_000 * n, 40_000)
    }

    fn law(law: Law) -> RateLaw {
        let params = MlccParams { law, w_ai_fraction: 0.0, ..MlccParams::default() };
        RateLaw::new(&params, &flow(true), flow(true).intra_rtt)
    }

    #[test]
    fn hpcc_answers_each_report_from_the_rounds_reference() {
        let mut law = law(Law::Hpcc);
        assert_eq!(law.rate(), Rate::from_gbps(100));
        assert_eq!(react(&mut law, congested(0), Step::NewRound), 100_000, "nothing to compare with");
        // U = 1.1: 100·0.95/1.1 Gbps; again within the round, the reference has moved once.
        assert_eq!(react(&mut law, congested(1), Step::NewRound), 86_364);
        assert_eq!(react(&mut law, congested(2), Step::SameRound), 74_587);
        assert_eq!(react(&mut law, congested(3), Step::SameRound), 74_587);
        assert_eq!(react(&mut law, congested(4), Step::NewRound), 74_587);
        assert_eq!(react(&mut law, congested(5), Step::SameRound), 64_416);
    }

    /// Γ = 1.1 without change of the queue: each report takes 0.9 of the way to the window of the round before over Γ.
    #[test]
    fn powertcp_divides_by_the_power() {
        let mut law = law(Law::PowerTcp);
        react(&mut law, congested(0), Step::NewRound);
        let first = react(&mut law, congested(1), Step::NewRound);
        assert_eq!(first, 91_818); // 0.9·100/1.1 + 0.1·100
        let second = react(&mut law, congested(2), Step::SameRound);
        assert_eq!(second, 91_000); // 0.9·100/1.1 + 0.1·91.818
    }
}
