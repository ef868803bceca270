//! The senders as a NIC sees them ([`Flows`]).

use super::Senders;
use crate::host::nic::{Flows, Place};
use crate::host::paced::Positions;
use crate::ids::{FlowId, SenderId};
use farloop_units::Time;

impl Flows for Senders {
    #[inline]
    fn place(&mut self, sender: SenderId) -> &mut Place {
        &mut self.states[sender].place
    }
    #[inline]
    fn flow(&self, sender: SenderId) -> (FlowId, usize) {
        (self.states[sender].flow, self.states[sender].data_class())
    }
    #[inline]
    fn can_send(&self, sender: SenderId) -> bool {
        let sender = &self.states[sender];
        sender.endpoint.can_send(sender.limit, sender.control)
    }
    #[cold]
    fn message(&self, sender: SenderId) -> u64 {
        let next = self.states[sender].endpoint.progress().1;
        self.messages.as_ref().map_or(0, |messages| messages.number(sender, next.get()))
    }
    #[inline(always)]
    fn next_send(&self, sender: SenderId) -> Time {
        self.states[sender].next_send()
    }
    #[inline(always)]
    fn next_turn(&self, sender: SenderId) -> Option<Time> {
        let sender = &self.states[sender];
        sender.endpoint.can_send(sender.limit, sender.control).then(|| sender.next_send())
    }
    /// The chunk ends early: the next packets begin another one.
    #[inline]
    fn end_turn(&mut self, sender: SenderId) {
        self.states[sender].chunk.left = 0;
    }
    #[inline(always)]
    fn begin_wait(&mut self, sender: SenderId, now: Time, paced: bool) {
        self.states[sender].begin_wait(now, paced);
    }
    #[inline(always)]
    fn end_wait(&mut self, sender: SenderId, now: Time) {
        self.states[sender].end_wait(now);
    }
    #[inline(always)]
    fn begin_pacing(&mut self, sender: SenderId, now: Time) {
        self.states[sender].begin_pacing(now);
    }
    #[inline(always)]
    fn end_pacing(&mut self, sender: SenderId, until: Time) {
        self.states[sender].end_pacing(until);
    }
    fn note_late(&mut self, sender: SenderId, at: Time, now: Time) {
        self.states[sender].note_late(at, now);
    }
    #[inline]
    fn positions(&mut self) -> &mut Positions {
        &mut self.positions
    }
}
