//! GOAL traces as flows that wait for one another: `farloop import-goal`.
//!
//! A message (`send` with its `recv`) becomes a flow; what a rank computes (`calc`) becomes the delay with which a flow follows those that
//! it depends on. Each operation has two moments, its start and its end, and each moment is the latest of some ends of messages, each with
//! a delay, and a constant: `requires` joins ends into a start, `irequires` joins starts.

use super::goal_line::Kind;
use super::goal_text::{MAX_NUMBER, Rules, Statement, Target, read_into};
use super::source::Progress;
use crate::error::{JobError, Place};
use crate::job::{Operation, Program, ProgramBuilder, Work};
use farloop_units::display_clipped;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::BufRead;

/// The most pairs of a flow and one that waits for it: what a scenario takes.
pub const MAX_WAITS: usize = 5_000_000;

/// Steps between two calls of `progress`.
const STEPS: usize = 1 << 20;

const RULES: Rules = Rules {
    all_ranks: false,
    wildcards: false,
    utf8: true,
    max_ranks: MAX_NUMBER,
    max_computing: MAX_NUMBER,
    max_sent: MAX_NUMBER,
    max_received: MAX_NUMBER,
    max_tag: MAX_NUMBER,
    max_device: MAX_NUMBER,
};

/// A trace whose messages become flows.
#[derive(Debug)]
pub struct Trace {
    name: String,
    ranks: Vec<Rank>,
}

#[derive(Debug)]
struct Rank {
    number: u64,
    steps: Vec<Step>,
    /// The dependencies of its steps.
    order: Program,
}

/// An operation.
#[derive(Debug)]
struct Step {
    line: u64,
    kind: Kind,
    label: Option<Box<str>>,
    /// Bytes or nanoseconds.
    amount: u64,
    peer: u64,
    tag: u64,
}

/// A flow: a row of the list that a scenario's `[workload]` reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Its rank and the label of its `send`.
    pub name: String,
    /// Its source.
    pub from: String,
    /// Its destination.
    pub to: String,
    /// Its earliest start with unit, empty for the begin of the run.
    pub start: String,
    /// Its size with unit.
    pub size: String,
    /// The flows whose ends it waits for, with delays.
    pub after: String,
}

/// The latest of a constant and the ends of flows, each with its delay: nanoseconds.
#[derive(Clone, Default)]
struct Moment {
    constant: u128,
    flows: BTreeMap<u32, u128>,
}

impl Moment {
    fn join(&mut self, other: &Moment) {
        self.constant = self.constant.max(other.constant);
        for (&flow, &delay) in &other.flows {
            let latest = self.flows.entry(flow).or_default();
            *latest = delay.max(*latest);
        }
    }

    fn delay_by(&self, nanoseconds: u64) -> Moment {
        let later = u128::from(nanoseconds);
        let flows = self.flows.iter().map(|(&flow, delay)| (flow, delay + later)).collect();
        Moment { constant: self.constant + later, flows }
    }
}

impl Trace {
    /// Reads a GOAL text of `total` bytes.
    pub fn read(reader: &mut impl BufRead, name: &str, total: u64, progress: Progress<'_>) -> Result<Trace, JobError> {
        let target = Reading { ranks: Vec::new(), steps: Vec::new(), builder: ProgramBuilder::new() };
        let (_, read) = read_into(reader, (name, total), progress, &RULES, target)?;
        Ok(Trace { name: name.to_string(), ranks: read.ranks })
    }

    /// The numbers of its ranks, in the order of the file.
    pub fn ranks(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranks.iter().map(|rank| rank.number)
    }

    /// The flows, where the ranks are at these hosts, which have the order of [`Trace::ranks`]. With `eager`, what depends on a rank's own
    /// send does not wait for its end.
    ///
    /// Refuses messages that lack their other half or stay at a host, and operations that wait for themselves. `progress` gets ranks.
    pub fn flows(&self, hosts: &[String], eager: bool, progress: Progress<'_>) -> Result<Vec<Flow>, JobError> {
        let messages = Messages::match_messages(self)?;
        if messages.names.is_empty() {
            let text = "no message; expected operations such as \"l1: send 8b to 1 tag 0\"";
            return Err(JobError::new(&self.name, Place::File, text));
        }
        let host_of: HashMap<u64, &str> = self.ranks().zip(hosts.iter().map(String::as_str)).collect();
        let (mut flows, mut waits) = (Vec::with_capacity(messages.names.len()), 0);
        let total = self.ranks.len() as u64;
        for (done, (rank, numbers)) in (0..).zip(self.ranks.iter().zip(&messages.numbers)) {
            let starts = self.starts(rank, numbers, eager, &mut || progress(done, total))?;
            let sends = rank.steps.iter().zip(starts).filter(|(step, _)| step.kind == Kind::Send);
            for (step, start) in sends {
                let (from, to) = (host_of[&rank.number], host_of[&step.peer]);
                if from == to {
                    let (number, peer, host) = (rank.number, step.peer, display_clipped(from, 80));
                    let text = format!("ranks {number} and {peer} are both at {host}");
                    return Err(self.error(step, format!("{text}; expected messages between different hosts (hosts)")));
                }
                waits += start.flows.len();
                if waits > MAX_WAITS {
                    let text = format!("messages wait for more than {MAX_WAITS} others in all");
                    return Err(self.error(step, text));
                }
                let named = |(&flow, &delay): (&u32, &u128)| match (&messages.names[flow as usize], delay) {
                    (name, 0) => name.clone(),
                    (name, delay) => format!("{name}+{delay}ns"),
                };
                let after: Vec<String> = start.flows.iter().map(named).collect();
                // Nothing ends before the run begins.
                let is_late = start.constant > start.flows.values().copied().max().unwrap_or(0);
                flows.push(Flow {
                    // Flows are numbered in this order.
                    name: messages.names[flows.len()].clone(),
                    from: from.to_string(),
                    to: to.to_string(),
                    start: if is_late { format!("{}ns", start.constant) } else { String::new() },
                    size: format!("{}B", step.amount.max(1)),
                    after: after.join(" "),
                });
            }
        }
        Ok(flows)
    }

