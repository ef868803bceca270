//! A host's NIC: which of its flows sends next.
//!
//! Flows whose window and pacing allow it take turns packet by packet (round robin per class, lower classes first; [`NicOrder`] selects
//! the next flow). A flow is in exactly one place ([`Place`]): blocked, in the ready queue, or in the pacing heap until its time comes. No
//! timer per packet: the transmitter's next event is the earliest of these.

use crate::host::paced::{Entry, PacedHeap, Positions};
use crate::host::send_order::SendOrder;
use crate::ids::{FlowId, SenderId};
use crate::packet::DATA;
use farloop_network::spec::{DATA_CLASSES, NicOrder};
use farloop_units::Time;

/// Where a flow waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Nothing to send, or the window is full.
    Blocked,
    /// In the round-robin queue of its host.
    Ready,
    /// In the pacing heap of its host.
    Paced,
}

/// Access of a NIC to the flows that it serves.
pub(crate) trait Flows {
    fn place(&mut self, sender: SenderId) -> &mut Place;
    /// Returns the flow and its data class.
    fn flow(&self, sender: SenderId) -> (FlowId, usize);
    /// Returns true if there is a packet that the window allows.
    fn can_send(&self, sender: SenderId) -> bool;
    /// The number of the message that its next packet belongs to ([`NicOrder::InOrder`]).
    fn message(&self, sender: SenderId) -> u64;
    /// When pacing allows the next packet.
    fn next_send(&self, sender: SenderId) -> Time;
    /// [`Flows::next_send`] of a flow that is [`Flows::can_send`].
    #[inline]
    fn next_turn(&self, sender: SenderId) -> Option<Time> {
        self.can_send(sender).then(|| self.next_send(sender))
    }
    /// Its turn ends with nothing that it may send.
    fn end_turn(&mut self, sender: SenderId);
    /// It begins to wait for something that it may send: now, or when its pacing time began (`paced`).
    fn begin_wait(&mut self, sender: SenderId, now: Time, paced: bool);
    /// It has something that it may send at once.
    fn end_wait(&mut self, sender: SenderId, now: Time);
    /// Its pacing time begins.
    fn begin_pacing(&mut self, sender: SenderId, now: Time);
    /// Its pacing time is over since `until`.
    fn end_pacing(&mut self, sender: SenderId, until: Time);
    /// Its packet leaves now, and was due at `at`.
    fn note_late(&mut self, sender: SenderId, at: Time, now: Time);
    fn positions(&mut self) -> &mut Positions;
}

/// The flows of a NIC by the place where they wait.
pub(crate) struct Nic {
    /// Flows that may send now, by data class.
    ready: [SendOrder; DATA_CLASSES],
    /// Flows that wait for their pacing time.
    paced: PacedHeap,
}

impl Nic {
    pub fn new(order: NicOrder) -> Nic {
        Nic { ready: std::array::from_fn(|_| SendOrder::new(order)), paced: PacedHeap::default() }
    }

    /// The flow of `sender` changed: window, rate, data or losses. Puts it where it belongs.
    #[inline(always)]
    pub fn place(&mut self, flows: &mut impl Flows, sender: SenderId, now: Time) {
        let place = *flows.place(sender);
        match place {
            // A ready flow is looked at again when its turn comes.
            Place::Ready => {}
            Place::Blocked if flows.can_send(sender) => self.unblock(flows, sender, now),
            Place::Blocked => {}
            Place::Paced if flows.can_send(sender) => {
                let at = flows.next_send(sender);
                self.paced.retime(flows.positions(), sender, at);
            }
            Place::Paced => {
                self.paced.remove(flows.positions(), sender);
                *flows.place(sender) = Place::Blocked;
                flows.begin_wait(sender, now, true);
            }
        }
    }

    /// When there will be something to send, with a transmitter that is free from `free` on and classes `paused` (as bits).
    #[inline]
    pub fn next(&self, free: Time, paused: u8) -> Time {
        if (0..DATA_CLASSES).any(|c| !self.ready[c].is_empty() && !is_paused(paused, c)) {
            return free;
        }
        match self.paced.next() {
            Time::NEVER => Time::NEVER,
            at => at.max(free),
        }
    }

