//! A link as a fluid queue: input rates, and what follows from them in closed form between two changes.

use farloop_cc::int::RateCode;

/// Bytes per picosecond of one bit per second.
pub(crate) const BYTES_PER_PS: f64 = 1.0 / 8e12;

/// The next whole number.
#[inline]
pub(crate) fn round_up(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole < x { whole + 1.0 } else { whole }
}

/// Marking by the length of the queue: never below `kmin`, always above `kmax`, with a probability that rises linearly between them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Marking {
    /// In bytes.
    pub kmin: f64,
    /// In bytes.
    pub kmax: f64,
    /// Probability just below `kmax`.
    pub pmax: f64,
}

impl Marking {
    /// No queue is marked.
    pub const NONE: Marking = Marking { kmin: f64::MAX, kmax: f64::MAX, pmax: 0.0 };

    /// The probability at a queue.
    pub fn probability(&self, queue: f64) -> f64 {
        if queue <= self.kmin {
            0.0
        } else if queue < self.kmax {
            self.pmax * (queue - self.kmin) / (self.kmax - self.kmin)
        } else {
            1.0
        }
    }

    /// The integral of the probability from an empty queue to this one.
    fn integral(&self, queue: f64) -> f64 {
        let slope = |x: f64| self.pmax * x * x / 2.0 / (self.kmax - self.kmin);
        if queue <= self.kmin {
            0.0
        } else if queue <= self.kmax {
            slope(queue - self.kmin)
        } else {
            let rising = if self.kmax > self.kmin { slope(self.kmax - self.kmin) } else { 0.0 };
            rising + queue - self.kmax
        }
    }

    /// The part of the marks while a queue moves evenly from one length to another that came in the first `part` of that time.
    fn share(&self, (from, to): (f64, f64), part: f64) -> f64 {
        let all = self.mean(from, to);
        // Where none is marked, the queue was longer in between.
        if all <= 0.0 || all >= 1.0 { part } else { part * self.mean(from, from + (to - from) * part) / all }
    }

    /// The mean probability while a queue moves evenly from one length to another.
    fn mean(&self, from: f64, to: f64) -> f64 {
        let moved = to - from;
        if moved.abs() > 1.0 { (self.integral(to) - self.integral(from)) / moved } else { self.probability(to) }
    }
}

/// The facts of a link, which do not change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LinkFacts {
    /// In bit/s.
    pub rate: u64,
    /// Propagation delay in picoseconds.
    pub delay: f64,
    /// True if a host sends by it: its flows share it by the host's schedule, and it has no queue.
    pub of_host: bool,
    /// Marking of its queue.
    pub marking: Marking,
    /// Most bytes of its queue; the rest is lost.
    pub limit: f64,
    /// Most bytes of its queue in which packets find room that came by a link without PFC.
    pub lossy_limit: f64,
    /// Its telemetry; `None` if it stamps none.
    pub telemetry: Option<RateCode>,
}

/// Counters of a link that ACKs tell of. They only grow, but for the queue.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Counters {
    /// Bytes that it has sent.
    pub sent: f64,
    /// Bytes that wait.
    pub queue: f64,
    /// Time in which it has marked: the integral of the probability, in picoseconds.
    pub marked: f64,
    /// Bytes that found no room.
    pub lost: f64,
}

impl Counters {
    /// Bytes that have come: each was sent, waits or found no room.
    pub fn arrived(&self) -> f64 {
        self.sent + self.queue + self.lost
    }
}

/// A link in motion. An empty queue needs the first cache line alone, and a queue the second as well.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    pub counters: Counters,
    /// Sum of what its flows put in, in bit/s: integers, so that it is exact however often flows come and go.
    input: i64,
    rate: i64,
    /// Until when the counters count.
    at: f64,
    /// Bytes that have come, counted apart from what became of them.
    arrived: f64,
    // The second line.
    /// Picoseconds per byte.
    time_per_byte: f64,
    /// Input for which the shares of the flows that go on were told to the links behind.
    told_input: i64,
    marking: Marking,
    /// True if its switch wants to know when its queue grows.
    pub watched: bool,
    /// The longest queue since [`Link::take_recent_max`].
    recent_max: f64,
    /// Time integral of the queue, in byte-picoseconds.
    pub integral: f64,
    // The third.
    limit: f64,
    /// The same for packets that came by a link without PFC, where the others lose nothing.
    pub lossy_limit: f64,
    max_queue: f64,
    /// In bytes per picosecond.
    speed: f64,
    /// Slots of the flows that go on to another link behind this one, and the place of this one in their paths.
    pub through: Vec<(u32, u32)>,
}

impl Link {
    pub fn new(facts: &LinkFacts) -> Link {
        let speed = facts.rate as f64 * BYTES_PER_PS;
        Link {
            counters: Counters::default(),
            input: 0,
            rate: facts.rate as i64,
            at: 0.0,
            arrived: 0.0,
            time_per_byte: 1.0 / speed,
            told_input: 0,
            marking: facts.marking,
            watched: false,
            recent_max: 0.0,
            integral: 0.0,
            limit: facts.limit,
            lossy_limit: facts.lossy_limit,
            max_queue: 0.0,
            speed,
            through: Vec::new(),
        }
    }

