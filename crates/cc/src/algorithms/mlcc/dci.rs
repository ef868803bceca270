//! The switch halves of MLCC: the ports of a switch at the border of its datacenter (§3.2).
//!
//! Outward, towards other datacenters, a port takes the telemetry off data of its flows, its own included, and sends it back where the
//! packet asks for that. Inward, each flow has a queue of its own, whose rate is the R_credit that passing ACKs bring; the port remembers
//! their C_R and writes it as C_D into data, with what is left in the queue.

use super::params::MlccParams;
use super::wire::{AckHeader, DataHeader};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::BTreeMap;

/// The port half of [`Mlcc`](super::Mlcc).
pub struct DciPort(Side);

enum Side {
    Outward,
    Inward(Box<Credits>),
}

/// Credit that an inward port keeps for each flow that passes.
struct Credits {
    flows: BTreeMap<u32, Credit>,
    idle_timeout: Delta,
    /// The timer is armed.
    watching: bool,
}

#[derive(Clone, Copy)]
struct Credit {
    /// C_D.
    round: u32,
    /// R_credit; before the first the initial rate, which is that at which packets come.
    rate: Rate,
    /// When a packet or ACK passed last.
    seen: Time,
}

impl DciPort {
    /// The timer that forgets idle flows.
    const FORGET: TimerId = TimerId(0);

    /// For ports at the border of a datacenter.
    pub fn new(p: &MlccParams, port: &PortInfo) -> Option<DciPort> {
        match port.border {
            Border::Inside => None,
            Border::Outward => Some(DciPort(Side::Outward)),
            Border::Inward => {
                let credits = Credits { flows: BTreeMap::new(), idle_timeout: p.idle_timeout, watching: false };
                Some(DciPort(Side::Inward(Box::new(credits))))
            }
        }
    }
}

impl Credits {
    fn credit_of(&mut self, flow: u32, ctx: &mut Ctx<'_>) -> &mut Credit {
        if !self.watching {
            self.watching = true;
            ctx.arm(DciPort::FORGET, ctx.now().saturating_add(self.idle_timeout));
        }
        let seen = ctx.now();
        let credit = self.flows.entry(flow).or_insert(Credit { round: 0, rate: Rate::MAX, seen });
        credit.seen = seen;
        credit
    }
}

impl PortAgent for DciPort {
    fn flow_queues(&self) -> bool {
        matches!(self.0, Side::Inward(_))
    }

    fn initial_rate(&mut self, flow: u32) -> Rate {
        match &self.0 {
            Side::Inward(credits) => credits.flows.get(&flow).map_or(Rate::MAX, |credit| credit.rate),
            Side::Outward => Rate::MAX,
        }
    }