    fn error(&self, step: &Step, reason: String) -> JobError {
        JobError::new(&self.name, Place::Line(step.line), reason)
    }

    /// The start of each operation of a rank; `numbers` are those of its messages.
    fn starts(
        &self,
        rank: &Rank,
        numbers: &[u32],
        eager: bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Moment>, JobError> {
        let mut left = rank.order.needs().to_vec();
        let mut starts = vec![Moment::default(); rank.steps.len()];
        let mut ready: Vec<u32> = (0..left.len() as u32).filter(|&position| left[position as usize] == 0).collect();
        let mut work = 0;
        while let Some(position) = ready.pop() {
            let at = position as usize;
            let (step, flow) = (&rank.steps[at], numbers[at]);
            let start = std::mem::take(&mut starts[at]);
            let end = match step.kind {
                Kind::Compute => start.delay_by(step.amount),
                Kind::Receive => {
                    let mut end = start.clone();
                    end.flows.entry(flow).or_default();
                    end
                }
                Kind::Send if eager => start.clone(),
                // A message begins when its operation does, and ends later.
                Kind::Send => Moment { constant: 0, flows: BTreeMap::from([(flow, 0)]) },
            };
            for follower in rank.order.followers(position) {
                let to = follower.operation as usize;
                starts[to].join(if follower.at_start { &start } else { &end });
                left[to] -= 1;
                if left[to] == 0 {
                    ready.push(follower.operation);
                }
                work += 1 + start.flows.len();
                if work >= STEPS {
                    work = 0;
                    if !go_on() {
                        return Err(JobError::new_cancelled());
                    }
                }
            }
            if step.kind == Kind::Send {
                starts[at] = start;
            }
        }
        match left.iter().position(|&count| count > 0) {
            Some(stuck) => {
                let text = "this operation waits for itself, directly or through other operations";
                Err(self.error(&rank.steps[stuck], text.into()))
            }
            None => Ok(starts),
        }
    }
}

/// Messages by number.
struct Messages {
    names: Vec<String>,
    /// By rank in the order of the file and position: the number of an operation's message.
    numbers: Vec<Vec<u32>>,
}

/// Messages of one pair and tag that are not yet received: they arrive in the order in which the trace has them.
struct Pending<'a> {
    to: u64,
    tag: u64,
    sends: VecDeque<(&'a Step, u32)>,
}

impl Messages {
    /// Gives each message its number, in the order of the sends, and finds its two halves.
    fn match_messages(trace: &Trace) -> Result<Messages, JobError> {
        let mut names = Vec::new();
        let mut numbers: Vec<Vec<u32>> = trace.ranks.iter().map(|rank| vec![0; rank.steps.len()]).collect();
        let mut pending: Vec<Pending<'_>> = Vec::new();
        let mut of_pair: HashMap<(u64, u64, u64), usize> = HashMap::new();
        for (rank, numbers) in trace.ranks.iter().zip(&mut numbers) {
            for (position, step) in rank.steps.iter().enumerate().filter(|(_, step)| step.kind == Kind::Send) {
                let flow = names.len() as u32;
                numbers[position] = flow;
                names.push(match &step.label {
                    Some(label) => format!("r{}-{label}", rank.number),
                    None => format!("r{}-{position}", rank.number),
                });
                let (to, tag) = (step.peer, step.tag);
                let at = *of_pair.entry((rank.number, to, tag)).or_insert_with(|| {
                    pending.push(Pending { to, tag, sends: VecDeque::new() });
                    pending.len() - 1
                });
                pending[at].sends.push_back((step, flow));
            }
        }
        for (rank, numbers) in trace.ranks.iter().zip(&mut numbers) {
            for (position, step) in rank.steps.iter().enumerate().filter(|(_, step)| step.kind == Kind::Receive) {
                let pair = of_pair.get(&(step.peer, rank.number, step.tag));
                let Some((send, flow)) = pair.and_then(|&at| pending[at].sends.pop_front()) else {
                    let (from, to, tag) = (step.peer, rank.number, step.tag);
                    let text = format!("rank {from} sends no such message to rank {to} (tag {tag})");
                    return Err(trace.error(step, format!("{text}; expected as many send as recv")));
                };
                if send.amount > step.amount {
                    let (taken, sent, line) = (step.amount, send.amount, send.line);
                    return Err(trace.error(step, format!("{taken} bytes for a message of {sent} (line {line})")));
                }
                numbers[position] = flow;
            }
        }
        match pending.iter().find_map(|pair| pair.sends.front().map(|(send, _)| (pair, send))) {
            Some((Pending { to, tag, .. }, send)) => {
                let text = format!("rank {to} receives no such message (tag {tag}); expected as many recv as send");
                Err(trace.error(send, text))
            }
            None => Ok(Messages { names, numbers }),
        }
    }
}

/// Takes the ranks of a file.
struct Reading {
    ranks: Vec<Rank>,
    steps: Vec<Step>,
    builder: ProgramBuilder,
}

impl Target for Reading {
    fn set_read(&mut self, _bytes: u64) {}