    /// When there will be something to send after `now`, as far as pacing decides that.
    pub fn next_after(&self, now: Time) -> Time {
        match self.paced.next() {
            at if at > now => at,
            _ => Time::NEVER,
        }
    }

    /// The flow whose turn it is at `now`, of those that still may send. The next call must be [`Nic::note_sent`].
    #[inline(always)]
    pub fn take(&mut self, flows: &mut impl Flows, paused: u8, now: Time) -> Option<SenderId> {
        // Most often one flow is due, and no other waits for a turn: it keeps its place in the heap.
        if let Some(sender) = self.paced.only_due(now)
            && self.ready.iter().all(SendOrder::are_over)
            && !is_paused(paused, flows.flow(sender).1)
            && let Some(at) = flows.next_turn(sender).filter(|at| *at <= now)
        {
            if at < now {
                flows.note_late(sender, at, now);
            }
            return Some(sender);
        }
        while let Some(sender) = self.paced.pop_due(flows.positions(), now) {
            *flows.place(sender) = Place::Ready;
            let due = flows.next_send(sender).min(now);
            flows.end_pacing(sender, due);
            let (flow, class) = flows.flow(sender);
            self.ready[class].push(flow, sender, || flows.message(sender));
        }
        for class in (0..DATA_CLASSES).filter(|c| !is_paused(paused, *c)) {
            while let Some(sender) = self.ready[class].pop() {
                if !flows.can_send(sender) {
                    flows.end_turn(sender);
                    *flows.place(sender) = Place::Blocked;
                    flows.begin_wait(sender, now, false);
                } else if flows.next_send(sender) > now {
                    self.queue(flows, sender, now);
                } else {
                    return Some(sender);
                }
            }
        }
        None
    }

    /// The flow that was taken has sent a packet.
    #[inline(always)]
    pub fn note_sent(&mut self, flows: &mut impl Flows, sender: SenderId, now: Time) {
        let turn = flows.next_turn(sender);
        if *flows.place(sender) == Place::Paced {
            if let Some(at) = turn.filter(|at| *at > now) {
                return self.paced.retime(flows.positions(), sender, at);
            }
            self.paced.remove(flows.positions(), sender);
            flows.end_pacing(sender, now);
        }
        if turn.is_some() {
            self.queue(flows, sender, now);
        } else {
            flows.end_turn(sender);
            *flows.place(sender) = Place::Blocked;
            flows.begin_wait(sender, now, false);
        }
    }

    /// The flow is over.
    pub fn forget(&mut self, positions: &mut Positions, sender: SenderId, place: Place, data_class: usize) {
        match place {
            Place::Blocked => {}
            Place::Paced => self.paced.remove(positions, sender),
            Place::Ready => self.ready[data_class].remove(sender),
        }
    }

    /// Flows of a class that would send at `now`, in no useful order.
    pub fn waiting_senders<'a>(
        &'a self,
        flows: &'a impl Flows,
        data_class: usize,
        now: Time,
    ) -> impl Iterator<Item = SenderId> {
        let due = self.paced.due_senders(now).filter(move |s| flows.flow(*s).1 == data_class);
        let all = self.ready[data_class].iter().chain(due);
        all.filter(move |s| flows.can_send(*s) && flows.next_send(*s) <= now)
    }

    /// Queues a flow that may send, now or at its pacing time.
    #[inline]
    fn queue(&mut self, flows: &mut impl Flows, sender: SenderId, now: Time) {
        let at = flows.next_send(sender);
        if at > now {
            flows.begin_pacing(sender, now);
        }
        self.queue_at(flows, sender, at, now);
    }

    /// Queues a flow that was blocked and may send, now or at its pacing time. The last thing that it waits for is its limit: pacing, if
    /// it goes on to wait for its pacing time.
    #[inline]
    fn unblock(&mut self, flows: &mut impl Flows, sender: SenderId, now: Time) {
        let at = flows.next_send(sender);
        if at <= now {
            flows.end_wait(sender, now);
        }
        self.queue_at(flows, sender, at, now);
    }

    #[inline]
    fn queue_at(&mut self, flows: &mut impl Flows, sender: SenderId, at: Time, now: Time) {
        let (flow, class) = flows.flow(sender);
        if at <= now {
            *flows.place(sender) = Place::Ready;
            self.ready[class].push(flow, sender, || flows.message(sender));
        } else {
            *flows.place(sender) = Place::Paced;
            self.paced.insert(flows.positions(), Entry { at, flow, sender });
        }
    }
}

