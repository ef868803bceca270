//! Checks a job before it runs: peers exist, each send has a receive and each receive a send, and no operations wait for
//! one another.

use crate::error::JobError;
use crate::ideal::{self, Network};
use crate::job::{ANY, Job, MAX_BYTES, MAX_COMPUTING, MemberIndex, Program, Work};
use farloop_units::{Delta, Rate, Time};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Checks a job whose collectives are expanded, and gives how long it takes at least; the error names the place.
///
/// That operations of several ranks do not wait for one another is found by running the job on a network that costs nothing, all sends
/// eager.
pub fn check(job: &Job, go_on: &mut dyn FnMut(u64, u64) -> bool) -> Result<Delta, JobError> {
    check_programs(job)?;
    check_messages(job)?;
    let free = Network::alpha_beta(Delta::ZERO, Rate::MAX);
    ideal::run(job, &free, 1, false, go_on).map(|outcome| outcome.end.since(Time::ZERO))
}

/// Checks ranks one by one: peers, sums of times and bytes, and cycles.
pub fn check_programs(job: &Job) -> Result<(), JobError> {
    let ranks = job.ranks();
    let members = MemberIndex::new(&job.groups);
    let mut all_bytes = 0;
    let mut without_cycle: Option<&Arc<Program>> = None;
    for (rank, program) in (0..).zip(&job.programs) {
        let mut computing = Delta::ZERO;
        for (position, operation) in (0..).zip(program.operations()) {
            add_up(&operation.work, &mut computing, &mut all_bytes)
                .map_err(|reason| job.error(rank, position, reason))?;
            let peer = match operation.work {
                Work::Send { to, .. } => to,
                Work::Receive { from, .. } if from != ANY => from,
                Work::Collective { group, .. } => match job.groups.get(group as usize) {
                    Some(_) if members.place(group, rank).is_some() => continue,
                    Some(group) => {
                        let text = format!("is not of the group {}, whose collective it does", group.name);
                        return Err(job.error(rank, position, text));
                    }
                    None => return Err(job.error(rank, position, format!("there is no group {group}"))),
                },
                _ => continue,
            };
            if peer >= ranks {
                let text = format!("there is no rank {peer}; expected one of 0 to {}", ranks.saturating_sub(1));
                return Err(job.error(rank, position, text));
            }
        }
        // Ranks may share a program.
        if without_cycle.is_some_and(|known| Arc::ptr_eq(known, program)) {
            continue;
        }
        without_cycle = Some(program);
        if let Some(cycle) = cycle(program) {
            let shown: Vec<String> = cycle.iter().take(4).map(|&o| name_operation(job, rank, o)).collect();
            let more = if cycle.len() > 4 { format!(" and {} more", cycle.len() - 4) } else { String::new() };
            let text = format!("operations wait for one another: {}{more}", shown.join(" for "));
            return Err(job.error(rank, cycle[0], text));
        }
    }
    Ok(())
}

/// Adds the computation and the bytes of an operation to the sums of its rank and its job; the error names the sum
/// that is too large.
fn add_up(work: &Work, computing: &mut Delta, all_bytes: &mut u64) -> Result<(), String> {
    match *work {
        Work::Compute(duration) => {
            let sum = computing.as_ps().checked_add(duration.as_ps()).map(Delta::from_ps);
            *computing = sum.filter(|sum| *sum <= MAX_COMPUTING).ok_or_else(|| {
                let days = MAX_COMPUTING.as_secs_f64() / 86_400.0;
                format!("the rank computes for more than {days:.0} days up to here; expected less")
            })?;
        }
        Work::Send { bytes, .. } | Work::Collective { bytes, .. } if bytes > MAX_BYTES => {
            return Err(format!("{bytes} bytes; expected at most {MAX_BYTES}"));
        }
        Work::Send { bytes, .. } | Work::Collective { bytes, .. } => {
            let sum = all_bytes.checked_add(bytes);
            *all_bytes = sum.filter(|sum| *sum <= MAX_BYTES).ok_or_else(|| {
                format!("the job sends more than {MAX_BYTES} bytes up to here; expected at most so many")
            })?;
        }
        Work::Receive { .. } | Work::Join => (),
    }
    Ok(())
}

