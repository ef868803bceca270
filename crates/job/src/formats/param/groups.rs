//! The process groups of a trace.

use super::entry::Entry;
use crate::job::{Group, MAX_RANKS};
use crate::memory::MemoryMeter;
use std::collections::HashMap;
use std::sync::Arc;

/// A process group.
pub(super) struct Communicator {
    id: String,
    pub(super) ranks: Arc<[u32]>,
    /// Its ranks in order; `None` of all ranks.
    sorted: Option<Vec<u32>>,
}

impl Communicator {
    pub(super) fn contains(&self, rank: u32) -> bool {
        self.sorted.as_ref().is_none_or(|sorted| sorted.binary_search(&rank).is_ok())
    }
}

/// Process groups, and the groups of the job: those, once for each root.
pub(super) struct Groups {
    /// The first is that of all ranks.
    pub(super) communicators: Vec<Communicator>,
    by_id: HashMap<String, u32>,
    /// By communicator and root.
    by_root: HashMap<(u32, u32), u32>,
    pub(super) list: Vec<Group>,
    pub(super) meter: MemoryMeter,
}

impl Groups {
    pub(super) fn new(ranks: u32, mut meter: MemoryMeter) -> Result<Groups, String> {
        meter.add_members(ranks.into())?;
        let all = Communicator { id: "all ranks".into(), ranks: (0..ranks).collect(), sorted: None };
        let (by_id, by_root) = (HashMap::new(), HashMap::new());
        Ok(Groups { communicators: vec![all], by_id, by_root, list: Vec::new(), meter })
    }

    /// Adds the group of an `init`, which other ranks may have declared already.
    pub(super) fn declare(&mut self, id: &str, members: &[u32]) -> Result<(), String> {
        if let Some(&known) = self.by_id.get(id) {
            if self.communicators[known as usize].ranks[..] == *members {
                return Ok(());
            }
            return Err(format!("pg_id {id} with other global_ranks than before; expected the same in all traces"));
        }
        self.meter.add_members(members.len() as u64)?;
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        let ranks = self.communicators[0].ranks.len() as u32;
        if let Some(rank) = sorted.iter().find(|rank| **rank >= ranks) {
            return Err(format!("global_ranks has {rank}; expected ranks of 0 to {}", ranks - 1));
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("global_ranks has {} twice; expected each rank once", pair[0]));
        }
        self.by_id.insert(id.to_string(), self.communicators.len() as u32);
        self.communicators.push(Communicator { id: id.to_string(), ranks: members.into(), sorted: Some(sorted) });
        Ok(())
    }

    /// The process group of an operation.
    pub(super) fn find(&self, entry: &Entry) -> Result<u32, String> {
        let number = match entry.id("pg_id")? {
            None => 0,
            Some(id) => *self
                .by_id
                .get(&id)
                .ok_or_else(|| format!("pg_id {id} has no init; expected one with its global_ranks"))?,
        };
        let members = self.communicators[number as usize].ranks.len() as u64;
        match entry.natural("world_size", MAX_RANKS)?.filter(|&size| size != members) {
            Some(size) => Err(format!("world_size {size}, but its group has {members} ranks; expected the same")),
            None => Ok(number),
        }
    }

    /// The job's group of a collective, whose first rank is the root.
    pub(super) fn find_rooted(&mut self, communicator: u32, root: Option<u64>) -> Result<u32, String> {
        let Communicator { id, ranks, .. } = &self.communicators[communicator as usize];
        let root = root.unwrap_or(ranks[0].into());
        if let Some(&known) = self.by_root.get(&(communicator, root as u32)) {
            return Ok(known);
        }
        let Some(place) = ranks.iter().position(|&rank| u64::from(rank) == root) else {
            return Err(format!("root {root} is not of the group {id}; expected one of its ranks"));
        };
        self.meter.add_group()?;
        let (name, ranks) = if place == 0 {
            (id.clone(), ranks.clone())
        } else {
            self.meter.add_members(ranks.len() as u64)?;
            let mut turned = ranks.to_vec();
            turned.rotate_left(place);
            (format!("{id} from {root}"), turned.into())
        };
        self.list.push(Group { name, ranks });
        self.by_root.insert((communicator, root as u32), self.list.len() as u32 - 1);
        Ok(self.list.len() as u32 - 1)
    }
}
