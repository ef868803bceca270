//! The size of a plan's job, from its keys alone.
//!
//! It counts the operations of [`super::stage`]: all ranks of a stage do the same, but for stalls.

use super::plan::{At, Groups, Plan, Zero};
use super::stage::Stage;
use crate::collectives::Location;
use crate::job::Collective;
use crate::memory::{Calls, Patterns, Size};
use std::collections::BTreeMap;

/// The groups of ranks that do a collective together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Members {
    Tensor,
    Data,
    Expert,
    ExpertData,
    Replicas,
}

impl Members {
    const ALL: [Members; 5] = [Members::Tensor, Members::Data, Members::Expert, Members::ExpertData, Members::Replicas];

    /// Number of ranks of a group.
    fn count(self, plan: &Plan) -> u32 {
        let replica = plan.data / plan.replicas;
        match self {
            Members::Tensor => plan.tensor,
            Members::Data => replica,
            Members::Expert => plan.expert,
            Members::ExpertData => replica / plan.expert,
            Members::Replicas => plan.data,
        }
    }

    /// Number of groups of a stage.
    fn groups(self, plan: &Plan) -> u32 {
        plan.tensor * plan.data / self.count(plan)
    }

    /// Rank of a member of a group of a stage.
    fn rank(self, plan: &Plan, stage: u32, group: u32, member: u32) -> u32 {
        let replica = plan.data / plan.replicas;
        let at = |tensor, data| plan.rank(At { tensor, data, stage });
        let (tensor, block) = (group % plan.tensor, group / plan.tensor);
        match self {
            Members::Tensor => at(member, group),
            Members::Data => at(tensor, block * replica + member),
            Members::Expert => at(tensor, block * plan.expert + member),
            Members::ExpertData => {
                at(tensor, block / plan.expert * replica + block % plan.expert + member * plan.expert)
            }
            Members::Replicas => at(tensor, member),
        }
    }
}

/// Counts of a rank of a stage in a step: operations without collectives, messages, and collectives by members, kind and bytes.
#[derive(Default)]
struct Counts {
    operations: u128,
    messages: u128,
    calls: BTreeMap<(Members, Collective, u64), u128>,
}

impl Counts {
    fn call(&mut self, plan: &Plan, members: Members, kind: Collective, bytes: u64, count: u64) {
        if members.count(plan) > 1 && count > 0 {
            let bytes = (bytes / plan.scale).max(1);
            *self.calls.entry((members, kind, bytes)).or_default() += u128::from(count);
        }
    }

    fn from_stage(plan: &Plan, number: u32) -> Counts {
        let groups = Groups { tensor: 0, data: 0, expert: 0, expert_data: 0, all: 0 };
        let stage = Stage::new(plan, plan.rank(At { tensor: 0, data: 0, stage: number }), &groups);
        let shape = plan.shape();
        let [microbatches, parts, tensor] = [plan.microbatches, plan.interleave, plan.tensor].map(u64::from);
        let layers = u64::from(shape.layers / plan.pipeline / plan.interleave);
        let (first, last) = (u64::from(number == 0), u64::from(number + 1 == plan.pipeline));
        // Passes each way, and those that get something from another part of the model.
        let passes = microbatches * parts;
        let (forward, backward) = (passes - first * microbatches, passes - last * microbatches);
        let plain = stage.plain();
        let whole = if plain { passes + microbatches.saturating_sub(1) * parts } else { 0 };
        let by_layer = if plain { parts * layers } else { 2 * passes * layers };
        let mut made = Counts {
            operations: u128::from(2 * (forward + backward) + whole + 2 * by_layer + 2 * last * microbatches + 1),
            messages: u128::from(forward + backward),
            ..Counts::default()
        };
        let mut call = |members, kind, bytes, count| made.call(plan, members, kind, bytes, count);
        let hidden = stage.activations();
        call(Members::Tensor, Collective::AllReduce, hidden, 2 * by_layer);
        call(Members::Tensor, Collective::AllGather, hidden, forward + backward);
        if shape.experts > 1 {
            call(Members::Expert, Collective::AllToAll, hidden * shape.active / tensor, 2 * by_layer);
        }
        if plan.zero == Zero::Parameters {
            call(Members::Data, Collective::AllGather, stage.dense() / tensor * plan.precision, by_layer);
        }
        let reduced = if plan.zero == Zero::None { Collective::AllReduce } else { Collective::ReduceScatter };
        let gradient = |parameters: u64| parameters / tensor * plan.gradient_precision;
        call(Members::Data, reduced, gradient(stage.dense()), parts * layers);
        call(Members::Data, reduced, gradient(shape.embedding() / 2), first + last);
        if shape.experts > 1 {
            call(Members::ExpertData, reduced, gradient(stage.experts()), parts * layers);
        }
        if plan.zero == Zero::Gradients {
            call(Members::Data, Collective::AllGather, stage.parameters() * plan.precision, 1);
        }
        let steps = u64::from(plan.inner_steps.max(1));
        made.operations *= u128::from(steps);
        made.messages *= u128::from(steps);
        made.calls.values_mut().for_each(|count| *count *= u128::from(steps));
        if plan.inner_steps > 0 {
            let bytes = stage.parameters() * plan.outer_bits / 8 / u64::from(plan.fragments);
            made.call(plan, Members::Replicas, Collective::AllReduce, bytes, plan.fragments.into());
        }
        if plan.stall_probability > 0.0 {
            made.operations += (plan.stall_probability * steps as f64).ceil() as u128;
        }
        made
    }
}

/// The size of a plan's job, whose keys fit together. `locate` says where a rank is.
pub fn size(plan: &Plan, locate: &dyn Fn(u32) -> Location) -> Size {
    let mut size = Size { ranks: plan.ranks().into(), ..Size::default() };
    for members in Members::ALL {
        size.groups += u128::from(members.groups(plan)) * u128::from(plan.pipeline);
        size.members += size.ranks;
    }
    let of_stage = u128::from(plan.tensor) * u128::from(plan.data);
    let mut patterns: BTreeMap<Members, Patterns> = BTreeMap::new();
    let mut calls: BTreeMap<(Members, Collective, u64), Calls> = BTreeMap::new();
    for stage in 0..plan.pipeline {
        let counts = Counts::from_stage(plan, stage);
        size.kept += of_stage * counts.operations;
        size.operations += of_stage * (counts.operations + counts.calls.values().sum::<u128>());
        size.messages += of_stage * counts.messages;
        for ((members, kind, bytes), count) in counts.calls {
            let alike = patterns.entry(members).or_insert_with(|| {
                let groups = members.groups(plan);
                let rank = |group: u32, member| members.rank(plan, group / groups, group % groups, member);
                Patterns::count_patterns(groups * plan.pipeline, members.count(plan), locate, &rank)
            });
            let call = calls.entry((members, kind, bytes)).or_insert_with(|| Calls {
                kind,
                bytes,
                locations: alike.locations.clone(),
                count: 0,
                schedules: alike.different,
            });
            call.count += count * u128::from(members.groups(plan));
        }
    }
    // As they are on average.
    size.dependencies = size.operations * 3 / 2;
    size.calls = calls.into_values().collect();
    size
}
