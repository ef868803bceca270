//! In which order a stage of the pipeline does its forward and backward passes.

/// A pass: a microbatch of a part of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Forward, or backward.
    pub forward: bool,
    /// The part of the model among those of the stage; 0 without interleaving.
    pub part: u32,
    /// The microbatch.
    pub microbatch: u32,
}

/// 1F1B: a stage runs ahead by the number of stages behind it, then alternates (D. Narayanan et al., "PipeDream", SOSP 2019).
pub fn one_f_one_b(stages: u32, stage: u32, microbatches: u32) -> Vec<Slot> {
    order_slots((stages - stage - 1).min(microbatches), 1, 1, microbatches)
}

/// Interleaved 1F1B: stage s has parts s, s + p, s + 2p ... (D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
/// Clusters Using Megatron-LM", SC 2021, section 2.2). Microbatches are a multiple of the stages.
pub fn interleaved_order(stages: u32, stage: u32, microbatches: u32, parts: u32) -> Vec<Slot> {
    let ahead = 2 * (stages - stage - 1) + (parts - 1) * stages;
    order_slots(ahead.min(microbatches * parts), stages, parts, microbatches)
}

fn order_slots(ahead: u32, stages: u32, parts: u32, microbatches: u32) -> Vec<Slot> {
    // The k-th pass: as many microbatches as there are stages through one part, then through the next.
    let slot = |forward: bool, k: u32| {
        let round = stages * parts;
        let part = k % round / stages;
        let part = if forward { part } else { parts - 1 - part };
        Slot { forward, part, microbatch: k / round * stages + k % stages }
    };
    let all = microbatches * parts;
    let mut made: Vec<Slot> = (0..ahead).map(|k| slot(true, k)).collect();
    for k in 0..all {
        if ahead + k < all {
            made.push(slot(true, ahead + k));
        }
        made.push(slot(false, k));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_comes_once_and_forward_before_backward() {
        for (stages, parts, microbatches) in [(1, 1, 3), (4, 1, 8), (4, 1, 2), (4, 2, 8), (2, 4, 4)] {
            for stage in 0..stages {
                let order = if parts == 1 {
                    one_f_one_b(stages, stage, microbatches)
                } else {
                    interleaved_order(stages, stage, microbatches, parts)
                };
                assert_eq!(order.len() as u32, 2 * microbatches * parts);
                for part in 0..parts {
                    for microbatch in 0..microbatches {
                        let at = |forward| order.iter().position(|s| *s == Slot { forward, part, microbatch }).unwrap();
                        assert!(at(true) < at(false));
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_stage_alternates_at_once() {
        let order = one_f_one_b(4, 3, 3);
        let text: String = order.iter().map(|s| if s.forward { 'f' } else { 'b' }).collect();
        assert_eq!(text, "fbfbfb");
        let first: String = one_f_one_b(4, 0, 6).iter().map(|s| if s.forward { 'f' } else { 'b' }).collect();
        assert_eq!(first, "ffffbfbfbbbb");
    }
}
