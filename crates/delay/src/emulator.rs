//! Links between interfaces of a network namespace: moves packets from their rings through [`Direction`]s, and sends what is due.
//!
//! A packet's time is the kernel's, of when it reached the interface. The clock is read once for what comes and once for what leaves, and a
//! system call sends up to [`ring::BATCH`] packets. While packets are on their way the process sleeps until the next one is due, or for as
//! long as nothing that comes meanwhile can be due; otherwise it waits for the next frame.

use crate::direction::{Counts, Direction};
use crate::frame::{self, Frame, Packets, packets};
use crate::joining::Joiner;
use crate::lateness::Distribution;
use crate::ring::{self, Interface};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// Frames that a ring takes before it overflows: 50 ms at 1 Gbps and 1500 bytes.
const SLOTS: usize = 4096;

/// The same of frames of up to 64 kB.
const LARGE_SLOTS: usize = 768;

/// Bytes of frames that are taken from a ring before what is due leaves: a tenth of a millisecond's work. A sender that begins fills
/// the ring.
const TAKEN: usize = 192 << 10;

/// The largest frame that hosts leave to others to cut: a packet of 64 kB behind its header and tags.
const LARGEST: usize = (1 << 16) + 64;

/// The longest sleep while packets are on their way, in ns: a tenth of what a ring takes.
const MAX_SLEEP: u64 = 500_000;

/// The shortest sleep, in ns. Packets that are due within it leave together; without it each would cost a sleep.
const MIN_SLEEP: u64 = 20_000;

/// Two interfaces of this network namespace and what lies between them: frames that come by the first take the first direction.
#[derive(Debug)]
pub struct Link {
    /// The names of the interfaces.
    pub ends: [String; 2],
    /// Both directions.
    pub directions: [Direction; 2],
}

/// How it opens interfaces and what it records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The longest frame that comes, in bytes, tags included.
    pub longest: usize,
    /// Frames of several packets may come that are as long as any, up to 64 kB.
    pub takes_large: bool,
    /// Frames to any address are taken.
    pub promiscuous: bool,
    /// When sampled packets were due is recorded.
    pub samples: bool,
    /// TCP segments that leave together leave as one frame ([`crate::joining`]).
    pub joins: bool,
}

/// The counts and lateness of a direction.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Packets by what became of them.
    pub counts: Counts,
    /// Packets that were still here at the end.
    pub inside: u64,
    /// How late packets left, in ns.
    pub lateness: Distribution,
    /// Frames that came while the ring was full: this host was too slow, and the law does not know of them.
    pub overruns: u64,
    /// Packets that the interface did not take.
    pub refused: u64,
    /// Bytes of the longest frame that was joined from several packets; 0 without.
    pub joined: usize,
    /// Of sampled packets, the key of [`frame::sample_key`], and when they were due, in ns of `CLOCK_MONOTONIC`.
    pub samples: Vec<(u64, u64)>,
}

/// Packets that are about to leave, with their times, and what joins them.
struct Outgoing {
    batch: Vec<(u64, Frame)>,
    joiner: Joiner,
}

/// One direction, its two interfaces, and its counts.
struct Lane {
    from: usize,
    to: usize,
    direction: Direction,
    report: Report,
    /// All that came until then has been taken, in ns since the start: the port may go on up to there.
    complete: u64,
    /// More waits in the ring.
    has_more: bool,
}

/// Calls `ready`, and then emulates all links until `stop` has no writer any more: an end of a pipe that the process which wants them holds
/// open. Gives what each link did, its first direction first.
///
/// An interface that cannot be opened, or a socket that fails, is an error.
pub fn run(
    links: Vec<Link>,
    options: Options,
    ready: impl FnOnce(),
    stop: &mut (impl Read + AsFd),
) -> io::Result<Vec<[Report; 2]>> {
    let longest = if options.takes_large { LARGEST } else { options.longest };
    let slots = if options.takes_large { LARGE_SLOTS } else { SLOTS };
    let (mut interfaces, mut lanes) = (Vec::new(), Vec::new());
    for link in links {
        let first = interfaces.len();
        for end in &link.ends {
            interfaces.push(Interface::open(end, longest, slots, options.promiscuous)?);
        }
        let [there, back] = link.directions;
        for (direction, from, to) in [(there, first, first + 1), (back, first + 1, first)] {
            lanes.push(Lane { from, to, direction, report: Report::default(), complete: 0, has_more: false });
        }
    }
    ring::set_timer_slack(1)?;
    let start = monotonic()?;
    ready();
    let mut outgoing = Outgoing { batch: Vec::with_capacity(ring::BATCH), joiner: Joiner::default() };
    let mut last_look = start;
    loop {
        let clock = Clock::read(start)?;
        for lane in &mut lanes {
            lane.receive(&mut interfaces, clock, (TAKEN / longest).max(4));
        }
        for lane in &mut lanes {
            lane.send(&interfaces, start, options, &mut outgoing)?;
        }
        let now = monotonic()?;
        let has_more = lanes.iter().any(|lane| lane.has_more);
        let wait = if has_more { Some(0) } else { wait(&lanes, now - start) };
        if wait.is_some() && now < last_look + 10 * MAX_SLEEP {
            if !has_more {
                sleep(wait)?;
            }
            continue;
        }
        last_look = now;
        if poll(&interfaces, stop, wait)? {
            return Ok(end(lanes, &interfaces));
        }
    }
}

