//! Counters of a run. Each part has its own, so that no thread writes what another one reads; at the end of a run they are joined.

use crate::ids::{FlowId, Key};
use farloop_network::limit_groups::Limits;
use farloop_network::limits::{self, Limit, Times};
use farloop_network::result::{FlowCounts, Totals};
use farloop_network::starts::Starts;
use farloop_units::{Delta, Time};

/// A flow's record at its source while it runs, kept when it is over.
#[derive(Clone, Copy)]
pub(crate) struct FlowRecord {
    pub flow: FlowId,
    /// [`Time::NEVER`] if the last byte was not acknowledged.
    pub finish: Time,
    pub counts: FlowCounts,
    pub gave_up: bool,
    /// The limit that held longest; `None` where it has not begun.
    pub first_limit: Option<Limit>,
}

impl FlowRecord {
    /// The record of a flow that begins.
    pub fn new(flow: FlowId) -> FlowRecord {
        FlowRecord { flow, finish: Time::NEVER, counts: FlowCounts::default(), gave_up: false, first_limit: None }
    }
}

/// The counters of one part.
#[derive(Default)]
pub(crate) struct Counters {
    pub totals: Totals,
    pub starts: Starts,
    pub limits: Limits,
    /// Records of the flows that are over, in the order in which they ended.
    pub records: Vec<FlowRecord>,
    /// When the last byte of a flow arrived.
    pub received: Vec<(FlowId, Time)>,
    dropped: PerFlow,
    victims: PerFlow,
    /// With persistent connections: by the number that packets carry, the flow that uses the connection now, and its first byte there.
    serving: Vec<Request>,
    /// PFC frames sent and received, which belong to links and not to the end-to-end account.
    pub frames_sent: u64,
    pub frames_received: u64,
    pub in_flight: InFlightSampler,
}

/// A flow on a persistent connection.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub flow: FlowId,
    /// Offset of its first byte on the connection.
    pub begin: u64,
}

impl Counters {
    /// Without counts.
    pub fn new() -> Counters {
        Counters::default()
    }

    /// A persistent connection serves another flow.
    pub fn serve(&mut self, number: FlowId, request: Request) {
        let none = Request { flow: FlowId::NONE, begin: 0 };
        if self.serving.len() <= number.index() {
            self.serving.resize(number.index() + 1, none);
        }
        self.serving[number.index()] = request;
    }

    /// The flow that packets with this number belong to now.
    pub fn request(&self, number: FlowId) -> Request {
        let request = self.serving.get(number.index()).copied().filter(|r| r.flow.exists());
        request.unwrap_or(Request { flow: number, begin: 0 })
    }

    /// A flow of an algorithm, across datacenters or not, is over, or the run: the time under each limit.
    pub fn note_limits(&mut self, record: &mut FlowRecord, (algorithm, crosses): (u16, bool), times: &Times) {
        record.first_limit = Some(limits::longest_limit(times));
        self.limits.note(algorithm, crosses, times);
    }

    /// A data packet was dropped, lost or damaged.
    pub fn count_dropped(&mut self, number: FlowId) {
        let flow = self.request(number).flow;
        self.dropped.add(flow);
    }

    /// A packet waited for a pause whose root is not on its way.
    pub fn count_victim(&mut self, number: FlowId) {
        let flow = self.request(number).flow;
        self.victims.add(flow);
    }

    pub fn dropped_packets(&self, flow: FlowId) -> u64 {
        self.dropped.count(flow)
    }

    pub fn victims(&self, flow: FlowId) -> u64 {
        self.victims.count(flow)
    }
}

/// A count for each flow, as long as the last flow that has one.
#[derive(Default)]
struct PerFlow(Vec<u32>);

impl PerFlow {
    fn add(&mut self, flow: FlowId) {
        if self.0.len() <= flow.index() {
            self.0.resize(flow.index() + 1, 0);
        }
        let count = &mut self.0[flow.index()];
        *count = count.saturating_add(1);
    }

    fn count(&self, flow: FlowId) -> u64 {
        self.0.get(flow.index()).copied().unwrap_or(0).into()
    }
}

/// Samples of the packets in flight, some thousand in a run, at times that do not depend on the partition of the network. The first samples
/// are a microsecond apart. Whenever there are [`InFlightSampler::MAX_SAMPLES`], every other one is dropped and the interval doubled.
#[derive(Clone)]
pub(crate) struct InFlightSampler {
    interval: Delta,
    /// The k-th at k + 1 intervals.
    samples: Vec<u64>,
}

impl Default for InFlightSampler {
    fn default() -> InFlightSampler {
        InFlightSampler { interval: Delta::from_us(1), samples: Vec::new() }
    }
}

impl InFlightSampler {
    const MAX_SAMPLES: usize = 4096;

    /// The time of the next sample.
    pub fn next(&self) -> Time {
        Time::ZERO + self.interval * (self.samples.len() as u64 + 1)
    }

    /// Notes the packets in flight at [`InFlightSampler::next`].
    pub fn sample(&mut self, in_flight: u64) {
        self.samples.push(in_flight);
        if self.samples.len() == InFlightSampler::MAX_SAMPLES {
            self.interval = self.interval * 2;
            let every_other = self.samples.iter().skip(1).step_by(2).copied().collect();
            self.samples = every_other;
        }
    }

    /// The most in flight in all parts together up to `end`, where `now` are in flight.
    pub fn max_in_flight(parts: &[InFlightSampler], end: Time, now: u64) -> u64 {
        let Some(interval) = parts.iter().map(|c| c.interval).max() else { return now };
        let at = |sampler: &InFlightSampler, k: u64| {
            let own = (interval.as_ps() / sampler.interval.as_ps()) * k;
            sampler.samples.get(own as usize - 1).copied()
        };
        let samples = end.since(Time::ZERO).as_ps() / interval.as_ps();
        let sum = |k| parts.iter().map(|sampler| at(sampler, k)).sum::<Option<u64>>();
        (1..=samples).map_while(sum).max().unwrap_or(0).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_persistent_connection_go_to_the_flow_that_uses_it() {
        let mut counters = Counters::new();
        counters.count_dropped(FlowId(3));
        counters.serve(FlowId(3), Request { flow: FlowId(8), begin: 100 });
        counters.count_dropped(FlowId(3));
        counters.count_dropped(FlowId(3));
        counters.count_victim(FlowId(2));
        assert_eq!([3, 8, 2, 99].map(|f| counters.dropped_packets(FlowId(f))), [1, 2, 0, 0]);
        assert_eq!((counters.victims(FlowId(2)), counters.request(FlowId(3)).begin), (1, 100));
    }

    #[test]
    fn looks_thin_out_and_the_parts_are_added_at_equal_times() {
        let (mut a, mut b) = (InFlightSampler::default(), InFlightSampler::default());
        for k in 1..=5000u64 {
            a.sample(k);
        }
        for _ in 0..2300 {
            b.sample(7);
        }
        // 4096 samples of 1 us became 2048 of 2 us; 904 more of 2 us (with numbers 4097 to 5000) followed.
        assert_eq!((a.interval, a.samples.len(), a.samples[..2].to_vec()), (Delta::from_us(2), 2952, vec![2, 4]));
        let end = Time::ZERO + Delta::from_us(2300);
        assert_eq!(InFlightSampler::max_in_flight(&[a.clone(), b.clone()], end, 0), 2300 + 7);
        assert_eq!(InFlightSampler::max_in_flight(&[a], Time::ZERO + Delta::from_us(99), 5), 98);
        assert_eq!(InFlightSampler::max_in_flight(&[b], Time::ZERO, 5), 5);
    }
}
