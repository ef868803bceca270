//! [`Tracer`]: which records are kept; [`join`]: those of all parts in one order.

use crate::why::{Answer, Explained};
use crate::{Event, Place, Record};
use farloop_units::{Bytes, Rate, Time};
use std::collections::BTreeMap;

/// Keeps the records that a [`Filter`] wants, the newest of them, a bounded number.
#[derive(Clone, Debug)]
pub struct Tracer {
    filter: Filter,
    kept: Vec<Record>,
    /// Window and rate that each flow had last.
    controls: BTreeMap<u32, (Bytes, Rate)>,
    /// Wanted and no longer kept.
    left_out: u64,
}

/// The records that a tracer keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Flows whose own events (ACKs, windows, timers, start and finish) are recorded.
    pub flows: Choice,
    /// Flows whose packets are recorded at the ports of interest.
    pub packets: Choice,
    /// Ports of interest.
    pub ports: Choice,
    /// From when.
    pub from: Time,
    /// Until when, itself excluded.
    pub until: Time,
    /// At most so many records: the newest.
    pub limit: usize,
}

/// A set of numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Every one.
    All,
    /// Those whose bit is set; build it with [`Choice::from_numbers`].
    Only(Vec<u64>),
}

/// The records of a whole simulation, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// By time, then place; of one place in the order in which they happened.
    pub records: Vec<Record>,
    /// Number of older records that the filter wanted but that did not fit the limit.
    pub left_out: u64,
    /// Where the time of one flow went, where it was requested.
    pub why: Option<Answer>,
    /// Where the time of messages went, where it was requested.
    pub messages: Vec<Explained>,
}

impl Choice {
    /// None.
    pub const NONE: Choice = Choice::Only(Vec::new());

    /// These numbers.
    pub fn from_numbers(numbers: impl IntoIterator<Item = u32>) -> Choice {
        let mut bits = Vec::new();
        for number in numbers {
            let word = number as usize / 64;
            if word >= bits.len() {
                bits.resize(word + 1, 0);
            }
            bits[word] |= 1 << (number % 64);
        }
        Choice::Only(bits)
    }

    /// Returns true if `number` is among them.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        match self {
            Choice::All => true,
            Choice::Only(bits) => bits.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1),
        }
    }
}

impl Default for Filter {
    /// Everything, a million records.
    fn default() -> Filter {
        Filter {
            flows: Choice::All,
            packets: Choice::All,
            ports: Choice::All,
            from: Time::ZERO,
            until: Time::NEVER,
            limit: 1_000_000,
        }
    }
}

impl Filter {
    /// Returns true if [`Tracer::record`] would take the record.
    pub fn wants(&self, record: &Record) -> bool {
        let flow = match (record.place, record.flow) {
            (Place::Port(_), Some(flow)) => self.packets.has(flow),
            (Place::Host(_), Some(flow)) => self.flows.has(flow),
            (_, None) => true,
        };
        let place = match record.place {
            Place::Port(port) => self.ports.has(port),
            Place::Host(_) => true,
        };
        flow && place && self.from <= record.time && record.time < self.until
    }
}

impl Tracer {
    /// Records nothing yet.
    pub fn new(filter: Filter) -> Tracer {
        Tracer { filter, kept: Vec::new(), controls: BTreeMap::new(), left_out: 0 }
    }

    /// Returns true if the flow's own events are of interest: one bit test.
    #[inline]
    pub fn wants_flow(&self, flow: u32) -> bool {
        self.filter.flows.has(flow)
    }

    /// Returns true if events at the port are of interest, for some flow at least: one bit test.
    #[inline]
    pub fn wants_port(&self, port: u32) -> bool {
        self.filter.ports.has(port)
    }

    /// Returns true if a flow's packets are of interest at the port: two bit tests.
    #[inline]
    pub fn wants_packet(&self, port: u32, flow: u32) -> bool {
        self.filter.ports.has(port) && self.filter.packets.has(flow)
    }

    /// Takes a record, if it is of interest. Times may go back a little, as where departures are worked out late.
    ///
    /// An [`Event::Change`] to the present window and rate is dropped.
    ///
    /// At most a quarter more records than the limit (and a thousand) are held at any time.
    pub fn record(&mut self, record: Record) {
        if !self.changes(&record) || !self.filter.wants(&record) {
            return;
        }
        self.kept.push(record);
        if self.kept.len() >= self.filter.limit.saturating_add(self.filter.limit / 4).saturating_add(1024) {
            self.left_out += keep_newest(&mut self.kept, self.filter.limit);
        }
    }
}

impl Tracer {
    /// Returns true if the record has news, and notes window and rate; before the window of time, too.
    fn changes(&mut self, record: &Record) -> bool {
        let Some(flow) = record.flow.filter(|flow| self.filter.flows.has(*flow)) else { return true };
        match record.event {
            Event::Ack { cwnd, rate, .. } => {
                self.controls.insert(flow, (cwnd, rate));
                true
            }
            Event::Change { cwnd, rate } => self.controls.insert(flow, (cwnd, rate)) != Some((cwnd, rate)),
            Event::Finish => {
                self.controls.remove(&flow);
                true
            }
            _ => true,
        }
    }
}