fn name_operation(job: &Job, rank: u32, operation: u32) -> String {
    use crate::job::Places;
    let place = job.programs[rank as usize].operations()[operation as usize].place;
    match job.places {
        Places::Lines => format!("line {place}"),
        Places::Bytes => format!("byte {place}"),
        Places::Nodes => format!("node {place}"),
        Places::Operations => format!("operation {place}"),
    }
}

/// Operations that wait for one another: each for the next, and the last for the first.
fn cycle(program: &Program) -> Option<Vec<u32>> {
    let mut left = program.needs().to_vec();
    let mut free: Vec<u32> = (0..).zip(&left).filter(|n| *n.1 == 0).map(|n| n.0).collect();
    let mut done = 0;
    while let Some(operation) = free.pop() {
        done += 1;
        for follower in program.followers(operation) {
            left[follower.operation as usize] -= 1;
            if left[follower.operation as usize] == 0 {
                free.push(follower.operation);
            }
        }
    }
    if done == left.len() {
        return None;
    }
    // Each that is left waits for another that is left: following those comes to a cycle.
    let mut sooner_of = vec![u32::MAX; left.len()];
    for sooner in (0..left.len() as u32).filter(|&s| left[s as usize] > 0) {
        for follower in program.followers(sooner) {
            if sooner_of[follower.operation as usize] == u32::MAX {
                sooner_of[follower.operation as usize] = sooner;
            }
        }
    }
    let mut at = (0..left.len() as u32).find(|&o| left[o as usize] > 0)?;
    let mut order = vec![usize::MAX; left.len()];
    let mut walked = Vec::new();
    while order[at as usize] == usize::MAX {
        order[at as usize] = walked.len();
        walked.push(at);
        at = sooner_of[at as usize];
    }
    Some(walked.split_off(order[at as usize]))
}

/// Checks that sends and receives are as many, and each large enough, by sender, receiver and tag.
pub fn check_messages(job: &Job) -> Result<(), JobError> {
    // By sender, receiver and tag: sizes and places of messages in the order of the file. Nobody goes through the map in its order.
    let mut channels: HashMap<(u32, u32, u32), VecDeque<(u64, u32)>> = HashMap::new();
    let mut balance: Vec<i64> = vec![0; job.programs.len()];
    for (rank, program) in (0u32..).zip(&job.programs) {
        for (position, operation) in (0u32..).zip(program.operations()) {
            if let Work::Send { to, tag, bytes } = operation.work {
                balance[to as usize] += 1;
                if !job.programs[to as usize].has_wildcards() {
                    channels.entry((rank, to, tag)).or_default().push_back((bytes, position));
                }
            }
        }
    }
    for (rank, program) in (0u32..).zip(&job.programs) {
        for (position, operation) in (0u32..).zip(program.operations()) {
            let Work::Receive { from, tag, bytes } = operation.work else { continue };
            balance[rank as usize] -= 1;
            if program.has_wildcards() {
                if balance[rank as usize] < 0 {
                    return Err(job.error(rank, position, "more receives than messages to this rank"));
                }
                continue;
            }
            let Some((sent, _)) = channels.get_mut(&(from, rank, tag)).and_then(VecDeque::pop_front) else {
                let text = format!(
                    "rank {from} sends no such message to rank {rank} (tag {tag}); expected as many sends as receives"
                );
                return Err(job.error(rank, position, text));
            };
            if sent > bytes {
                return Err(job.error(rank, position, format!("takes {bytes} bytes of a message that has {sent}")));
            }
        }
    }
    // The first in the order of ranks and operations, whatever the map's order.
    let left = channels.iter().filter_map(|(&(from, to, tag), c)| Some((from, c.front()?.1, to, tag))).min();
    if let Some((from, position, to, tag)) = left {
        let text = format!("rank {to} receives no such message (tag {tag}); expected as many receives as sends");
        return Err(job.error(from, position, text));
    }
    if let Some(rank) = balance.iter().position(|&b| b > 0) {
        let text = format!("rank {rank} receives fewer messages than are sent to it");
        return Err(JobError::new(job.file(rank as u32), crate::error::Place::File, text));
    }
    Ok(())
}
