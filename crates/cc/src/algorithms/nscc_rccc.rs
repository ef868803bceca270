//! `nscc-rccc`: both halves of Ultra Ethernet's congestion control at once: the sender's window and the receiver's credit.
//!
//! Source: Ultra Ethernet Specification 1.0, §3.6.13 and §3.6.14, as notes on it give them (KaiLv16/UEC-Notes, Notes/UET-CC.md). Equations:
//! `spec/nscc.md` and `spec/rccc.md`.
//!
//! The model in three lines:
//! - a packet leaves where both the window of `nscc` and the credit of `rccc` allow it;
//! - the credit answers for the last hop: a packet that was trimmed there does not reach the window (13);
//! - the window answers for the core: hosts grant their link's rate, whatever the core's oversubscription.
//!
//! Each half has the rules and parameters of its own file, with the defaults of the preset `nscc-uec`.

use super::nscc::{NsccParams, NsccSender};
use super::rccc::{RcccParams, RcccSender, pull_pacer};
use crate::api::*;
use crate::credit::{Granter, HostInfo};
use farloop_units::{Bytes, ParamError, ParamSpec, Params, Value};

/// Parameters of [`NsccRccc`]: all of [`NsccParams`], and those of [`RcccParams`] that are not for the core. `cap` is of both.
#[derive(Clone, Debug, PartialEq)]
pub struct NsccRcccParams {
    nscc: NsccParams,
    rccc: RcccParams,
}

/// The parameters of RCCC that are also here.
const CREDIT: [&str; 2] = ["packets_per_pull", "share"];
/// The preset of `nscc` that gives the defaults.
const BASE: &str = "nscc-uec";

impl Default for NsccRcccParams {
    fn default() -> NsccRcccParams {
        // The core is the window's.
        NsccRcccParams {
            nscc: NsccParams::ultra_ethernet(),
            rccc: RcccParams { oversubscription: Some(1.0), ..RcccParams::default() },
        }
    }
}

impl Params for NsccRcccParams {
    fn specs() -> Vec<ParamSpec> {
        let mut all = NsccParams::specs();
        all.extend(RcccParams::specs().into_iter().filter(|spec| CREDIT.contains(&&*spec.name)));
        let defaults = Self::default();
        for spec in &mut all {
            let own = defaults.get(&spec.name).flatten();
            if own != spec.default {
                spec.default = own;
                spec.source = BASE.into();
            }
        }
        all
    }
    fn spec_table() -> &'static [ParamSpec] {
        static SPECS: std::sync::OnceLock<Vec<ParamSpec>> = std::sync::OnceLock::new();
        SPECS.get_or_init(Self::specs)
    }
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
        if CREDIT.contains(&name) {
            return self.rccc.set(name, value);
        }
        self.nscc.set(name, value)?;
        self.rccc.cap = self.nscc.cap;
        Ok(())
    }
    fn get(&self, name: &str) -> Option<Option<Value>> {
        if CREDIT.contains(&name) { self.rccc.get(name) } else { self.nscc.get(name) }
    }
}

/// NSCC beside RCCC: see the header of this file.
pub struct NsccRccc;