    fn on_dequeue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, _: Bytes) {
        let Some(mut header) = DataHeader::from_fields(head.fields.as_slice()).filter(|h| head.data && h.crosses)
        else {
            return;
        };
        match &mut self.0 {
            Side::Outward => {
                if header.reflect {
                    ctx.return_telemetry();
                }
                ctx.remove_telemetry();
            }
            Side::Inward(credits) => {
                let credit = credits.credit_of(head.flow, ctx);
                header.credit = Some((credit.round, head.flow_queue));
                head.fields = header.fields();
            }
        }
    }

    fn on_reverse(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, _: Bytes) {
        let Side::Inward(credits) = &mut self.0 else { return };
        let Some(AckHeader { round, credit: Some(rate), .. }) = AckHeader::from_fields(head.fields.as_slice()) else {
            return;
        };
        let credit = credits.credit_of(head.flow, ctx);
        credit.round = round;
        credit.rate = rate;
        ctx.pace(rate);
    }

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, _: TimerId, _: Bytes) {
        let Side::Inward(credits) = &mut self.0 else { return };
        let (now, timeout) = (ctx.now(), credits.idle_timeout);
        credits.flows.retain(|_, credit| now.since(credit.seen) < timeout);
        credits.watching = !credits.flows.is_empty();
        if credits.watching {
            ctx.arm(DciPort::FORGET, now.saturating_add(timeout));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use farloop_engine::RandomStream;

    struct Bench {
        port: DciPort,
        now: Time,
        effects: Vec<Effect>,
    }

    impl Bench {
        fn new(border: Border) -> Bench {
            let port = DciPort::new(&MlccParams::default(), &testing::port(border)).expect("at the border");
            Bench { port, now: Time::ZERO, effects: Vec::new() }
        }

        fn call(&mut self, f: impl FnOnce(&mut DciPort, &mut Ctx<'_>)) -> Vec<Effect> {
            let mut random = RandomStream::new(1, "dci", 0);
            self.effects.clear();
            f(&mut self.port, &mut Ctx::new(self.now, &mut random, &mut self.effects));
            self.effects.clone()
        }
    }

    fn head(data: bool, fields: Fields, flow_queue: u64) -> Head {
        let wire = Bytes::new(1000);
        Head { flow: 7, wire, data, ecn_marked: false, fields, flow_queue: Bytes::new(flow_queue) }
    }

    fn data(crosses: bool, reflect: bool) -> Fields {
        DataHeader { crosses, reflect, credit: None }.fields()
    }

    fn ack(round: u32, gbps: u64) -> Fields {
        AckHeader { round, credit: Some(Rate::from_gbps(gbps)), dqm: Some(Rate::from_gbps(1)) }.fields()
    }

    #[test]
    fn only_ports_at_the_border_have_a_half() {
        assert!(DciPort::new(&MlccParams::default(), &testing::port(Border::Inside)).is_none());
        assert!(Bench::new(Border::Inward).port.flow_queues());
        assert!(!Bench::new(Border::Outward).port.flow_queues());
    }

    #[test]
    fn outward_telemetry_is_taken_off_and_sent_back_on_demand() {
        let mut b = Bench::new(Border::Outward);
        let mut pass = |data_packet, fields| {
            let mut head = head(data_packet, fields, 0);
            b.call(|port, ctx| port.on_dequeue(ctx, &mut head, Bytes::ZERO))
        };
        assert_eq!(pass(true, data(true, true)), [Effect::ReturnTelemetry, Effect::RemoveTelemetry]);
        assert_eq!(pass(true, data(true, false)), [Effect::RemoveTelemetry]);
        assert_eq!(pass(true, data(false, false)), [], "of its own datacenter");
        assert_eq!(pass(false, ack(1, 1)), [], "no data");
        assert_eq!(pass(true, Fields::NONE), [], "another algorithm's");
    }

    #[test]
    fn inward_acks_set_the_rate_and_data_carries_their_round_back() {
        let mut b = Bench::new(Border::Inward);
        let stamped = |b: &mut Bench, queue| {
            let mut head = head(true, data(true, false), queue);
            b.call(|port, ctx| port.on_dequeue(ctx, &mut head, Bytes::new(9_999)));
            DataHeader::from_fields(head.fields.as_slice()).and_then(|h| h.credit)
        };
        assert_eq!(stamped(&mut b, 3000), Some((0, Bytes::new(3000))));
        assert_eq!(b.port.initial_rate(7), Rate::MAX);
        let effects = b.call(|port, ctx| port.on_reverse(ctx, &mut head(false, ack(5, 10), 0), Bytes::ZERO));
        assert_eq!(effects, [Effect::Pace(Rate::from_gbps(10))]);
        assert_eq!((stamped(&mut b, 0), b.port.initial_rate(7)), (Some((5, Bytes::ZERO)), Rate::from_gbps(10)));
        assert_eq!(b.port.initial_rate(8), Rate::MAX, "of another flow nothing is known");
        let nothing = Fields::new(&[0]);
        assert_eq!(b.call(|port, ctx| port.on_reverse(ctx, &mut head(false, nothing, 0), Bytes::ZERO)), []);
    }

    #[test]
    fn idle_flows_are_forgotten() {
        let mut b = Bench::new(Border::Inward);
        let timeout = MlccParams::default().idle_timeout;
        let armed = |at| Effect::Arm(DciPort::FORGET, at);
        let effects = b.call(|port, ctx| port.on_reverse(ctx, &mut head(false, ack(5, 10), 0), Bytes::ZERO));
        assert_eq!(effects[0], armed(Time::ZERO + timeout));
        b.now = Time::ZERO + Delta::from_ms(60);
        b.call(|port, ctx| port.on_reverse(ctx, &mut head(false, ack(6, 20), 0), Bytes::ZERO));
        b.now = Time::ZERO + timeout;
        assert_eq!(b.call(|port, ctx| port.on_timer(ctx, DciPort::FORGET, Bytes::ZERO)), [armed(b.now + timeout)]);
        assert_eq!(b.port.initial_rate(7), Rate::from_gbps(20));
        b.now += timeout;
        assert_eq!(b.call(|port, ctx| port.on_timer(ctx, DciPort::FORGET, Bytes::ZERO)), []);
        assert_eq!(b.port.initial_rate(7), Rate::MAX);
    }
}
