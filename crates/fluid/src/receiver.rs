//! The receiving half of an algorithm, where it does more than echo marks.

use farloop_cc::{Ack, AnyReceiver, Ctx, Data, Effect, Receiver, Signal, TimerId};
use farloop_engine::RandomStream;
use farloop_units::Time;

/// A receiver and its timers.
pub(crate) struct ReceiverHalf {
    receiver: AnyReceiver,
    /// When each is due, in picoseconds; infinite for never.
    timers: [f64; TimerId::COUNT],
    /// When the first of them is due.
    due: f64,
}

/// Randomness, and buffers for effects and signals.
pub(crate) type Calls<'a> = (&'a mut RandomStream, &'a mut Vec<Effect>, &'a mut Vec<Signal>);

impl ReceiverHalf {
    pub fn new(receiver: AnyReceiver) -> ReceiverHalf {
        ReceiverHalf { receiver, timers: [f64::INFINITY; TimerId::COUNT], due: f64::INFINITY }
    }

    /// The data that `ack` acknowledges arrives, at a time in picoseconds. Returns true if the ACK echoes a mark; signals that the receiver
    /// sends are added.
    pub fn receive(&mut self, ack: &Ack<'_>, at: f64, (random, effects, signals): Calls<'_>) -> bool {
        while self.due <= at {
            let due = self.due;
            let timer = self.timers.iter().position(|timer| *timer == due).unwrap_or(0);
            self.timers[timer] = f64::INFINITY;
            self.find_due();
            self.receiver.on_timer(&mut Ctx::new(Time::from_ps(due as u64), random, effects), TimerId(timer as u8));
            self.take(effects, signals, due);
        }
        let seq = ack.ack_seq.saturating_sub(ack.acked);
        let data = Data { seq, payload: ack.acked, ecn_marked: ack.ecn_echo, int: ack.int, fields: &[] };
        let feedback = self.receiver.on_data(&mut Ctx::new(Time::from_ps(at as u64), random, effects), &data);
        self.take(effects, signals, at);
        feedback.ecn_echo
    }

    #[inline]
    fn take(&mut self, effects: &mut Vec<Effect>, signals: &mut Vec<Signal>, now: f64) {
        if effects.is_empty() {
            return;
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.timers[usize::from(timer.0)] = (at.as_ps() as f64).max(now + 1.0),
                Effect::Cancel(timer) => self.timers[usize::from(timer.0)] = f64::INFINITY,
                Effect::Emit(signal) => signals.push(signal),
                Effect::EmitTo(..) | Effect::ReturnTelemetry | Effect::RemoveTelemetry | Effect::Pace(_) => {}
            }
        }
        self.find_due();
    }

    fn find_due(&mut self) {
        self.due = self.timers.iter().copied().fold(f64::INFINITY, f64::min);
    }
}