#[inline]
fn is_paused(paused: u8, data_class: usize) -> bool {
    paused & (1 << (usize::from(DATA) + data_class)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow: its class, its packets left, its next time.
    struct Flow {
        class: usize,
        left: u32,
        at: u64,
        place: Place,
    }

    #[derive(Default)]
    struct Few {
        flows: Vec<Flow>,
        positions: Positions,
    }

    impl Few {
        fn from_flows(flows: &[(usize, u32, u64)]) -> Few {
            let mut few = Few::default();
            few.positions.admit(SenderId(flows.len() as u32));
            few.flows = flows
                .iter()
                .map(|(class, left, at)| Flow { class: *class, left: *left, at: *at, place: Place::Blocked })
                .collect();
            few
        }
    }

    impl Flows for Few {
        fn place(&mut self, sender: SenderId) -> &mut Place {
            &mut self.flows[sender.0 as usize].place
        }
        fn flow(&self, sender: SenderId) -> (FlowId, usize) {
            (FlowId(sender.0), self.flows[sender.0 as usize].class)
        }
        fn can_send(&self, sender: SenderId) -> bool {
            self.flows[sender.0 as usize].left > 0
        }
        /// The last flow was handed its message first.
        fn message(&self, sender: SenderId) -> u64 {
            u64::from(u32::MAX - sender.0)
        }
        fn next_send(&self, sender: SenderId) -> Time {
            Time::from_ps(self.flows[sender.0 as usize].at)
        }
        fn end_turn(&mut self, _: SenderId) {}
        fn begin_wait(&mut self, _: SenderId, _: Time, _: bool) {}
        fn end_wait(&mut self, _: SenderId, _: Time) {}
        fn begin_pacing(&mut self, _: SenderId, _: Time) {}
        fn end_pacing(&mut self, _: SenderId, _: Time) {}
        fn note_late(&mut self, _: SenderId, _: Time, _: Time) {}
        fn positions(&mut self) -> &mut Positions {
            &mut self.positions
        }
    }

    /// Sends at 0, 10, 20, ... as long as there is something, with a gap of `gap` for each flow: returns the times and the senders.
    fn schedule(flows: &[(usize, u32, u64)], gap: u64, paused: u8) -> Vec<(u64, u32)> {
        schedule_by(NicOrder::Ready, flows, gap, paused)
    }

    fn schedule_by(order: NicOrder, flows: &[(usize, u32, u64)], gap: u64, paused: u8) -> Vec<(u64, u32)> {
        let (mut nic, mut few) = (Nic::new(order), Few::from_flows(flows));
        for s in 0..flows.len() {
            nic.place(&mut few, SenderId(s as u32), Time::ZERO);
        }
        let (mut sent, mut now) = (Vec::new(), Time::ZERO);
        loop {
            now = nic.next(now, paused);
            if now == Time::NEVER {
                return sent;
            }
            let Some(sender) = nic.take(&mut few, paused, now) else { return sent };
            let flow = &mut few.flows[sender.0 as usize];
            (flow.left, flow.at) = (flow.left - 1, now.as_ps() + gap);
            sent.push((now.as_ps(), sender.0));
            nic.note_sent(&mut few, sender, now);
            now = Time::from_ps(now.as_ps() + 10);
        }
    }

    #[test]
    fn flows_take_turns_and_the_lower_class_goes_first() {
        assert_eq!(schedule(&[(0, 2, 0), (0, 1, 0), (1, 2, 0)], 0, 0), [(0, 0), (10, 1), (20, 0), (30, 2), (40, 2)]);
    }

    #[test]
    fn pacing_holds_a_flow_back_and_lets_the_other_send() {
        // Flow 0 every 25, flow 1 starts at 5 and sends every 25.
        assert_eq!(schedule(&[(0, 2, 0), (0, 2, 5)], 25, 0), [(0, 0), (10, 1), (25, 0), (35, 1)]);
    }

    #[test]
    fn a_ready_flow_goes_behind_all_others_or_to_its_place_in_the_cycle() {
        let who = |order, flows: &[(usize, u32, u64)]| {
            schedule_by(order, flows, 0, 0).iter().map(|(_, flow)| *flow).collect::<Vec<u32>>()
        };
        // Flows 0 and 2 can always send; flow 1 has two packets from 5 on, while the first packet of flow 0 is sent.
        let flows = [(0, 2, 0), (0, 2, 5), (0, 2, 0)];
        assert_eq!(who(NicOrder::Ready, &flows), [0, 2, 0, 1, 2, 1], "at 10 it comes behind flow 2 and flow 0");
        assert_eq!(who(NicOrder::Cycle, &flows), [0, 1, 2, 0, 1, 2], "at 10 it is its turn");
        // From 15 on, while the first packet of flow 2 is sent: its turn has gone by.
        let flows = [(0, 3, 0), (0, 1, 15), (0, 3, 0)];
        assert_eq!(who(NicOrder::Ready, &flows), [0, 2, 0, 2, 1, 0, 2]);
        assert_eq!(who(NicOrder::Cycle, &flows), [0, 2, 0, 1, 2, 0, 2]);
    }

    #[test]
    fn messages_leave_in_the_order_in_which_they_were_handed_over() {
        let who = |flows: &[(usize, u32, u64)], gap| {
            schedule_by(NicOrder::InOrder, flows, gap, 0).iter().map(|(_, flow)| *flow).collect::<Vec<u32>>()
        };
        // The last flow has the oldest message. A lower class goes first all the same.
        assert_eq!(who(&[(0, 2, 0), (0, 2, 0), (0, 2, 0)], 0), [2, 2, 1, 1, 0, 0]);
        assert_eq!(who(&[(0, 2, 0), (0, 2, 0), (1, 2, 0)], 0), [1, 1, 0, 0, 2, 2]);
        // Where pacing holds it back, the next one sends.
        assert_eq!(who(&[(0, 2, 0), (0, 2, 0)], 20), [1, 0, 1, 0]);
    }

    #[test]
    fn a_flow_that_is_over_leaves_all_orders() {
        for order in [NicOrder::Ready, NicOrder::Cycle, NicOrder::InOrder] {
            let (mut nic, mut few) = (Nic::new(order), Few::from_flows(&[(0, 1, 0), (0, 1, 0), (0, 1, 0)]));
            (0..3).for_each(|s| nic.place(&mut few, SenderId(s), Time::ZERO));
            nic.forget(&mut few.positions, SenderId(1), Place::Ready, 0);
            let left = if order == NicOrder::InOrder { [2, 0] } else { [0, 2] }.map(SenderId);
            assert_eq!(nic.waiting_senders(&few, 0, Time::ZERO).collect::<Vec<_>>(), left);
            let turn = |nic: &mut Nic, few: &mut Few| nic.take(few, 0, Time::ZERO);
            assert_eq!([turn(&mut nic, &mut few), turn(&mut nic, &mut few)], left.map(Some));
            assert_eq!((turn(&mut nic, &mut few), nic.next(Time::ZERO, 0)), (None, Time::NEVER));
        }
    }

    #[test]
    fn a_paused_class_waits() {
        assert_eq!(schedule(&[(0, 1, 0), (1, 1, 0)], 0, 1 << DATA), [(0, 1)]);
    }

    #[test]
    fn a_flow_that_changes_moves() {
        let (mut nic, mut few) = (Nic::new(NicOrder::Ready), Few::from_flows(&[(0, 1, 50), (0, 0, 0)]));
        let (paced, idle) = (SenderId(0), SenderId(1));
        nic.place(&mut few, paced, Time::ZERO);
        nic.place(&mut few, idle, Time::ZERO);
        assert_eq!((nic.next(Time::ZERO, 0), *few.place(idle)), (Time::from_ps(50), Place::Blocked));
        few.flows[0].at = 30;
        nic.place(&mut few, paced, Time::ZERO);
        assert_eq!(nic.next(Time::ZERO, 0), Time::from_ps(30));
        assert_eq!(nic.waiting_senders(&few, 0, Time::from_ps(30)).count(), 1);
        few.flows[0].left = 0;
        nic.place(&mut few, paced, Time::ZERO);
        assert_eq!((nic.next(Time::ZERO, 0), *few.place(paced)), (Time::NEVER, Place::Blocked));
    }
}