    fn add_operation(&mut self, made: Statement<'_>) -> Result<(), String> {
        let Statement { line, kind, amount, .. } = made;
        let label = made.label.filter(|_| kind == Kind::Send).map(|label| String::from_utf8_lossy(label).into());
        let (peer, tag) = (made.peer.unwrap_or(0), made.tag.unwrap_or(0));
        self.steps.push(Step { line, kind, label, amount, peer, tag });
        // The steps say what is done.
        self.builder.push(Operation { work: Work::Join, stream: 0, nic: 0, phase: 0, place: line });
        Ok(())
    }

    fn reserve_dependency(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn connect(&mut self, later: u32, sooner: u32, at_start: bool) {
        if at_start { self.builder.irequires(later, sooner) } else { self.builder.requires(later, sooner) }
    }

    fn end_rank(&mut self, number: u64) -> Result<(), JobError> {
        let order = std::mem::take(&mut self.builder).finish();
        self.ranks.push(Rank { number, steps: std::mem::take(&mut self.steps), order });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(text: &str, eager: bool) -> Result<Vec<Flow>, JobError> {
        let trace = Trace::read(&mut text.as_bytes(), "x.goal", 0, &mut |_, _| true)?;
        let hosts: Vec<String> = trace.ranks().map(|rank| format!("h{rank}")).collect();
        trace.flows(&hosts, eager, &mut |_, _| true)
    }

    fn waits(text: &str, eager: bool) -> Vec<(String, String, String)> {
        let made = flows(text, eager).expect("a trace");
        made.into_iter().map(|flow| (flow.name, flow.start, flow.after)).collect()
    }

    const CHAIN: &str = "num_ranks 9000000000\nrank 1 {\nr: recv 9b from 0 tag 5000000000\na: calc 20\na requires r\nb: calc 5\n\
        b requires a\ns: send 8b to 0 cpu -1\ns requires b\ns requires r\nt: send 8b to 0 tag 1\nt requires s\n}\n\
        rank 0 {\nc: calc 300\nsend 0b to 1 tag 5000000000\nrecv 8b from 1\nrecv 8b from 1 tag 1\n}\n";

    #[test]
    fn flows_wait_for_the_latest_of_what_operations_need() {
        let row = |name: &str, start: &str, after: &str| (name.to_string(), start.to_string(), after.to_string());
        let (first, own) = (row("r1-s", "", "r0-1+25ns"), row("r0-1", "", ""));
        assert_eq!(waits(CHAIN, false), [first.clone(), row("r1-t", "", "r1-s"), own.clone()]);
        assert_eq!(waits(CHAIN, true), [first, row("r1-t", "", "r0-1+25ns"), own]);
        let late = CHAIN.replace("send 0b", "q: send 0b").replace("recv 8b from 1\n", "q requires c\nrecv 8b from 1\n");
        assert_eq!(waits(&late, false)[2], row("r0-q", "300ns", ""));
        assert_eq!(flows(CHAIN, false).expect("a trace")[2].size, "1B");
    }

    #[test]
    fn traces_that_only_a_run_would_resolve_are_refused() {
        let refused = |from: &str, to: &str| flows(&CHAIN.replace(from, to), false).expect_err(to).to_string();
        assert_eq!(
            refused("recv 8b from 1\n", "recv 8b from -1\n"),
            "x.goal:17: recv 8b from -1: -1 stands for any; which message that is only a run would tell: expected a rank and a tag"
        );
        assert!(
            refused("t requires s", "t requires s\ns requires t")
                .starts_with("x.goal:8: this operation waits for itself")
        );
        assert!(refused("recv 8b from 1\n", "").starts_with("x.goal:8: rank 0 receives no such message (tag 0)"));
        assert!(refused("send 0b", "send 10b").starts_with("x.goal:3: 9 bytes for a message of 10 (line 16)"));
        let read = Trace::read(&mut &b"// \xe9\n"[..], "x.goal", 0, &mut |_, _| true);
        assert_eq!(read.expect_err("Latin-1").to_string(), "x.goal:1: is not UTF-8 text");
    }
}
