//! The keys of a plan, and the places of its ranks.

use super::model::{Model, Shape};
use crate::error::{JobError, Place};
use crate::job;
use farloop_units::{Delta, choice, params};

choice! {
    /// The state that data-parallel ranks share out among them.
    pub enum Zero {
        /// Each has all: gradients are all-reduced.
        None = "none",
        /// Optimizer and gradients are split: gradients are reduce-scattered, parameters all-gathered (ZeRO 1 and 2).
        Gradients = "gradients",
        /// Parameters as well: all-gathered before each use (ZeRO 3, FSDP).
        Parameters = "parameters",
    }
}

choice! {
    /// The dimension of parallelism that is last in the order of ranks.
    pub enum Outermost {
        /// The pipeline's stages.
        Pipeline = "pipeline",
        /// Data-parallel replicas.
        Data = "data",
    }
}

choice! {
    /// The distribution of a host's stalls.
    pub enum Stall {
        /// Never.
        None = "none",
        /// Exponentially distributed.
        Exponential = "exponential",
        /// Pareto distributed with index 3/2: seldom and long.
        Pareto = "pareto",
    }
}

params! {
    /// A job: keys with units, defaults and ranges.
    pub struct Plan {
        /// The model.
        model: Model = Model::Llama3Small;
        /// Ranks that split each matrix (tensor parallelism).
        tensor: u32 = 1, in 1 => 64;
        /// Stages of the pipeline.
        pipeline: u32 = 1, in 1 => 256;
        /// Parts of the model that a stage has (interleaved 1F1B; Narayanan et al., SC 2021).
        interleave: u32 = 1, in 1 => 32;
        /// Replicas.
        data: u32 = 1, in 1 => 16_384;
        /// Data-parallel ranks that share the experts of a mixture.
        expert: u32 = 1, in 1 => 64;
        /// Microbatches of an iteration and replica.
        microbatches: u32 = 8, in 1 => 4096;
        /// Sequences of a microbatch.
        sequences: u32 = 1, in 1 => 1024;
        /// Tokens of a sequence; 0 means the model's own.
        tokens: u64 = 0, in 0 => 1_048_576;
        /// Layers; 0 means all of them.
        layers: u32 = 0, in 0 => 1024;
        /// What data-parallel ranks keep for one another.
        zero: Zero = Zero::None;
        /// Whether gradients of a layer go out as soon as its last backward pass is over, beside the computing.
        overlap: bool = true;
        /// Which ranks are furthest from one another.
        outermost: Outermost = Outermost::Pipeline;
        /// Bytes of a parameter and of an activation: 2 for BF16.
        precision: u64 = 2, in 1 => 8;
        /// Bytes of a gradient on its way.
        gradient_precision: u64 = 4, in 1 => 8;
        /// Operations per second of a rank, as far as it reaches them (H100: 989e12 dense BF16 at most, 400e12 in Llama 3's training).
        flops: f64 = 4e14, in 1e6 => 1e18;
        /// Bytes per second of a rank's memory, which the optimizer's step takes its time from (H100: 3.35e12).
        memory_bandwidth: f64 = 3.35e12, in 1e6 => 1e16;
        /// Bytes by which messages and collectives are divided, to simulate less of them.
        scale: u64 = 1, in 1 => 1024;
        /// Inner steps between two outer ones (DiLoCo); 0 means synchronous training.
        inner_steps: u32 = 0, in 0 => 10_000;
        /// Fragments that are exchanged one after another (streaming DiLoCo).
        fragments: u32 = 1, in 1 => 256;
        /// Inner steps that go on while a fragment is exchanged.
        delay_steps: u32 = 0, in 0 => 1000;
        /// Bits of a parameter in the outer exchange: 4 in streaming DiLoCo (A. Douillard et al., 2025).
        outer_bits: u64 = 32, in 1 => 32;
        /// Replicas that are trained apart between outer steps (DiLoCo); they divide `data`.
        replicas: u32 = 1, in 1 => 16_384;
        /// How hosts stall, once in an iteration.
        stall: Stall = Stall::None;
        /// How long on average.
        stall_mean: Delta = Delta::from_ms(1), in Delta::ZERO => Delta::from_secs(100);
        /// How likely.
        stall_probability: f64 = 0.0, in 0.0 => 1.0;
        /// Of the random stream of stalls.
        seed: u64 = 1, in 0 => 9_007_199_254_740_991;
    }
}

