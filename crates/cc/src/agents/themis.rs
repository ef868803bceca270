//! `themis`: notifications from the border of a site instead of marks that cross the long haul.
//!
//! Source: THEMIS, ICNP 2025, by its public simulator (Networked-System-and-Security-Group/Themis @d941dc1,
//! `NS3/simulation/src/point-to-point/model/switch-node.cc`: `SwitchNotifyDequeue`).
//!
//! The model in four lines:
//! - a data packet that leaves the switch with a Congestion Experienced mark loses it, so that its receiver echoes nothing;
//! - the source of its flow gets a congestion notification packet from the switch, `delay` later;
//! - of a flow no notification is triggered earlier than `interval` after the last one was sent: triggers are `interval + delay` apart;
//! - hosts count it as an echoed mark.
//!
//! ```text
//!   data, CE --> [ border ] --> data, no mark
//!                    |
//!   source  <-- CNP -+  delay later, unless one was sent less than interval ago
//! ```
//!
//! The source does so at all ports of its border switches, in both directions; `toward = "outward"` is the sender's side alone. Its second
//! module, which makes packets of a flow pass the switch several times, is switched off in the committed code and not here.

use super::switch_agent::{DelayedSignals, SwitchAgent};
use crate::api::*;
use farloop_units::{Bytes, Delta, Time};
use std::collections::BTreeMap;

farloop_units::choice! {
    /// The ports that clear marks.
    pub enum Toward {
        /// All.
        Both = "both",
        /// Those out of the datacenter.
        Outward = "outward",
        /// Those into it.
        Inward = "inward",
    }
}

farloop_units::params! {
    /// Parameters of [`Themis`].
    pub struct ThemisParams {
        /// The ports that take marks off: "both" directions, "outward" (from the datacenter) or "inward" (into it).
        toward: Toward = Toward::Both, from "THEMIS's simulator, SwitchNotifyDequeue: all ports";
        /// A flow's next notification is triggered no earlier than this after its last one was sent.
        interval: Delta = Delta::from_us(5), in Delta::ZERO => Delta::from_secs(1),
            from "THEMIS's simulator, SwitchNotifyDequeue: 5 µs";
        /// From the marked packet to its notification.
        delay: Delta = Delta::from_us(2), in Delta::ZERO => Delta::from_secs(1),
            from "THEMIS's simulator, SwitchNotifyDequeue: 2 µs";
    }
}

/// THEMIS: see the header of this file.
pub struct Themis;

impl SwitchAgent for Themis {
    const NAME: &'static str = "themis";
    const SUMMARY: &'static str = "takes marks off data at the border of a site, and notifies its source from there";
    const SOURCE: &'static str = "THEMIS, ICNP 2025; its public simulator";
    type Params = ThemisParams;
    type Port = ThemisPort;

    fn install(params: &ThemisParams, ports: &[PortInfo]) -> Vec<Option<ThemisPort>> {
        let acts = |port: &PortInfo| match params.toward {
            Toward::Both => true,
            Toward::Outward => port.border == Border::Outward,
            Toward::Inward => port.border == Border::Inward,
        };
        ports.iter().map(|port| acts(port).then(|| ThemisPort::new(params))).collect()
    }
}

/// [`Themis`] at one port.
pub struct ThemisPort {
    interval: Delta,
    delay: Delta,
    /// By flow: when its last notification was, or will be, sent.
    sent: BTreeMap<u32, Time>,
    signals: DelayedSignals,
}

impl ThemisPort {
    /// The timer of the next notification.
    const NOTIFY: TimerId = TimerId(0);

    fn new(params: &ThemisParams) -> ThemisPort {
        let ThemisParams { interval, delay, .. } = *params;
        ThemisPort { interval, delay, sent: BTreeMap::new(), signals: DelayedSignals::new(Self::NOTIFY) }
    }
}

