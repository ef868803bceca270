//! The schedule of a collective: the messages of each rank of a group, in order.

use crate::job::{Job, ProgramBuilder, Work};
use std::collections::HashMap;

/// A message of a member: sent or received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// True if the member sends it.
    pub send: bool,
    /// The other member, by place in the group.
    pub peer: u32,
    /// Size of the message.
    pub bytes: u64,
    /// Tells messages of a pair apart that may overtake one another.
    pub lane: u8,
    /// Steps of the member that come before.
    pub after: Box<[u32]>,
}

/// Counts of a collective's messages, for all of its members together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    /// Sends and receives.
    pub steps: f64,
    /// Pairs of a sender and a receiver, each lane by itself.
    pub channels: f64,
}

/// Members by key, such as their site, in the order of the keys' first members.
pub(super) fn group_members(keys: impl Iterator<Item = u32>) -> Vec<Vec<usize>> {
    // Nobody goes through the map in its order.
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (member, key) in keys.enumerate() {
        let number = *numbers.entry(key).or_insert(members.len());
        if number == members.len() {
            members.push(Vec::new());
        }
        members[number].push(member);
    }
    members
}

/// Lanes that a schedule has at least.
pub const LANES: u32 = 4;

/// The steps of each member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// By place in the group.
    pub steps: Vec<Vec<Step>>,
    /// Of the steps that are added now.
    pub(super) lane: u8,
}

impl Schedule {
    /// Nothing to do for so many.
    pub fn new(members: usize) -> Schedule {
        Schedule { steps: vec![Vec::new(); members], lane: 0 }
    }

    /// A send of a member; its number among the member's steps.
    pub fn send(&mut self, member: usize, to: usize, bytes: u64, after: &[u32]) -> u32 {
        self.push(member, true, to, bytes, after)
    }

    /// A receive of a member; its number among the member's steps.
    pub fn receive(&mut self, member: usize, from: usize, bytes: u64, after: &[u32]) -> u32 {
        self.push(member, false, from, bytes, after)
    }

    fn push(&mut self, member: usize, send: bool, peer: usize, bytes: u64, after: &[u32]) -> u32 {
        let steps = &mut self.steps[member];
        steps.push(Step { send, peer: peer as u32, bytes, lane: self.lane, after: after.into() });
        steps.len() as u32 - 1
    }

    /// Lanes: one more than the largest number, and [`LANES`] at least.
    pub fn lanes(&self) -> u32 {
        let own = self.steps.iter().flatten().map(|s| u32::from(s.lane) + 1).max();
        own.unwrap_or(0).max(LANES)
    }

    /// A job of this name that does it once, with a rank for each member.
    pub fn to_job(&self, name: &str) -> Job {
        let program = |steps: &Vec<Step>| {
            let mut builder = ProgramBuilder::new();
            for step in steps {
                let (peer, tag, bytes) = (step.peer, step.lane.into(), step.bytes);
                let work = match step.send {
                    true => Work::Send { to: peer, tag, bytes },
                    false => Work::Receive { from: peer, tag, bytes },
                };
                builder.add(work, 0, 0, &step.after);
            }
            builder.finish()
        };
        Job::new(name, self.steps.iter().map(program).collect())
    }

    /// The member's newest step.
    pub fn newest(&self, member: usize) -> Option<u32> {
        (self.steps[member].len() as u32).checked_sub(1)
    }

    /// Bytes that a member sends.
    pub fn bytes_sent(&self, member: usize) -> u64 {
        self.steps[member].iter().filter(|s| s.send).map(|s| s.bytes).sum()
    }

    /// Messages that a member sends.
    pub fn messages(&self, member: usize) -> usize {
        self.steps[member].iter().filter(|s| s.send).count()
    }
}

/// Part `number` of `bytes` in `parts` parts, the first ones a byte larger.
pub fn part(bytes: u64, parts: usize, number: usize) -> u64 {
    let parts = parts as u64;
    bytes / parts + u64::from((number as u64) < bytes % parts)
}
