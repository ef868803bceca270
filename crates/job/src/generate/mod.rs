//! Jobs made from a few keys: a model, its division over ranks, and the speed of hosts.
//!
//! Ranks: tensor-parallel ranks are neighbours. Then come the data-parallel ones and last the pipeline's stages, so that sites part the
//! pipeline; or, with `outermost = "data"`, the stages and last the data-parallel ones, so that sites part the replicas.
//!
//! Streams of a rank: 0 computes; collectives of tensors and experts are on 1, messages of the pipeline on 2, of gradients and
//! parameters on 3.

mod count;
mod diloco;
pub mod model;
mod order;
mod plan;
mod read;
mod stage;

pub use count::size;
pub use model::{Model, Shape};
pub use order::{Slot, interleaved_order, one_f_one_b};
pub use plan::{At, Outermost, Plan, Stall, Zero};
pub use read::read;

use crate::error::JobError;
use crate::job::{Group, Job};
use crate::memory::{Budget, Keys, MemoryLimit};
use plan::{Groups, PHASES};

/// The job of a plan; messages call it `name`. An iteration of DiLoCo is an outer step with its inner ones.
///
/// Errors name keys that do not fit together.
pub fn generate(plan: &Plan, name: &str) -> Result<Job, JobError> {
    generate_within(plan, name, &Budget::NONE)
}

/// As [`generate`], where the job fits into the memory that it may take.
pub fn generate_within(plan: &Plan, name: &str, budget: &Budget<'_>) -> Result<Job, JobError> {
    plan.check(name)?;
    if budget.limit != MemoryLimit::NONE {
        budget.check(name, &size(plan, budget.locate), Keys::Plan)?;
    }
    let mut job = Job::new(name, Vec::new());
    job.phases = PHASES.map(String::from).to_vec();
    job.scale = plan.scale;
    // What each rank's groups are; a group is listed once, when its first rank comes.
    let mut numbers: Vec<Groups> = Vec::new();
    let of_replica = plan.data / plan.replicas;
    for rank in 0..plan.ranks() {
        let at = plan.place_of(rank);
        let mut group = |name: &str, index: [u32; 2], ranks: &mut dyn Iterator<Item = u32>| {
            let name = format!("{name}-{}-{}", index[0], index[1]);
            job.groups.push(Group { name, ranks: ranks.collect() });
            job.groups.len() as u32 - 1
        };
        let first = |tensor: u32, data: u32, stage: u32| plan.rank(At { tensor, data, stage }) as usize;
        let replica = at.data / of_replica;
        let lead = first(0, at.data, at.stage);
        let tensor = if lead < rank as usize {
            numbers[lead].tensor
        } else {
            group("tensor", [at.data, at.stage], &mut (0..plan.tensor).map(|tensor| plan.rank(At { tensor, ..at })))
        };
        let lead = first(at.tensor, replica * of_replica, at.stage);
        let data = if lead < rank as usize {
            numbers[lead].data
        } else {
            let members = (0..of_replica).map(|i| plan.rank(At { data: replica * of_replica + i, ..at }));
            group("data", [at.tensor + plan.tensor * replica, at.stage], &mut { members })
        };
        let block = at.data / plan.expert * plan.expert;
        let lead = first(at.tensor, block, at.stage);
        let expert = if lead < rank as usize {
            numbers[lead].expert
        } else {
            let members = (0..plan.expert).map(|i| plan.rank(At { data: block + i, ..at }));
            group("expert", [at.tensor + plan.tensor * block, at.stage], &mut { members })
        };
        let lead = first(at.tensor, replica * of_replica + at.data % plan.expert, at.stage);
        let expert_data = if lead < rank as usize {
            numbers[lead].expert_data
        } else {
            let members = (at.data..(replica + 1) * of_replica).step_by(plan.expert as usize);
            let mut members = members.map(|data| plan.rank(At { data, ..at }));
            group("expert-data", [at.tensor + plan.tensor * at.data, at.stage], &mut members)
        };
        let lead = first(at.tensor, 0, at.stage);
        let all = if lead < rank as usize {
            numbers[lead].all
        } else {
            let members = (0..plan.data).map(|data| plan.rank(At { data, ..at }));
            group("replicas", [at.tensor, at.stage], &mut { members })
        };
        numbers.push(Groups { tensor, data, expert, expert_data, all });
    }
    for rank in 0..plan.ranks() {
        let program = if plan.inner_steps > 0 {
            diloco::program(plan, rank, &numbers[rank as usize])
        } else {
            let mut stage = stage::Stage::new(plan, rank, &numbers[rank as usize]);
            stage.step(&[]);
            stage.finish()
        };
        job.programs.push(std::sync::Arc::new(program));
    }
    Ok(job)
}

#[cfg(test)]
mod tests;