impl Algorithm for NsccRccc {
    const NAME: &'static str = "nscc-rccc";
    const SUMMARY: &'static str =
        "Ultra Ethernet's sender and receiver at once: a window for the core, credit for the last hop";
    const SOURCE: &'static str =
        "Ultra Ethernet Specification 1.0, §3.6.13 and §3.6.14, by notes on it; laws of uet-htsim";
    const NEEDS: Needs = Needs { ecn: true, multipath: true, credit: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "marks and delays, credit from receiving hosts; what is lost, packet by packet";
    type Params = NsccRcccParams;
    type Sender = NsccRcccSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &NsccRcccParams, flow: &FlowInfo) -> NsccRcccSender {
        NsccRcccSender { window: NsccSender::new(&params.nscc, flow), credit: RcccSender::new(&params.rccc, flow) }
    }
    fn receiver(_: &NsccRcccParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
    fn granter(params: &NsccRcccParams, host: &HostInfo) -> Option<Box<dyn Granter>> {
        Some(Box::new(pull_pacer(&params.rccc, host)))
    }
}

/// The sender half of [`NsccRccc`].
pub struct NsccRcccSender {
    window: NsccSender,
    credit: RcccSender,
}

impl Sender for NsccRcccSender {
    fn control(&self) -> Control {
        let (window, credit) = (self.window.control(), self.credit.control());
        Control { cwnd: window.cwnd.min(credit.cwnd), pacing: window.pacing.min(credit.pacing) }
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.credit.on_send(ctx, sent);
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.window.on_ack(ctx, ack);
        self.credit.on_ack(ctx, ack);
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
    fn on_packet_loss(&mut self, ctx: &mut Ctx<'_>, loss: &PacketLoss) {
        if !(loss.kind == PacketLossKind::Trimmed && loss.last_hop) {
            self.window.on_packet_loss(ctx, loss); // (13)
        }
        self.credit.on_packet_loss(ctx, loss);
    }
    fn on_credit(&mut self, ctx: &mut Ctx<'_>, total: Bytes) {
        self.credit.on_credit(ctx, total);
    }
    fn credit_demand(&mut self, backlog: Bytes) -> Bytes {
        self.credit.credit_demand(backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack};
    use farloop_units::{Delta, Rate};

    /// 400 Gbps, 12 us, 4096 B in 4160 B: 600,000 B of BDP, 900,000 B of window and of credit.
    fn bench() -> Bench<NsccRcccSender> {
        let rate = Rate::from_gbps(400);
        let flow = FlowInfo {
            base_rtt: Delta::from_us(12),
            intra_rtt: Delta::from_us(12),
            line_rate: rate,
            peer_rate: rate,
            initial_rate: rate,
            mss: Bytes::new(4096),
            packet: Bytes::new(4160),
            trims: true,
            ..crate::testing::flow(false)
        };
        Bench::new(NsccRccc::sender(&NsccRcccParams::default(), &flow))
    }

    fn trim(b: &mut Bench<NsccRcccSender>, last_hop: bool) -> (Bytes, Bytes) {
        let (payload, in_flight) = (Bytes::new(4096), Bytes::new(409_600));
        let loss = PacketLoss { kind: PacketLossKind::Trimmed, payload, in_flight, rtt: None, last_hop };
        b.call(|s, ctx| s.on_packet_loss(ctx, &loss));
        (b.sender.window.control().cwnd, b.sender.credit.control().cwnd)
    }

    #[test]
    fn the_smaller_of_window_and_credit_holds() {
        let mut b = bench();
        // The window, 900,000 · 4096/4160; the credit lets a whole last packet go.
        assert_eq!(b.sender.control().cwnd, Bytes::new(900_000 * 4096 / 4160));
        // The first answer takes the credit: only what is in flight remains.
        b.ack(&Ack { acked: Bytes::new(4096), in_flight: Bytes::new(40_960), ..ack(1, 1, 0) });
        assert_eq!(b.sender.control().cwnd, Bytes::new(40_960));
        b.call(|s, ctx| s.on_credit(ctx, Bytes::new(16_640)));
        assert_eq!(b.sender.control().cwnd, Bytes::new(40_960 + 4 * 4096));
    }

    #[test]
    fn a_trim_at_the_last_hop_is_the_credits_and_one_in_the_core_the_windows() {
        let mut b = bench();
        let before = b.sender.window.control().cwnd;
        assert_eq!(trim(&mut b, true), (before, Bytes::new(409_600)));
        let (window, credit) = trim(&mut b, false);
        assert_eq!((window, credit), (Bytes::new((900_000 - 4160) * 4096 / 4160), Bytes::new(409_600)));
    }

    #[test]
    fn parameters_are_those_of_both_halves() {
        let mut p = NsccRcccParams::default();
        assert!(p.nscc.inferred_losses && p.nscc.slower_end && p.nscc.drop_threshold == Some(5.0));
        let specs = NsccRcccParams::specs();
        assert_eq!(specs.len(), NsccParams::specs().len() + 2);
        let of = |name: &str| specs.iter().find(|spec| spec.name == name).expect("a parameter");
        assert_eq!((&*of("inferred_losses").source, &of("inferred_losses").default), (BASE, &Some(Value::Bool(true))));
        p.set("share", &Value::Float(0.5)).expect("a share");
        p.set("cap", &Value::Float(2.0)).expect("a cap");
        assert_eq!((p.rccc.share, p.rccc.cap, p.nscc.cap), (0.5, 2.0, 2.0));
        assert_eq!(p.get("cap"), Some(Some(Value::Float(2.0))));
        assert!(p.set("core_target", &Value::Float(0.1)).is_err(), "the core is the window's");
    }
}