/// The reports of all links.
fn end(lanes: Vec<Lane>, interfaces: &[Interface]) -> Vec<[Report; 2]> {
    let reports = lanes.into_iter().map(|lane| Report {
        counts: lane.direction.counts(),
        inside: lane.direction.inside(),
        overruns: interfaces[lane.from].take_overruns(),
        ..lane.report
    });
    let mut all: Vec<Report> = reports.collect();
    let mut pairs = Vec::new();
    while let (Some(back), Some(there)) = (all.pop(), all.pop()) {
        pairs.push([there, back]);
    }
    pairs.reverse();
    pairs
}

impl Default for Report {
    fn default() -> Report {
        let lateness = Distribution::default();
        Report {
            counts: Counts::default(),
            inside: 0,
            lateness,
            overruns: 0,
            refused: 0,
            joined: 0,
            samples: Vec::new(),
        }
    }
}

impl Lane {
    /// Takes up to `most` frames of what has come.
    fn receive(&mut self, interfaces: &mut [Interface], clock: Clock, most: usize) {
        let direction = &mut self.direction;
        let mut last = 0;
        let taken = interfaces[self.from].take(most, |received| {
            let at = clock.since_start(received.stamp);
            last = at;
            if received.bytes.len() < received.length {
                direction.refuse();
                return;
            }
            if received.offload.segments.is_some() {
                direction.note_burst(received.bytes.len());
            }
            let into = &mut Arriving { direction, at };
            if !packets(received.bytes, received.offload, received.vlan, into) {
                direction.refuse();
            }
        });
        // What came after the last one taken is not known yet, and the port's queue counts it.
        self.has_more = taken == most;
        self.complete = self.complete.max(if self.has_more { last } else { clock.now });
        direction.advance(self.complete);
    }

    /// Sends what is due.
    fn send(
        &mut self,
        interfaces: &[Interface],
        start: u64,
        options: Options,
        outgoing: &mut Outgoing,
    ) -> io::Result<()> {
        let Outgoing { batch, joiner } = outgoing;
        let mut now = monotonic()? - start;
        loop {
            while batch.len() < ring::BATCH {
                let Some(packet) = self.direction.take(now) else { break };
                batch.push(packet);
            }
            if batch.is_empty() {
                return Ok(());
            }
            joiner.join(batch, options.joins);
            self.report.joined = self.report.joined.max(joiner.longest());
            self.report.refused += interfaces[self.to].send(joiner.frames(batch))?;
            // When the call has returned all of them have left: none was earlier than this says.
            now = monotonic()? - start;
            let is_last = batch.len() < ring::BATCH;
            for (due, packet) in batch.drain(..) {
                self.report.lateness.add(now.saturating_sub(due));
                if options.samples
                    && let Some(key) = frame::sample_key(&packet.bytes)
                {
                    self.report.samples.push((key, due + start));
                }
                self.direction.recycle(packet);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

/// How long nothing has to be done, in ns; `None` until the next frame comes.
fn wait(lanes: &[Lane], now: u64) -> Option<u64> {
    let due = lanes.iter().filter(|lane| !lane.direction.is_empty()).map(|lane| lane.direction.next_due());
    let due = due.map(|due| due.map_or(MAX_SLEEP, |due| due.saturating_sub(now))).min()?;
    // What comes meanwhile is not due before.
    let shortest = lanes.iter().map(|lane| lane.direction.shortest()).min().unwrap_or(0);
    Some(due.min(shortest).clamp(MIN_SLEEP, MAX_SLEEP))
}

/// Packets that arrive at a direction at one time.
struct Arriving<'a> {
    direction: &'a mut Direction,
    at: u64,
}

impl Packets for Arriving<'_> {
    fn buffer(&mut self) -> Vec<u8> {
        self.direction.buffer()
    }

    fn take(&mut self, packet: Frame) {
        self.direction.arrive(self.at, packet);
    }
}

/// A reading of two clocks at one time: stamps are of the clock on the wall, which may be set.
#[derive(Clone, Copy)]
struct Clock {
    /// In ns since the start.
    now: u64,
    /// The clock on the wall.
    wall: u64,
}

impl Clock {
    fn read(start: u64) -> io::Result<Clock> {
        let wall = nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME)?);
        Ok(Clock { now: monotonic()? - start, wall })
    }

    /// A stamp in ns since the start. One of more than a second ago is of before the clock was set.
    fn since_start(&self, stamp: u64) -> u64 {
        let ahead = stamp.saturating_sub(self.wall).min(1_000_000);
        let age = self.wall.saturating_sub(stamp);
        (self.now + ahead).saturating_sub(if age > 1_000_000_000 { 0 } else { age })
    }
}

fn sleep(wait: Option<u64>) -> io::Result<()> {
    let wait = wait.map(|ns| TimeSpec::from(Duration::from_nanos(ns)));
    match ppoll(&mut [], wait, None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits for frames, for the end, or for `wait`. Returns true at the end.
fn poll(interfaces: &[Interface], stop: &mut (impl Read + AsFd), wait: Option<u64>) -> io::Result<bool> {
    let has_stop = {
        let mut all = vec![PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        // While packets are on their way others need not wake this process.
        if wait.is_none() {
            all.extend(interfaces.iter().map(|interface| PollFd::new(interface.as_fd(), PollFlags::POLLIN)));
        }
        match ppoll(&mut all, wait.map(|ns| TimeSpec::from(Duration::from_nanos(ns))), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        all[0].revents().is_some_and(|events| !events.is_empty())
    };
    // Any bytes there are ignored; the end is when the pipe has no writer.
    Ok(has_stop && stop.read(&mut [0; 64])? == 0)
}

pub(crate) fn monotonic() -> io::Result<u64> {
    Ok(nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC)?))
}

pub(crate) fn nanoseconds(at: TimeSpec) -> u64 {
    u64::try_from(at.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(at.tv_nsec()).unwrap_or(0)
}
