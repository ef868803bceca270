//! The operations of a rank in a training step.
//!
//! - Tensor parallelism: two all-reduces of the activations in a layer's forward pass, two in its backward pass (M. Shoeybi et al.,
//!   "Megatron-LM", 2019, section 3).
//! - Pipeline: a rank sends 1/t of the activations to its peer of the next stage, where the t ranks gather them (Narayanan et al., SC 2021,
//!   section 4.1).
//! - Experts: tokens go to theirs by an all-to-all and come back by another, forward and backward (GShard, 2020).
//! - Gradients: a collective for each layer, beside the computing if `overlap`.
//! - A backward pass takes twice the operations of a forward pass. The optimizer's step moves 30 bytes for each parameter that it has
//!   (master, two moments, read and written, gradient, parameter).

use super::model::Shape;
use super::order::{Slot, interleaved_order, one_f_one_b};
use super::plan::{
    At, BACKWARD, EXPERT, FORWARD, GRADIENTS, Groups, OPTIMIZER, PIPELINE, Plan, STALL, Stall, TENSOR, Zero,
};
use crate::job::{Collective, Program, ProgramBuilder, Work};
use farloop_engine::random::RandomStream;
use farloop_units::Delta;

const COMPUTE: u16 = 0;
const TENSORS: u16 = 1;
const STAGES: u16 = 2;
const PARAMETERS: u16 = 3;

/// Bytes that Adam moves for a parameter.
const OPTIMIZER_BYTES: f64 = 30.0;

pub struct Stage<'a> {
    plan: &'a Plan,
    shape: Shape,
    at: At,
    groups: &'a Groups,
    pub builder: ProgramBuilder,
    /// The newest computation: the next one follows it.
    last: Option<u32>,
    /// Further operations that the next computation waits for.
    waits: Vec<u32>,
    /// The newest collective of parameters or gradients.
    exchanged: Option<u32>,
    stalls: RandomStream,
    steps: u32,
}

