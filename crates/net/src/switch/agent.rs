//! Port agents: the switch halves of algorithms, with their timers.

use crate::ids::{AgentId, FlowId, PortId};
use crate::medium::Medium;
use farloop_cc::{AnyPort, Ctx, Effect, PortAgent, TimerId};
use farloop_engine::RandomStream;
use farloop_units::{Rate, Time};

/// An agent at an egress port.
pub(crate) struct Agent {
    agent: AnyPort,
    pub port: PortId,
    deadlines: [Time; TimerId::COUNT],
}

impl Agent {
    /// An agent at `port`, without timers.
    pub fn new(agent: AnyPort, port: PortId) -> Agent {
        Agent { agent, port, deadlines: [Time::NEVER; TimerId::COUNT] }
    }

    /// Calls a handler and arms what it asks for; what is the switch's to do goes to [`Medium::asked`].
    pub fn call<R>(
        &mut self,
        m: &mut Medium,
        id: AgentId,
        random: &mut RandomStream,
        handler: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>) -> R,
    ) -> R {
        let mut effects = std::mem::take(&mut m.effects);
        let result = handler(&mut self.agent, &mut Ctx::new(m.now, random, &mut effects));
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm(m, id, timer, at.max(m.now)),
                Effect::Cancel(timer) => self.arm(m, id, timer, Time::NEVER),
                other => m.asked.push(other),
            }
        }
        m.effects = effects;
        result
    }

    /// At what rate a queue of `flow` begins.
    pub fn initial_rate(&mut self, flow: FlowId) -> Rate {
        self.agent.initial_rate(flow.0)
    }

    /// Takes the timer `timer` if it is due.
    pub fn take_due(&mut self, m: &mut Medium, id: AgentId, timer: TimerId) -> bool {
        let due = self.deadlines[timer.0 as usize] <= m.now;
        if due {
            self.arm(m, id, timer, Time::NEVER);
        }
        due
    }

    fn arm(&mut self, m: &mut Medium, id: AgentId, timer: TimerId, at: Time) {
        self.deadlines[timer.0 as usize] = at;
        let event = m.events.agent_timer(id);
        match self.deadlines.iter().min() {
            Some(first) if *first != Time::NEVER => m.calendar.set(event, *first),
            _ => m.calendar.cancel(event),
        }
    }
}