impl PortAgent for ThemisPort {
    fn on_dequeue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, _queue: Bytes) {
        if !head.data || !head.ecn_marked {
            return;
        }
        head.ecn_marked = false;
        let now = ctx.now();
        if self.sent.get(&head.flow).is_some_and(|last| now < last.saturating_add(self.interval)) {
            return;
        }
        let at = now.saturating_add(self.delay);
        self.sent.insert(head.flow, at);
        self.signals.push(ctx, at, head.flow, Signal::Cnp);
    }

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId, _queue: Bytes) {
        if timer == Self::NOTIFY {
            self.signals.on_timer(ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_engine::RandomStream;
    use farloop_units::Rate;

    fn port(border: Border) -> PortInfo {
        PortInfo {
            rate: Rate::from_gbps(100),
            buffer: Bytes::new(1_000_000),
            switch: 0,
            port: 0,
            border,
            intra_rtt: Delta::from_us(10),
        }
    }

    fn head(flow: u32, ecn_marked: bool) -> Head {
        Head { flow, wire: Bytes::new(1538), data: true, ecn_marked, fields: Fields::NONE, flow_queue: Bytes::ZERO }
    }

    /// Calls a port at a time; gives what it asks for.
    fn at(us: u64, call: impl FnOnce(&mut Ctx<'_>)) -> Vec<Effect> {
        let (mut random, mut effects) = (RandomStream::new(1, "themis", 0), Vec::new());
        call(&mut Ctx::new(Time::ZERO + Delta::from_us(us), &mut random, &mut effects));
        effects
    }

    /// A marked packet each microsecond of 0 to 30: triggers at 0, 7, 14, 21 and 28 us, notifications 2 us after each.
    #[test]
    fn triggers_are_seven_microseconds_apart() {
        let mut port = ThemisPort::new(&ThemisParams::default());
        let (mut sent, mut armed) = (Vec::new(), None);
        for us in 0..=32 {
            if armed == Some(us) {
                armed = None;
                for effect in at(us, |ctx| port.on_timer(ctx, ThemisPort::NOTIFY, Bytes::ZERO)) {
                    match effect {
                        Effect::EmitTo(7, Signal::Cnp) => sent.push(us),
                        other => panic!("{other:?}"),
                    }
                }
            }
            if us > 30 {
                continue;
            }
            let mut packet = head(7, true);
            for effect in at(us, |ctx| port.on_dequeue(ctx, &mut packet, Bytes::ZERO)) {
                match effect {
                    Effect::Arm(ThemisPort::NOTIFY, when) => armed = Some(when.since(Time::ZERO).as_ps() / 1_000_000),
                    other => panic!("{other:?}"),
                }
            }
            assert!(!packet.ecn_marked, "each mark is taken off, notified or not");
        }
        assert_eq!(sent, [2, 9, 16, 23, 30]);
    }

    #[test]
    fn flows_have_times_of_their_own() {
        let mut port = ThemisPort::new(&ThemisParams::default());
        let arms =
            |us, flow, port: &mut ThemisPort| at(us, |ctx| port.on_dequeue(ctx, &mut head(flow, true), Bytes::ZERO));
        assert_eq!(arms(0, 1, &mut port).len(), 1);
        // The first one is still due, so the timer stays.
        assert!(arms(1, 2, &mut port).is_empty());
        let fired = at(2, |ctx| port.on_timer(ctx, ThemisPort::NOTIFY, Bytes::ZERO));
        let at_three = Time::ZERO + Delta::from_us(3);
        assert_eq!(fired, [Effect::EmitTo(1, Signal::Cnp), Effect::Arm(ThemisPort::NOTIFY, at_three)]);
        let fired = at(3, |ctx| port.on_timer(ctx, ThemisPort::NOTIFY, Bytes::ZERO));
        assert_eq!(fired, [Effect::EmitTo(2, Signal::Cnp)]);
    }

    #[test]
    fn what_has_no_mark_passes() {
        let mut port = ThemisPort::new(&ThemisParams::default());
        let mut plain = head(1, false);
        assert!(at(0, |ctx| port.on_dequeue(ctx, &mut plain, Bytes::ZERO)).is_empty());
        // An ACK that echoes a mark.
        let mut ack = Head { data: false, ..head(1, true) };
        assert!(at(0, |ctx| port.on_dequeue(ctx, &mut ack, Bytes::ZERO)).is_empty());
        assert!(ack.ecn_marked);
    }

    #[test]
    fn directions_are_chosen() {
        let ports = [Border::Outward, Border::Inward].map(port);
        let of = |toward| {
            let agents = Themis::install(&ThemisParams { toward, ..ThemisParams::default() }, &ports);
            agents.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(of(Toward::Both), [true, true]);
        assert_eq!(of(Toward::Outward), [true, false]);
        assert_eq!(of(Toward::Inward), [false, true]);
    }
}