impl<'a> Stage<'a> {
    pub fn new(plan: &'a Plan, rank: u32, groups: &'a Groups) -> Stage<'a> {
        Stage {
            plan,
            shape: plan.shape(),
            at: plan.place_of(rank),
            groups,
            builder: ProgramBuilder::new(),
            last: None,
            waits: Vec::new(),
            exchanged: None,
            stalls: RandomStream::new(plan.seed, "job.stalls", rank.into()),
            steps: 0,
        }
    }

    pub fn finish(self) -> Program {
        self.builder.finish()
    }

    /// Parameters that the rank's stage has of the model, split by tensor parallelism; with those of its experts only.
    pub fn parameters(&self) -> u64 {
        let layers = u64::from(self.shape.layers / self.plan.pipeline);
        let ends = u64::from(self.at.stage == 0) + u64::from(self.at.stage == self.plan.pipeline - 1);
        let embedding = self.shape.embedding() / 2 * ends;
        (layers * (self.dense() + self.experts()) + embedding) / u64::from(self.plan.tensor)
    }

    pub fn dense(&self) -> u64 {
        self.shape.layer() - self.shape.experts * self.shape.expert()
            + if self.shape.experts > 1 { 0 } else { self.shape.expert() }
    }

    pub fn experts(&self) -> u64 {
        if self.shape.experts > 1 { self.shape.experts / u64::from(self.plan.expert) * self.shape.expert() } else { 0 }
    }

    /// A step: all microbatches, gradients, optimizer. The first computation waits for `after` as well.
    pub fn step(&mut self, after: &[u32]) {
        self.waits.extend_from_slice(after);
        let plan = self.plan;
        let stall = match plan.stall {
            Stall::None => None,
            _ if !self.stalls.chance(plan.stall_probability) => None,
            Stall::Exponential => Some(self.stalls.exponential(plan.stall_mean)),
            Stall::Pareto => Some(self.stalls.pareto(plan.stall_mean)),
        };
        if let Some(stall) = stall {
            self.compute(stall, STALL, &[]);
        }
        let order = if plan.interleave > 1 {
            interleaved_order(plan.pipeline, self.at.stage, plan.microbatches, plan.interleave)
        } else {
            one_f_one_b(plan.pipeline, self.at.stage, plan.microbatches)
        };
        let mut gradients: Vec<u32> = Vec::new();
        for slot in order {
            if slot.forward {
                self.add_forward(slot);
            } else {
                self.backward(slot, &mut gradients);
            }
        }
        self.waits.append(&mut gradients);
        let mut share = self.parameters() as f64;
        if plan.zero != Zero::None {
            share /= f64::from(plan.data / plan.replicas);
        }
        let done = self.compute(Delta::from_secs_f64(share * OPTIMIZER_BYTES / plan.memory_bandwidth), OPTIMIZER, &[]);
        if plan.zero == Zero::Gradients {
            let bytes = self.parameters() * plan.precision;
            let gathered =
                self.exchange(Collective::AllGather, self.groups.data, plan.data / plan.replicas, bytes, &[done]);
            self.waits.extend(gathered);
        }
        self.steps += 1;
    }

    fn compute(&mut self, duration: Delta, phase: u8, after: &[u32]) -> u32 {
        let mut sooner = std::mem::take(&mut self.waits);
        sooner.extend_from_slice(after);
        sooner.extend(self.last);
        let made = self.builder.add(Work::Compute(duration), COMPUTE, phase, &sooner);
        self.last = Some(made);
        made
    }

    fn tokens(&self) -> u64 {
        u64::from(self.plan.sequences) * self.shape.sequence
    }

    pub fn activations(&self) -> u64 {
        self.tokens() * self.shape.hidden * self.plan.precision
    }

    fn scale_bytes(&self, bytes: u64) -> u64 {
        (bytes / self.plan.scale).max(1)
    }

    /// Time of so many operations for each token, split by tensor parallelism.
    fn time(&self, operations: u64) -> Delta {
        let all = operations as f64 * self.tokens() as f64 / f64::from(self.plan.tensor);
        Delta::from_secs_f64(all / self.plan.flops)
    }

    /// A collective whose result the next computation needs.
    fn wait_for(&mut self, kind: Collective, group: u32, members: u32, bytes: u64, phase: u8) {
        if members < 2 {
            return;
        }
        let after: Vec<u32> = self.last.into_iter().chain(self.waits.drain(..)).collect();
        let work = Work::Collective { kind, group, bytes: self.scale_bytes(bytes) };
        let made = self.builder.add(work, TENSORS, phase, &after);
        self.waits.push(made);
    }

    /// A collective of gradients or parameters, behind the one before it.
    fn exchange(&mut self, kind: Collective, group: u32, members: u32, bytes: u64, after: &[u32]) -> Option<u32> {
        if members < 2 {
            return None;
        }
        let work = Work::Collective { kind, group, bytes: self.scale_bytes(bytes) };
        let sooner: Vec<u32> = after.iter().copied().chain(self.exchanged).collect();
        let made = self.builder.add(work, PARAMETERS, GRADIENTS, &sooner);
        self.exchanged = Some(made);
        Some(made)
    }

    /// An exchange of all replicas beside the computing: the outer step of DiLoCo.
    pub fn outer(&mut self, bytes: u64, phase: u8) -> Option<u32> {
        let after: Vec<u32> = self.last.into_iter().collect();
        let made = self.exchange(Collective::AllReduce, self.groups.all, self.plan.data, bytes, &after)?;
        self.builder.set_phase(made, phase);
        Some(made)
    }

    /// Parameters of a layer, gathered before it needs them, while the computation before goes on (one layer ahead).
    fn gather(&mut self) {
        if self.plan.zero != Zero::Parameters {
            return;
        }
        let bytes = self.dense() / u64::from(self.plan.tensor) * self.plan.precision;
        let members = self.plan.data / self.plan.replicas;
        let last = self.last;
        if let Some(made) = self.exchange(Collective::AllGather, self.groups.data, members, bytes, &[]) {
            if let Some(last) = last {
                self.builder.irequires(made, last);
            }
            self.waits.push(made);
        }
    }

    /// A layer's forward pass, or its backward pass with twice the operations.
    fn layer(&mut self, times: u64, phase: u8) {
        let (tensor, hidden) = (self.plan.tensor, self.activations());
        let shape = self.shape;
        let feed_forward = 2 * shape.active * shape.expert();
        let attention = shape.layer_operations(shape.sequence) - feed_forward;
        self.gather();
        self.compute(self.time(times * attention), phase, &[]);
        self.wait_for(Collective::AllReduce, self.groups.tensor, tensor, hidden, TENSOR);
        if shape.experts > 1 {
            let sent = hidden * shape.active / u64::from(tensor);
            self.wait_for(Collective::AllToAll, self.groups.expert, self.plan.expert, sent, EXPERT);
            self.compute(self.time(times * feed_forward), phase, &[]);
            self.wait_for(Collective::AllToAll, self.groups.expert, self.plan.expert, sent, EXPERT);
        } else {
            self.compute(self.time(times * feed_forward), phase, &[]);
        }
        self.wait_for(Collective::AllReduce, self.groups.tensor, tensor, hidden, TENSOR);
    }

    /// Returns true if nothing happens between the layers of a pass, so that they are one computation.
    pub fn plain(&self) -> bool {
        let experts = self.shape.experts > 1 && self.plan.expert > 1;
        self.plan.tensor == 1 && !experts && self.plan.zero != Zero::Parameters
    }

    fn layers(&self) -> u64 {
        u64::from(self.shape.layers / self.plan.pipeline / self.plan.interleave)
    }

    fn is_first(&self, part: u32) -> bool {
        self.at.stage == 0 && part == 0
    }

    fn is_last(&self, part: u32) -> bool {
        self.at.stage == self.plan.pipeline - 1 && part == self.plan.interleave - 1
    }

    /// The part of the model before (or behind) this one: its stage and part there.
    fn neighbour(&self, part: u32, behind: bool) -> (u32, u32) {
        let (stage, stages) = (self.at.stage, self.plan.pipeline);
        if behind {
            if stage + 1 < stages { (stage + 1, part) } else { (0, part + 1) }
        } else if stage > 0 {
            (stage - 1, part)
        } else {
            (stages - 1, part - 1)
        }
    }

    /// A message between stages: tagged by step, microbatch, the part that computes its data, and direction.
    fn tag(&self, slot: Slot, part: u32) -> u32 {
        let number = self.steps * self.plan.microbatches + slot.microbatch;
        (number * self.plan.interleave + part) * 2 + u32::from(slot.forward)
    }

    fn receive(&mut self, slot: Slot, behind: bool) {
        let (stage, _) = self.neighbour(slot.part, behind);
        let bytes = self.scale_bytes(self.activations() / u64::from(self.plan.tensor));
        let from = self.plan.rank(At { stage, ..self.at });
        let tag = self.tag(slot, slot.part);
        let got = self.builder.add(Work::Receive { from, tag, bytes }, STAGES, PIPELINE, &[]);
        if self.plan.tensor > 1 {
            let (group, whole) = (self.groups.tensor, self.scale_bytes(self.activations()));
            let work = Work::Collective { kind: Collective::AllGather, group, bytes: whole };
            let gathered = self.builder.add(work, TENSORS, TENSOR, &[got]);
            // Collectives of a group keep their order: behind those of the computation before.
            self.last.into_iter().for_each(|last| self.builder.requires(gathered, last));
            self.waits.push(gathered);
        } else {
            self.waits.push(got);
        }
    }

    fn send(&mut self, slot: Slot, behind: bool) {
        let (stage, part) = self.neighbour(slot.part, behind);
        let bytes = self.scale_bytes(self.activations() / u64::from(self.plan.tensor));
        let to = self.plan.rank(At { stage, ..self.at });
        let tag = self.tag(slot, part);
        // What the pass ends with: its last collective, else its last computation.
        let after: Vec<u32> = self.last.into_iter().chain(self.waits.iter().copied()).collect();
        self.builder.add(Work::Send { to, tag, bytes }, STAGES, PIPELINE, &after);
    }

    fn add_forward(&mut self, slot: Slot) {
        if !self.is_first(slot.part) {
            self.receive(slot, false);
        }
        if self.plain() {
            let operations = self.layers() * self.shape.layer_operations(self.shape.sequence);
            self.compute(self.time(operations), FORWARD, &[]);
        } else {
            for _ in 0..self.layers() {
                self.layer(1, FORWARD);
            }
        }
        if self.is_last(slot.part) {
            self.compute(self.time(self.shape.logit_operations()), FORWARD, &[]);
        } else {
            self.send(slot, true);
        }
    }

    fn backward(&mut self, slot: Slot, gradients: &mut Vec<u32>) {
        if self.is_last(slot.part) {
            self.compute(self.time(2 * self.shape.logit_operations()), BACKWARD, &[]);
        } else {
            self.receive(slot, true);
        }
        let last = slot.microbatch + 1 == self.plan.microbatches;
        let embedding = self.shape.embedding() / 2;
        if last && self.is_last(slot.part) {
            self.gradient(embedding, self.groups.data, self.plan.data / self.plan.replicas, gradients);
        }
        if self.plain() && !last {
            let operations = 2 * self.layers() * self.shape.layer_operations(self.shape.sequence);
            self.compute(self.time(operations), BACKWARD, &[]);
        } else {
            for _ in 0..self.layers() {
                self.layer(2, BACKWARD);
                if last {
                    self.gradients(gradients);
                }
            }
        }
        if !self.is_first(slot.part) {
            self.send(slot, false);
        } else if last {
            self.gradient(embedding, self.groups.data, self.plan.data / self.plan.replicas, gradients);
        }
    }

    /// The gradients of a layer: those of the shared part among all replicas, and those of its experts among the
    /// replicas that have the same.
    fn gradients(&mut self, made: &mut Vec<u32>) {
        let replica = self.plan.data / self.plan.replicas;
        self.gradient(self.dense(), self.groups.data, replica, made);
        if self.shape.experts > 1 {
            self.gradient(self.experts(), self.groups.expert_data, replica / self.plan.expert, made);
        }
    }

    fn gradient(&mut self, parameters: u64, group: u32, members: u32, made: &mut Vec<u32>) {
        let kind = if self.plan.zero == Zero::None { Collective::AllReduce } else { Collective::ReduceScatter };
        let bytes = parameters / u64::from(self.plan.tensor) * self.plan.gradient_precision;
        let after: Vec<u32> = self.last.into_iter().collect();
        if let Some(exchange) = self.exchange(kind, group, members, bytes, &after) {
            if self.plan.overlap {
                made.push(exchange);
            } else {
                self.waits.push(exchange);
            }
        }
    }
}
