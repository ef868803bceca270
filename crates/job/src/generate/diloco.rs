//! DiLoCo: replicas train apart for H inner steps, then average their changes (A. Douillard et al., 2023). Streaming DiLoCo
//! exchanges P fragments at different steps, goes on while a fragment is under way, and needs fewer bits (A. Douillard et
//! al., 2025).
//!
//! Inner steps are whole training steps of a replica. After inner step t those fragments go out whose turn it is: fragment p after step
//! (p + 1) H / P; the step that begins `delay_steps` later waits for it. The outer optimizer costs nothing.

use super::plan::{Groups, OUTER, Plan};
use super::stage::Stage;
use crate::job::Program;

pub fn program(plan: &Plan, rank: u32, groups: &Groups) -> Program {
    let mut stage = Stage::new(plan, rank, groups);
    // By fragment: the step after which it goes out, from 1.
    let turns: Vec<u32> = (0..plan.fragments).map(|p| (p + 1) * plan.inner_steps / plan.fragments).collect();
    // Exchanges under way: the step that waits for them.
    let mut under_way: Vec<(u32, u32)> = Vec::new();
    let bytes = stage.parameters() * plan.outer_bits / 8 / u64::from(plan.fragments);
    for step in 0..plan.inner_steps {
        let due: Vec<u32> = under_way.iter().filter(|u| u.0 <= step).map(|u| u.1).collect();
        under_way.retain(|u| u.0 > step);
        stage.step(&due);
        for _ in turns.iter().filter(|&&t| t == step + 1) {
            if let Some(made) = stage.outer(bytes, OUTER) {
                under_way.push((step + 1 + plan.delay_steps, made));
            }
        }
    }
    stage.finish()
}