/// Puts the records of a simulation's parts into one order, and keeps the newest. The partition of the simulation makes no
/// difference, as long as all records of a place come from one of the tracers, and these have one filter.
///
/// The order is by time, then by place, then as recorded. Each tracer keeps its newest by this order, so that the newest of
/// all are among them.
pub fn join(tracers: impl IntoIterator<Item = Tracer>) -> Trace {
    let mut trace = Trace::default();
    let mut limit = usize::MAX;
    for mut tracer in tracers {
        limit = limit.min(tracer.filter.limit);
        trace.left_out += tracer.left_out;
        trace.records.append(&mut tracer.kept);
    }
    trace.left_out += keep_newest(&mut trace.records, limit);
    trace
}

/// Sorts the records and takes away the oldest beyond `limit`; how many these were.
fn keep_newest(records: &mut Vec<Record>, limit: usize) -> u64 {
    // Stable, and nearly no work where records are nearly in order.
    records.sort_by_key(|record| (record.time, record.place));
    let surplus = records.len().saturating_sub(limit);
    records.drain(..surplus);
    surplus as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

    fn finish(time: u64, place: Place, flow: u32) -> Record {
        Record { time: Time::from_ps(time), place, flow: Some(flow), event: Event::Finish }
    }

    #[test]
    fn a_choice_has_what_it_was_made_of() {
        let choice = Choice::from_numbers([0, 63, 64, 1000]);
        let had: Vec<u32> = (0..2000).filter(|n| choice.has(*n)).collect();
        assert_eq!(had, [0, 63, 64, 1000]);
        assert!(!choice.has(u32::MAX));
        assert!(Choice::All.has(u32::MAX));
        assert!(!Choice::NONE.has(0));
    }

    #[test]
    fn flows_ports_and_the_window_decide() {
        let filter = Filter {
            flows: Choice::from_numbers([1]),
            packets: Choice::from_numbers([2]),
            ports: Choice::from_numbers([7]),
            from: Time::from_ps(10),
            until: Time::from_ps(20),
            ..Filter::default()
        };
        let tracer = Tracer::new(filter.clone());
        assert!(tracer.wants_flow(1) && !tracer.wants_flow(2));
        assert!(tracer.wants_port(7) && !tracer.wants_port(8));
        assert!(tracer.wants_packet(7, 2) && !tracer.wants_packet(7, 1) && !tracer.wants_packet(8, 2));
        assert!(filter.wants(&finish(10, Place::Host(0), 1)));
        assert!(!filter.wants(&finish(10, Place::Host(0), 2)));
        assert!(!filter.wants(&finish(9, Place::Host(0), 1)));
        assert!(!filter.wants(&finish(20, Place::Host(0), 1)));
        assert!(filter.wants(&finish(19, Place::Port(7), 2)));
        assert!(!filter.wants(&finish(19, Place::Port(7), 1)));
        assert!(!filter.wants(&finish(19, Place::Port(6), 2)));
        let pause =
            Record { time: Time::from_ps(15), place: Place::Port(7), flow: None, event: Event::Pause { class: 0 } };
        assert!(filter.wants(&pause));
        assert!(!filter.wants(&Record { place: Place::Port(6), ..pause }));
    }

    #[test]
    fn a_change_to_what_is_already_is_none() {
        let mut tracer = Tracer::new(Filter { from: Time::from_ps(2), ..Filter::default() });
        let mut at = |time, event| {
            tracer.record(Record { time: Time::from_ps(time), place: Place::Host(0), flow: Some(0), event });
        };
        let change = |cwnd| Event::Change { cwnd: Bytes::new(cwnd), rate: Rate::MAX };
        let (sequence, acked, rtt, marked, rate) = (0, Bytes::ZERO, None, false, Rate::MAX);
        at(1, change(10));
        at(2, change(10));
        at(3, change(20));
        at(4, Event::Ack { sequence, acked, rtt, marked, cwnd: Bytes::new(30), rate });
        at(5, change(30));
        at(6, change(20));
        at(7, Event::Finish);
        at(8, change(20));
        let times: Vec<u64> = join([tracer]).records.iter().map(|record| record.time.as_ps()).collect();
        assert_eq!(times, [3, 4, 6, 7, 8]);
    }

    #[test]
    fn the_oldest_go_and_are_counted() {
        let mut tracer = Tracer::new(Filter { limit: 10, ..Filter::default() });
        for time in 0..100_000 {
            tracer.record(finish(time, Place::Host(0), 0));
            assert!(tracer.kept.len() <= 10 + 2 + 1024);
        }
        let trace = join([tracer]);
        assert_eq!(trace.left_out, 99_990);
        assert_eq!(trace.records.first().unwrap().time, Time::from_ps(99_990));
        assert_eq!(trace.records.len(), 10);
    }

    #[test]
    fn a_record_is_as_small_as_the_page_says() {
        assert_eq!(size_of::<Record>(), 80);
    }

    #[test]
    fn a_limit_of_none_keeps_none() {
        let mut tracer = Tracer::new(Filter { limit: 0, ..Filter::default() });
        tracer.record(finish(0, Place::Host(0), 0));
        assert_eq!(join([tracer]), Trace { left_out: 1, ..Trace::default() });
    }
}
