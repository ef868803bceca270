//! `fixed`: a constant window and rate, no reaction to anything.
//!
//! The tool for physics: queueing theory, ideal completion times, incast at a given pressure.

use crate::api::*;
use farloop_units::{Bytes, Rate};

farloop_units::params! {
    /// Parameters of [`Fixed`].
    pub struct FixedParams {
        /// Congestion window in payload bytes; "none" for no limit.
        cwnd: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000_000)),
            from "no limit: what the algorithm is for";
        /// Pacing rate; "none" for the flow's initial rate.
        rate: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(10_000)),
            from "the flow's initial rate: what the algorithm is for";
    }
}

/// A constant window and rate.
pub struct Fixed;

impl Algorithm for Fixed {
    const NAME: &'static str = "fixed";
    const SUMMARY: &'static str = "constant window and rate, no reaction to congestion";
    const SOURCE: &'static str = "none: a tool for experiments";
    const NEEDS: Needs = Needs { exact_window: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "it has no signal, and is for experiments with its window";
    type Params = FixedParams;
    type Sender = FixedSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &FixedParams, flow: &FlowInfo) -> FixedSender {
        let cwnd = params.cwnd.or(flow.initial_cwnd).unwrap_or(Bytes::MAX);
        FixedSender(Control { cwnd, pacing: params.rate.unwrap_or(flow.initial_rate) })
    }
    fn receiver(_: &FixedParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Fixed`].
pub struct FixedSender(Control);

impl Sender for FixedSender {
    fn control(&self) -> Control {
        self.0
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &Ack<'_>) {}
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}
