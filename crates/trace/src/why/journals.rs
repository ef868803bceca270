//! The journals of all flows that are watched, and the ports, which they share.

use super::Answer;
use super::event::{Ends, Passing, Source};
use super::journal::Journal;
use super::messages::{Explained, Messages, Wanted};
use super::port_log::Ports;
use super::walk::Walk;
use farloop_units::{Delta, Time};
use std::collections::{BTreeMap, VecDeque};

/// The journals of all watched flows. The simulation reports to them in the order of time.
#[derive(Default)]
pub struct Journals {
    journals: BTreeMap<u32, Journal>,
    ports: Ports,
    unfinished: usize,
    /// Number of reports about ports since they were last looked through.
    served: usize,
}

/// Number of services of ports between two checks for some to forget.
const SERVED: usize = 1 << 18;

impl Journals {
    /// Of one flow: all of its time.
    pub fn of_flow(flow: u32, ends: Ends) -> Journals {
        let journals = BTreeMap::from([(flow, Journal::new(flow, ends, None))]);
        Journals { journals, unfinished: 1, ..Journals::default() }
    }

    /// Of messages, in the order of time; `ends` says those of a queue pair.
    pub fn of_messages(wanted: &[Wanted], ends: impl Fn(u32) -> Ends) -> Journals {
        let mut by_flow: BTreeMap<u32, VecDeque<Wanted>> = BTreeMap::new();
        for message in wanted {
            by_flow.entry(message.flow).or_default().push_back(*message);
        }
        let journal = |(flow, own)| (flow, Journal::new(flow, ends(flow), Some(Messages::new(own))));
        let journals: BTreeMap<u32, Journal> = by_flow.into_iter().map(journal).collect();
        Journals { unfinished: journals.len(), journals, ..Journals::default() }
    }

    /// Returns true if all requested answers are known.
    pub fn are_finished(&self) -> bool {
        self.unfinished == 0
    }

    fn journal_of(&mut self, flow: Option<u32>) -> Option<(&mut Journal, &mut Ports)> {
        let journal = self.journals.get_mut(&flow?)?;
        Some((journal, &mut self.ports))
    }

    fn update_journal(&mut self, flow: u32, tell: impl FnOnce(&mut Journal, &mut Ports)) {
        if let Some(journal) = self.journals.get_mut(&flow).filter(|journal| !journal.is_finished()) {
            tell(journal, &mut self.ports);
            self.unfinished -= usize::from(journal.is_finished());
        }
    }

    /// A flow begins.
    pub fn start(&mut self, now: Time, flow: u32) {
        self.update_journal(flow, |journal, ports| journal.start(now, ports));
    }

    /// A queue pair has messages up to the byte `end`.
    pub fn posts(&mut self, now: Time, flow: u32, end: u64) {
        self.update_journal(flow, |journal, _| journal.posts(now, end));
    }

    /// The message of a queue pair that ends at this byte is there.
    pub fn receive_message(&mut self, now: Time, flow: u32, end: u64) {
        self.update_journal(flow, |journal, ports| journal.receive_message(now, end, ports));
    }

    /// The flow's last byte is acknowledged.
    pub fn finish(&mut self, now: Time, flow: u32) {
        self.update_journal(flow, |journal, ports| journal.finish(now, ports));
    }

    /// A packet joins the queue of a port.
    pub fn waits(&mut self, now: Time, packet: &Passing) {
        if let Some((journal, ports)) = self.journal_of(packet.flow) {
            journal.waits(now, packet, ports);
        }
    }

    /// A packet is put on the link of a port, from `now` to `until`; the link takes `delay`, and its host `noise`.
    pub fn leaves(&mut self, now: Time, packet: &Passing, until: Time, delay: Delta, noise: Delta) {
        if let Some((journal, ports)) = self.journal_of(packet.flow) {
            journal.leaves(now, packet, until, delay, noise, ports);
            journal.forget_now_and_then(now);
        } else {
            self.ports.record_service(now, until, packet);
        }
        self.served += 1;
        if self.served == SERVED {
            self.served = 0;
            self.forget_ports(now);
        }
    }

    /// Forgets the logs of ports from before the messages that are requested now.
    fn forget_ports(&mut self, now: Time) {
        let since = |journal: &Journal| match &journal.messages {
            Some(messages) => messages.next(),
            None => Some(Time::ZERO),
        };
        let first = self.journals.values().filter_map(since).min().unwrap_or(now).min(now);
        self.ports.forget(first);
    }

    /// A packet arrives by the link of its port.
    pub fn arrives(&mut self, now: Time, packet: &Passing) {
        if let Some((journal, _)) = self.journal_of(packet.flow) {
            journal.arrives(now, packet);
        }
    }

    /// A packet is lost: at its port, or (`behind`) on the link behind it.
    pub fn record_loss(&mut self, packet: &Passing, behind: bool) {
        if let Some((journal, ports)) = self.journal_of(packet.flow) {
            journal.record_loss(packet, behind, ports);
        }
    }

    /// A data class of a port is paused, because of the port `root`, or (`None`) goes on.
    pub fn pause(&mut self, now: Time, port: u32, class: u8, root: Option<u32>) {
        self.ports.log(port).pause(now, class, root);
    }

    /// All that waited at a port is gone, and its pauses with it: its link is down.
    pub fn end_pauses(&mut self, now: Time, port: u32) {
        self.ports.log(port).end_pauses(now);
    }

    /// A timer of a flow's source fires: of its algorithm, or (`transport`) of loss recovery.
    pub fn timer(&mut self, now: Time, flow: u32, transport: bool) {
        self.update_journal(flow, |journal, _| journal.timer(now, transport));
    }

    /// A timer of a flow's destination fires.
    pub fn timer_there(&mut self, now: Time, flow: u32) {
        self.update_journal(flow, |journal, _| journal.timer_there(now));
    }

    /// A packet is about to leave its source again. The entropy value by which it left before is in this state now.
    pub fn repeats(&mut self, flow: u32, state: Option<&'static str>) {
        self.update_journal(flow, |journal, _| journal.repeats(state));
    }

    /// A packet is about to leave its source, which pacing allows since `since`.
    pub fn turn(&mut self, flow: u32, since: Time) {
        self.update_journal(flow, |journal, _| journal.turn(since));
    }

    /// After an ACK, or something else at a flow's source, this holds.
    pub fn control(&mut self, now: Time, flow: u32, source: &Source) {
        self.update_journal(flow, |journal, _| journal.control(now, source));
    }

    /// Where the time of the flow went, of a run that ended at `end`; `None` for one that had not begun.
    pub fn answer(&self, end: Time) -> Option<Answer> {
        let journal = self.journals.values().find(|journal| journal.messages.is_none())?;
        Walk::answer(journal, &self.ports, end)
    }

    /// Where the time of the messages went that have come, in the order in which they were there.
    pub fn take_messages(&mut self) -> Vec<Explained> {
        let all = self.journals.values_mut().filter_map(|journal| journal.messages.as_mut());
        let mut explained: Vec<Explained> = all.flat_map(Messages::take).collect();
        explained.sort_by_key(|message| message.until);
        explained
    }
}