/// The purposes of operations.
pub(crate) const PHASES: [&str; 10] =
    ["", "forward", "backward", "optimizer", job::STALL, "tensor", "expert", "pipeline", "gradients", "outer step"];
pub(crate) const FORWARD: u8 = 1;
pub(crate) const BACKWARD: u8 = 2;
pub(crate) const OPTIMIZER: u8 = 3;
pub(crate) const STALL: u8 = 4;
pub(crate) const TENSOR: u8 = 5;
pub(crate) const EXPERT: u8 = 6;
pub(crate) const PIPELINE: u8 = 7;
pub(crate) const GRADIENTS: u8 = 8;
pub(crate) const OUTER: u8 = 9;

/// A rank's place: tensor, data, stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Among the ranks that split each matrix.
    pub tensor: u32,
    /// Among the replicas.
    pub data: u32,
    /// Among the stages.
    pub stage: u32,
}

impl Plan {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.data * self.pipeline
    }

    /// The rank at a place.
    pub fn rank(&self, at: At) -> u32 {
        let (inner, outer, many) = match self.outermost {
            Outermost::Pipeline => (at.data, at.stage, self.data),
            Outermost::Data => (at.stage, at.data, self.pipeline),
        };
        (outer * many + inner) * self.tensor + at.tensor
    }

    /// The place of a rank.
    pub fn place_of(&self, rank: u32) -> At {
        let (tensor, rest) = (rank % self.tensor, rank / self.tensor);
        match self.outermost {
            Outermost::Pipeline => At { tensor, data: rest % self.data, stage: rest / self.data },
            Outermost::Data => At { tensor, stage: rest % self.pipeline, data: rest / self.pipeline },
        }
    }

    /// The model with as many layers as the job has.
    pub fn shape(&self) -> Shape {
        let mut shape = self.model.shape();
        if self.layers > 0 {
            shape.layers = self.layers;
        }
        if self.tokens > 0 {
            shape.sequence = self.tokens;
        }
        shape
    }

    /// Refuses keys that do not fit together; messages call the job `name`.
    pub fn check(&self, name: &str) -> Result<(), JobError> {
        let refused = |reason: String| Err(JobError::new(name, Place::File, reason));
        let parts = self.pipeline * self.interleave;
        let shape = self.shape();
        let ranks = u64::from(self.tensor) * u64::from(self.data) * u64::from(self.pipeline);
        if ranks > 1 << 20 {
            return refused(format!("{ranks} ranks (tensor x data x pipeline); expected at most {}", 1 << 20));
        }
        if !shape.layers.is_multiple_of(parts) {
            return refused(format!(
                "layers: {} are no multiple of pipeline {} x interleave {}",
                shape.layers, self.pipeline, self.interleave
            ));
        }
        if self.interleave > 1 && (self.pipeline == 1 || !self.microbatches.is_multiple_of(self.pipeline)) {
            return refused(format!(
                "interleave: expected pipeline above 1 and microbatches ({}) that are a multiple of it ({})",
                self.microbatches, self.pipeline
            ));
        }
        if !self.data.is_multiple_of(self.expert)
            || (self.expert > 1 && !shape.experts.is_multiple_of(self.expert.into()))
        {
            return refused(format!(
                "expert {}: expected a divisor of data ({}) and of the model's experts ({})",
                self.expert, self.data, shape.experts
            ));
        }
        if !self.data.is_multiple_of(self.replicas * self.expert) {
            return refused(format!(
                "replicas {}: expected data ({}) to be a multiple of it, and of expert ({}) in each",
                self.replicas, self.data, self.expert
            ));
        }
        if self.inner_steps == 0 && (self.replicas > 1 || self.fragments > 1 || self.delay_steps > 0) {
            return refused(
                "replicas, fragments and delay_steps belong to DiLoCo: expected inner_steps above 0".into(),
            );
        }
        if self.inner_steps > 0 && (self.fragments > self.inner_steps || self.delay_steps >= self.inner_steps) {
            return refused("fragments, delay_steps: expected no more of them than inner_steps".into());
        }
        if self.stall == Stall::None && self.stall_probability > 0.0 {
            return refused("stall_probability: expected stall = \"exponential\" or \"pareto\" as well".into());
        }
        Ok(())
    }
}

/// Groups by purpose: for each the number of the rank's own.
pub(crate) struct Groups {
    pub tensor: u32,
    pub data: u32,
    pub expert: u32,
    /// Those that have the same experts.
    pub expert_data: u32,
    pub all: u32,
}
