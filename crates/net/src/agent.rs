//! Port agents: the switch halves of algorithms, their timers and signals.

use crate::packet::NIL;
use crate::port::NodeRef;
use crate::sim::Simulation;
use farloop_cc::{AnyPort, Effect, TimerId};
use farloop_units::Time;

/// An agent at an egress port.
pub(crate) struct Agent {
    pub agent: AnyPort,
    pub port: u32,
    pub deadline: [Time; TimerId::COUNT],
}

impl Simulation {
    /// Carries out what the agent of port `p` asked for; signals go to the source of `flow`.
    pub(crate) fn agent_effects(&mut self, p: u32, index: u32, flow: u32, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm_agent(index, timer, at.max(self.now)),
                Effect::Cancel(timer) => self.arm_agent(index, timer, Time::NEVER),
                Effect::Emit(signal) => {
                    // Outside a packet there is no source to send to.
                    let NodeRef::Switch(s) = self.ports[p as usize].owner else { continue };
                    if flow == NIL {
                        continue;
                    }
                    let packet = self.signal_packet(flow, signal);
                    let out = self.routes.next(s, packet.dst, flow).expect("data came from there");
                    let slot = self.packets.insert(packet);
                    self.packets[slot].set_ingress(NIL);
                    self.totals.injected += 1;
                    self.enqueue(out, slot);
                    self.kick_switch_port(out);
                }
            }
        }
    }

    fn arm_agent(&mut self, index: u32, timer: TimerId, at: Time) {
        let agent = &mut self.agents[index as usize];
        agent.deadline[timer.0 as usize] = at;
        match agent.deadline.iter().min() {
            Some(first) if *first != Time::NEVER => self.calendar.set(self.agent_base + index, *first),
            _ => self.calendar.cancel(self.agent_base + index),
        }
    }

    /// An agent's timer fired.
    pub(crate) fn agent_timer(&mut self, index: u32) {
        let port = self.agents[index as usize].port;
        for t in 0..TimerId::COUNT {
            if self.agents[index as usize].deadline[t] <= self.now {
                let timer = TimerId(t as u8);
                self.arm_agent(index, timer, Time::NEVER);
                let queue = self.queue_of(port);
                self.with_agent(port, NIL, |agent, ctx| agent.on_timer(ctx, timer, queue));
            }
        }
    }
}