    /// Counts up to `now`, in picoseconds.
    #[inline]
    pub fn advance(&mut self, now: f64) {
        let elapsed = now - self.at;
        if elapsed <= 0.0 {
            return;
        }
        self.at = now;
        let came = self.input as f64 * BYTES_PER_PS * elapsed;
        self.arrived += came;
        let counters = &mut self.counters;
        let surplus = self.input - self.rate;
        if counters.queue <= 0.0 && surplus <= 0 {
            counters.sent += came;
            return;
        }
        self.advance_queue(elapsed, came, surplus as f64 * BYTES_PER_PS);
    }

    fn advance_queue(&mut self, elapsed: f64, came: f64, growth: f64) {
        let counters = &mut self.counters;
        let before = counters.queue;
        let mut after = before + growth * elapsed;
        let mut moving = elapsed;
        if after < 0.0 {
            (after, moving) = (0.0, before / -growth);
        }
        let mut lost = 0.0;
        if after > self.limit {
            (lost, after) = (after - self.limit, self.limit);
        }
        if before.max(after) > self.marking.kmin {
            counters.marked += moving * self.marking.mean(before, after);
        }
        counters.lost += lost;
        counters.sent += came - (after - before) - lost;
        counters.queue = after;
        self.integral += moving * (before + after) / 2.0;
        // Between two changes the longest queue is at one of them.
        self.recent_max = self.recent_max.max(after);
    }

    /// Time in which it had marked `part` of the way between two counters: a queue that grows is not marked before it is long.
    #[inline]
    pub fn marked_between(&self, before: &Counters, after: &Counters, part: f64) -> f64 {
        let marked = after.marked - before.marked;
        if marked <= 0.0 {
            return before.marked;
        }
        before.marked + marked * self.marking.share((before.queue, after.queue), part)
    }

    /// The longest queue since the last call.
    pub fn take_recent_max(&mut self) -> f64 {
        self.max_queue = self.max_queue();
        std::mem::replace(&mut self.recent_max, self.counters.queue)
    }

    /// The longest queue.
    pub fn max_queue(&self) -> f64 {
        self.max_queue.max(self.recent_max)
    }

    /// Time that a byte waits that comes now; counted up to now.
    #[inline]
    pub fn wait(&self) -> f64 {
        if self.counters.queue > 0.0 { self.counters.queue * self.time_per_byte } else { 0.0 }
    }

    /// Changes the input by `change`, in bit/s; counted up to now.
    #[inline]
    pub fn change_input(&mut self, change: i64) {
        self.input += change;
        debug_assert!(self.input >= 0, "a flow took out more than it had put in");
    }

    /// Rate in bit/s with which leaves what comes now at `rate`: its share of a full link, once it has waited.
    #[inline]
    pub fn exit_rate(&self, rate: i64) -> i64 {
        let full = self.counters.queue > 0.0 || self.input > self.rate;
        if !full || self.input <= 0 {
            return rate;
        }
        let share = rate as f64 * (self.rate as f64 / self.input as f64);
        (share as i64).min(self.rate)
    }

    /// True once in a while: when the shares of a full link's flows are others by an eighth than when this was asked last.
    #[inline]
    pub fn shares_changed(&mut self) -> bool {
        let fullest = self.input.max(self.told_input);
        let full = self.counters.queue > 0.0 || fullest > self.rate;
        let changed = full && (self.input - self.told_input).abs() > fullest / 8;
        if changed || !full {
            self.told_input = self.input;
        }
        changed
    }

    /// Takes over the marking and limits of other facts; counted up to now.
    pub fn set_facts(&mut self, facts: &LinkFacts) {
        (self.marking, self.limit, self.lossy_limit) = (facts.marking, facts.limit, facts.lossy_limit);
    }

    /// Sets its rate, in bit/s; counted up to now. What waits leaves at `drain` bytes per picosecond on average.
    pub fn set_rate(&mut self, rate: i64, drain: f64) {
        (self.rate, self.speed) = (rate, rate as f64 * BYTES_PER_PS);
        self.time_per_byte = 1.0 / drain.max(1e-9);
    }

    /// Picoseconds until it has sent so many bytes in all, at the rate at which what waits leaves; counted up to now.
    pub fn time_until_sent(&self, bytes: f64) -> f64 {
        // Behind a pause what rounding has left of the last byte would wait for ever.
        if self.counters.queue > 0.0 { (bytes - self.counters.sent) * self.time_per_byte } else { 0.0 }
    }

    /// Returns true if its queue grows, and its switch wants to know.
    #[inline]
    pub fn grows_watched(&self) -> bool {
        self.watched && self.input > self.rate
    }

    /// Rate that comes in now, in bit/s.
    pub fn input(&self) -> i64 {
        self.input
    }

    /// Bytes that have come.
    pub fn arrived(&self) -> f64 {
        self.arrived
    }

    /// Counts bytes that came and went without waiting.
    pub fn count_passed(&mut self, bytes: f64) {
        self.arrived += bytes;
        self.counters.sent += bytes;
    }

    /// In bit/s.
    pub fn rate(&self) -> i64 {
        self.rate
    }

    /// Picoseconds that a byte takes.
    pub fn time_per_byte(&self) -> f64 {
        self.time_per_byte
    }

    /// In bytes per picosecond.
    pub fn speed(&self) -> f64 {
        self.speed
    }
}
