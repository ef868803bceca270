//! The credit-driven algorithm (§3.2.2, Algorithm 1): the receiver sets the rate at which the DCI switch of its datacenter gives out a
//! flow's packets.
//!
//! ```text
//!   data with C_D --- C_D >= C_R? --- yes: a round has ended --> C_R = C_D + 1; rate law, new reference; DQM
//!                          |
//!                          no --> rate law, same reference
//!   ACK: C_R, R_credit, R̄_DQM
//! ```
//!
//! Ours: `>=` for the printed `==`, which a lost ACK would stop for ever; the law answers each packet, not each round.

use super::dqm::Dqm;
use super::law::{RateLaw, Step};
use super::params::MlccParams;
use super::wire::{AckHeader, DataHeader};
use crate::api::*;
use farloop_units::Rate;

/// The receiver half of [`Mlcc`](super::Mlcc).
pub struct MlccReceiver(Option<Box<Crediting>>);

/// The state of a receiver whose flow crosses datacenters.
struct Crediting {
    /// Gives R_credit, with the round-trip time inside the datacenter.
    law: RateLaw,
    dqm: Dqm,
    /// C_R.
    round: u32,
    min_rate: Rate,
    answer: Fields,
}

impl MlccReceiver {
    /// For a flow's receiver.
    pub fn new(p: &MlccParams, flow: &FlowInfo) -> MlccReceiver {
        MlccReceiver(flow.crosses.then(|| {
            let law = RateLaw::new(p, flow, flow.intra_rtt);
            let min_rate = p.min_rate.min(flow.line_rate).max(Rate::from_bps(1));
            Box::new(Crediting {
                law,
                dqm: Dqm::new(p, flow),
                round: 1,
                min_rate,
                answer: AckHeader::default().fields(),
            })
        }))
    }
}

impl Receiver for MlccReceiver {
    fn on_data(&mut self, ctx: &mut Ctx<'_>, data: &Data<'_>) -> Feedback {
        if let Some(crediting) = &mut self.0 {
            crediting.answer = crediting.answer_to(ctx, data).fields();
        }
        Feedback { ecn_echo: data.ecn_marked }
    }

    fn fields(&mut self, _: &Data<'_>) -> Fields {
        self.0.as_ref().map_or_else(|| AckHeader::default().fields(), |crediting| crediting.answer)
    }
}

impl Crediting {
    fn answer_to(&mut self, ctx: &mut Ctx<'_>, data: &Data<'_>) -> AckHeader {
        let header = DataHeader::from_fields(data.fields).unwrap_or_default();
        // A flow that came past no DCI switch of the receiver's has nobody to take its credit.
        let Some((round, queue)) = header.credit else { return AckHeader::default() };
        let ended = round >= self.round;
        self.law.react(ctx, data.int, if ended { Step::NewRound } else { Step::SameRound });
        let credit = self.law.rate().max(self.min_rate);
        if ended {
            self.round = round.saturating_add(1);
            self.dqm.end_round(ctx.now(), credit.as_f64(), queue);
        }
        let dqm = self.dqm.on_packet(credit.as_f64());
        AckHeader { round: self.round, credit: Some(credit), dqm: Some(dqm) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, hop};
    use farloop_engine::RandomStream;
    use farloop_units::{Bytes, Delta, Time};

    struct Bench {
        receiver: MlccReceiver,
        packets: u64,
    }

    impl Bench {
        fn new() -> Bench {
            let params = MlccParams { w_ai_fraction: 0.0, ..MlccParams::default() };
            Bench { receiver: MlccReceiver::new(&params, &flow(true)), packets: 0 }
        }

        /// A packet comes over a full hop with a tenth of its BDP queued, 32 us after the one before.
        fn packet(&mut self, credit: Option<(u32, Bytes)>) -> AckHeader {
            let n = self.packets;
            self.packets += 1;
            let fields = DataHeader { crosses: true, reflect: false, credit }.fields();
            let data = Data {
                seq: Bytes::ZERO,
                payload: Bytes::new(1460),
                ecn_marked: false,
                int: &[hop(Delta::from_us(32 * n), 400_000 * n, 40_000)],
                fields: fields.as_slice(),
            };
            let (mut random, mut effects) = (RandomStream::new(1, "receiver", 0), Vec::new());
            let now = Time::ZERO + Delta::from_us(32 * n);
            self.receiver.on_data(&mut Ctx::new(now, &mut random, &mut effects), &data);
            AckHeader::from_fields(self.receiver.fields(&data).as_slice()).expect("one")
        }
    }

    fn mbps(rate: Option<Rate>) -> u64 {
        rate.expect("a rate").as_bps() / 1_000_000
    }

    #[test]
    fn a_round_ends_when_its_number_comes_back() {
        let mut b = Bench::new();
        let queue = Bytes::new(1000);
        let first = b.packet(Some((0, queue)));
        assert_eq!((first.round, mbps(first.credit)), (1, 100_000), "the first packet only stores");
        // 100·0.95/1.1 from the same reference until C_D = 1 comes.
        assert_eq!(
            [b.packet(Some((0, queue))), b.packet(Some((0, queue)))].map(|a| (a.round, mbps(a.credit))),
            [(1, 86_363); 2]
        );
        let ended = b.packet(Some((1, queue)));
        assert_eq!((ended.round, mbps(ended.credit)), (2, 86_363));
        assert_eq!(mbps(b.packet(Some((1, queue))).credit), 74_586);
    }

    #[test]
    fn a_lost_round_and_a_switch_that_counts_anew_stop_nothing() {
        let mut b = Bench::new();
        b.packet(Some((0, Bytes::ZERO)));
        assert_eq!(b.packet(Some((5, Bytes::ZERO))).round, 6, "ACKs 2 to 5 were lost, the switch was ahead");
        // The switch has forgotten everything, until an ACK passes.
        assert_eq!(b.packet(Some((0, Bytes::ZERO))).round, 6);
        assert_eq!(b.packet(Some((6, Bytes::ZERO))).round, 7);
        assert_eq!(b.packet(Some((u32::MAX, Bytes::ZERO))).round, u32::MAX);
    }

    #[test]
    fn without_a_dci_switch_on_the_way_there_is_no_credit() {
        let mut b = Bench::new();
        assert_eq!(b.packet(None), AckHeader::default());
        let mut intra = MlccReceiver::new(&MlccParams::default(), &flow(false));
        let data = Data { seq: Bytes::ZERO, payload: Bytes::new(1), ecn_marked: false, int: &[], fields: &[0] };
        assert_eq!(AckHeader::from_fields(intra.fields(&data).as_slice()), Some(AckHeader::default()));
    }
}
