//! AICB's and SimAI's workload text: the layers of a model, with times and collectives of forward pass, input gradients and weight
//! gradients.
//!
//! ```text
//! HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0
//! 1
//! attention -1 100 ALLREDUCE 4096 200 ALLREDUCE 4096 300 NONE 0 100
//! ```
//!
//! The second line is the number of layers; a layer has a name, -1, three times (ns, collective, bytes), and an update time. Files have
//! one of two headers: models in aliyun/aicb (workload/simAI/model_workload, at 23eec3c) have none of ep, pp, vpp, ga and all_gpus; the
//! newer ones (aliyun/SimAI, example/workload_analytical.txt, at cef83f9) have all of them, and `pp_comm` where there is a pipeline.
//!
//! As a job, every rank does all layers forward, then backward from the last: weight gradients first, whose collective runs on a stream
//! of its own while the rank goes on, then input gradients, which wait for their collective (the loop of astra-sim's
//! HYBRID_TRANSFORMER_FWD_IN_BCKWD without checkpoints). Collectives of the first two are of the tensor-parallel group, of the third of
//! the data-parallel one; with `_EP` of the expert-parallel group, with `_DP_EP` of the data-parallel group of experts.
//!
//! A collective benchmark has the header `MICRO` alone (aliyun/aicb, `simAI_MicroTest`), and in each layer the collective of the weight
//! gradient: all ranks do one after the other, without computing (astra-sim, `iterate_micro_benchmark`, which stays at the first layer).

use super::source::{Options, open, plain};
use super::spec::{Detection, FormatSpec, Writing};
use super::target::Target;
use crate::collectives::Location;
use crate::error::{JobError, Missing, Place};
use crate::job::{Collective, Group, Job, MAX_BYTES, MAX_COMPUTING, Operation, Places, ProgramBuilder, Work};
use crate::memory::{Budget, Calls, Keys, MemoryLimit, Patterns, Size};
use farloop_units::Delta;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// AICB's and SimAI's workload text.
pub const FORMAT: FormatSpec = FormatSpec {
    name: "aicb",
    family: "AICB",
    description: "AICB and SimAI workload text, with either header",
    extension: ".txt",
    detection: Detection::Signature(begins),
    is_file_per_rank: false,
    memory_keys: Keys::File,
    read: |source, _| read(&mut source.open()?, source.file(), source.options, source.budget),
    writing: Writing::Own(|target, _| copy(target)),
};

const POLICY: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
const MICRO: &str = "MICRO";

/// The most ranks of a workload.
const MAX_RANKS: u32 = 1 << 20;
const MAX_LINE_LENGTH: u64 = 10_000;

/// A collective of a layer: its word and bytes; `None` for NONE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Such as ALLREDUCE or ALLTOALL_EP.
    pub word: String,
    /// Its size, as NCCL counts it.
    pub bytes: u64,
}

/// A layer: nanoseconds and collective of forward pass, input gradient and weight gradient.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Times and collectives of the three.
    pub parts: [(u64, Call); 3],
    /// The last column.
    pub update: u64,
    /// Its line.
    pub line: u64,
}

/// A workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Collectives alone, one after the other: the header is `MICRO`.
    pub micro: bool,
    /// Keys of the header with their numbers, in the order of the file.
    pub header: Vec<(String, u64)>,
    /// The layers.
    pub layers: Vec<Layer>,
}

/// Returns true if a file begins as one.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"HYBRID_") || head.starts_with(MICRO.as_bytes())
}

/// Keys that a header may have.
const KEYS: [&str; 10] = [
    "model_parallel_NPU_group:",
    "ep:",
    "expert_parallel_npu_group:",
    "pp:",
    "vpp:",
    "ga:",
    "all_gpus:",
    "checkpoints:",
    "checkpoint_initiates:",
    "pp_comm",
];

/// Reads a workload.
pub fn parse(reader: &mut impl BufRead, name: &str) -> Result<Workload, JobError> {
    let mut lines = Lines { reader, name, line: 0 };
    let Some(first) = lines.next()? else { return Err(lines.error("is empty; expected a workload of AICB")) };
    let mut words = first.split_whitespace();
    let micro = match words.next() {
        Some(MICRO) => true,
        Some(POLICY) => false,
        other => {
            let policy = other.unwrap_or("").escape_debug().to_string();
            return Err(lines.error(format!("\"{policy}\": expected \"{POLICY}\" or \"{MICRO}\" at the begin")));
        }
    };
    let mut header: Vec<(String, u64)> = Vec::new();
    while let Some(word) = words.next() {
        if micro {
            return Err(lines.error(format!("\"{}\" behind {MICRO}; expected nothing", word.escape_debug())));
        }
        let key = if word == "pp_comm:" { "pp_comm" } else { word };
        if !KEYS.contains(&key) || header.iter().any(|h| h.0 == key) {
            let problem = if KEYS.contains(&key) { "a second time" } else { "unknown" };
            return Err(
                lines.error(format!("\"{word}\": {problem}; expected each of {} at most once", KEYS.join(", ")))
            );
        }
        let value = words.next().unwrap_or("");
        // AICB writes what it has divided with a point.
        let value = if key == "pp_comm" { value.strip_suffix(".0").unwrap_or(value) } else { value };
        let value = lines.number(value, &format!("a number behind {word}"), MAX_BYTES)?;
        if key.starts_with("checkpoint") && value > 0 {
            return Err(lines.error(format!("{word} {value}: expected 0, checkpoints are not supported")));
        }
        header.push((key.to_string(), value));
    }
    let Some(second) = lines.next()? else { return Err(lines.error("the file ends before the number of layers")) };
    let count = lines.number(second.trim(), "the number of layers", u64::MAX)?;
    let mut layers = Vec::new();
    while let Some(text) = lines.next()? {
        if text.trim().is_empty() {
            continue;
        }
        if layers.len() as u64 == count {
            return Err(lines.error(format!("a layer beyond the {count} that the second line says")));
        }
        layers.push(lines.layer(&text, micro)?);
    }
    if (layers.len() as u64) < count {
        return Err(lines.error(format!("the file ends after {} layers; the second line says {count}", layers.len())));
    }
    Ok(Workload { micro, header, layers })
}

struct Lines<'a, R> {
    reader: &'a mut R,
    name: &'a str,
    line: u64,
}

impl<R: BufRead> Lines<'_, R> {
    fn error(&self, reason: impl Into<String>) -> JobError {
        JobError::new(self.name, Place::Line(self.line.max(1)), reason)
    }

    fn next(&mut self) -> Result<Option<String>, JobError> {
        let mut raw = Vec::new();
        let read = io::Read::take(&mut *self.reader, MAX_LINE_LENGTH + 1).read_until(b'\n', &mut raw);
        let read = read.map_err(|e| self.error(format!("cannot be read: {}", plain(&e))))?;
        self.line += u64::from(read > 0);
        if read as u64 > MAX_LINE_LENGTH {
            return Err(self.error(format!("longer than {MAX_LINE_LENGTH} bytes")));
        }
        let text = String::from_utf8(raw).map_err(|_| self.error("is not UTF-8 text"))?;
        Ok((read > 0).then_some(text))
    }

    fn number(&self, word: &str, what: &str, most: u64) -> Result<u64, JobError> {
        let digits = word.strip_prefix('-').unwrap_or(word);
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match word.parse::<u64>() {
            Ok(value) if value <= most => Ok(value),
            _ if !is_number => Err(self.error(format!("\"{}\": expected {what}", word.escape_debug()))),
            _ if word.starts_with('-') => Err(self.error(format!("\"{word}\" is negative; expected {what}"))),
            _ => Err(self.error(format!("\"{word}\" is too large; expected {what}, at most {most}"))),
        }
    }

    fn layer(&self, text: &str, micro: bool) -> Result<Layer, JobError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != 12 {
            let text = format!(
                "{} columns; expected 12: name, -1, three times (nanoseconds, collective, bytes), update time",
                words.len()
            );
            return Err(self.error(text));
        }
        if words[1] != "-1" {
            return Err(self.error(format!("\"{}\": a dependency; expected -1, the layer before", words[1])));
        }
        let part = |at: usize| {
            let time = self.number(words[at], "nanoseconds", MAX_COMPUTING.as_ps() / 1000)?;
            let bytes = self.number(words[at + 2], "bytes", MAX_BYTES)?;
            let call = Call { word: words[at + 1].to_string(), bytes };
            let kind = kind(&call.word).map_err(|reason| self.error(reason))?;
            if micro && kind.is_some_and(|(_, ranks)| at != 8 || ranks != Ranks::Usual) {
                let text = "expected NONE, NONE and a collective of all ranks in a layer of a MICRO workload";
                return Err(self.error(format!("\"{}\": {text}", call.word)));
            }
            Ok::<_, JobError>((time, call))
        };
        let parts = [part(2)?, part(5)?, part(8)?];
        Ok(Layer {
            name: words[0].to_string(),
            parts,
            update: self.number(words[11], "an update time", u64::MAX)?,
            line: self.line,
        })
    }
}

/// The ranks that take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ranks {
    Usual,
    Expert,
    ExpertData,
}

impl Ranks {
    /// The kind of groups for a part of a layer.
    fn groups(self, part: usize) -> usize {
        match self {
            Ranks::Usual => usize::from(part == 2),
            Ranks::Expert => 2,
            Ranks::ExpertData => 3,
        }
    }
}

fn kind(word: &str) -> Result<Option<(Collective, Ranks)>, String> {
    let (name, ranks) = match word {
        w if w.ends_with("_DP_EP") => (&w[..w.len() - 6], Ranks::ExpertData),
        w if w.ends_with("_EP") => (&w[..w.len() - 3], Ranks::Expert),
        w => (w, Ranks::Usual),
    };
    let collective = match name {
        "NONE" if ranks == Ranks::Usual => return Ok(None),
        "ALLREDUCE" => Collective::AllReduce,
        "ALLGATHER" => Collective::AllGather,
        "REDUCESCATTER" => Collective::ReduceScatter,
        "ALLTOALL" => Collective::AllToAll,
        "BROADCAST" => Collective::Broadcast,
        _ => {
            let known = "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST, with _EP or _DP_EP";
            return Err(format!("\"{}\": expected {known}", word.escape_debug()));
        }
    };
    Ok(Some((collective, ranks)))
}

/// Writes a workload; [`parse`] reads it as the same.
pub fn write(workload: &Workload, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{}", if workload.micro { MICRO } else { POLICY })?;
    for (key, value) in &workload.header {
        write!(out, " {key} {value}")?;
    }
    writeln!(out, "\n{}", workload.layers.len())?;
    for layer in &workload.layers {
        write!(out, "{}\t-1", layer.name)?;
        for (time, call) in &layer.parts {
            write!(out, "\t{time}\t{}\t{}", call.word, call.bytes)?;
        }
        writeln!(out, "\t{}", layer.update)?;
    }
    out.flush()
}

/// Writes the workload that the job was read from: the layers of a workload are no longer in a job.
fn copy(target: &mut Target<'_>) -> Result<Vec<String>, JobError> {
    let source = &target.own_files[0];
    let workload = parse(&mut open(source)?, source)?;
    target.write_single(|_, out| Ok(write(&workload, out)?))
}

/// Reads a workload as a job. An old header lacks the number of ranks: it is `options.ranks`, else that of the
/// tensor-parallel group; for `MICRO` the options must have it.
pub fn read(reader: &mut impl BufRead, name: &str, options: &Options, budget: &Budget<'_>) -> Result<Job, JobError> {
    let workload = parse(reader, name)?;
    if workload.micro { micro_job(&workload, name, options) } else { to_job(&workload, name, options, budget) }
}

/// The number at a place of the header, if it is a number of ranks.
fn rank_count(value: u64, what: &str, name: &str) -> Result<u32, JobError> {
    match u32::try_from(value) {
        Ok(value) if (1..=MAX_RANKS).contains(&value) => Ok(value),
        _ => Err(JobError::new(name, Place::Line(1), format!("{what} {value}: expected 1 to {MAX_RANKS}"))),
    }
}

/// Collectives of all ranks, one after the other.
fn micro_job(workload: &Workload, name: &str, options: &Options) -> Result<Job, JobError> {
    let Some(ranks) = options.ranks else {
        let error = JobError::new(name, Place::Line(1), format!("{MICRO} does not say the number of ranks"));
        return Err(error.with_missing(Some(Missing::Ranks)));
    };
    let ranks = rank_count(ranks.into(), "ranks", name)?;
    let mut builder = ProgramBuilder::new();
    let mut last = None;
    for layer in &workload.layers {
        let call = &layer.parts[2].1;
        let Some((collective, _)) = kind(&call.word).ok().flatten() else { continue };
        let work = Work::Collective { kind: collective, group: 0, bytes: call.bytes };
        let made = builder.push(Operation { work, stream: 0, nic: 0, phase: 0, place: layer.line });
        last.into_iter().for_each(|sooner| builder.requires(made, sooner));
        last = Some(made);
    }
    let program = Arc::new(builder.finish());
    let mut job = Job::new(name, Vec::new());
    job.programs = vec![program; ranks as usize];
    job.places = Places::Lines;
    job.groups = vec![Group { name: "all".into(), ranks: (0..ranks).collect() }];
    job.notes = vec![format!("{MICRO}: the collectives alone, one after the other; times of layers cost nothing")];
    Ok(job)
}

/// The groups of all ranks: `size` ranks each at distance `stride`.
fn partition(ranks: u32, size: u32, stride: u32) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    for block in (0..ranks).step_by((size * stride) as usize) {
        for first in 0..stride {
            groups.push((0..size).map(|i| block + first + i * stride).collect());
        }
    }
    groups
}

fn to_job(workload: &Workload, name: &str, options: &Options, budget: &Budget<'_>) -> Result<Job, JobError> {
    let refused = |reason: String| JobError::new(name, Place::Line(1), reason);
    let key = |key: &str| workload.header.iter().find(|h| h.0 == key).map(|h| h.1);
    let small = |value: u64, what: &str| rank_count(value, what, name);
    let tensor = small(key("model_parallel_NPU_group:").unwrap_or(1), "model_parallel_NPU_group:")?;
    let declared = key("all_gpus:").map(|g| small(g, "all_gpus:")).transpose()?;
    let ranks = match (declared, options.ranks) {
        (Some(declared), Some(requested)) if declared != requested => {
            return Err(refused(format!("all_gpus: {declared}, but {requested} ranks are asked for")));
        }
        (declared, requested) => match declared.or(requested) {
            Some(ranks) => small(ranks.into(), "ranks")?,
            None => tensor,
        },
    };
    let expert = key("ep:").or(key("expert_parallel_npu_group:")).unwrap_or(1);
    let (expert, stages) = (small(expert, "ep:")?, small(key("pp:").unwrap_or(1), "pp:")?);
    // Of at most 20 bits each: products of two do not wrap in 64.
    let (all, split) = (u64::from(ranks), u64::from(tensor));
    if !all.is_multiple_of(split * u64::from(stages))
        || !(all / u64::from(stages)).is_multiple_of(split * u64::from(expert))
    {
        return Err(refused(format!(
            "{ranks} ranks are no multiple of tensor {tensor} x expert {expert}, pipeline {stages}"
        )));
    }
    let data = ranks / tensor / stages;
    // Tensor-parallel ranks are neighbours, then data-parallel ones, of which neighbours share experts; stages are furthest.
    let kinds = [(tensor, 1), (data, tensor), (expert, tensor), (data / expert, tensor * expert)];
    if budget.limit != MemoryLimit::NONE {
        budget.check(name, &size(workload, ranks, &kinds, budget.locate), Keys::File)?;
    }
    let mut job = Job::new(name, Vec::new());
    (job.places, job.phases) =
        (Places::Lines, ["", "forward", "input gradient", "weight gradient"].map(String::from).into());
    let mut first = [0u32; 4];
    for (number, (size, stride)) in kinds.into_iter().enumerate() {
        first[number] = job.groups.len() as u32;
        let names = ["tensor", "data", "expert", "expert-data"];
        let lists = partition(ranks, size, stride).into_iter().enumerate();
        job.groups
            .extend(lists.map(|(i, ranks)| Group { name: format!("{}-{i}", names[number]), ranks: ranks.into() }));
    }
    for rank in 0..ranks {
        let group = |number: usize| {
            let (size, stride) = kinds[number];
            first[number] + rank / (size * stride) * stride + rank % stride
        };
        job.programs.push(Arc::new(program(workload, &group)));
    }
    job.notes = notes(workload, stages, declared.is_none());
    Ok(job)
}

/// The size of the job; `kinds` has size and stride of the groups of each kind.
pub(crate) fn size(workload: &Workload, ranks: u32, kinds: &[(u32, u32); 4], locate: &dyn Fn(u32) -> Location) -> Size {
    let mut calls: BTreeMap<(usize, Collective, u64), u128> = BTreeMap::new();
    for (part, call) in workload.layers.iter().flat_map(|layer| (0..3).zip(layer.parts.iter().map(|p| &p.1))) {
        if let Some((collective, of)) = kind(&call.word).ok().flatten() {
            *calls.entry((of.groups(part), collective, call.bytes)).or_default() += 1;
        }
    }
    let all = u128::from(ranks);
    let computations = 3 * workload.layers.len() as u128;
    let operations = all * (computations + calls.values().sum::<u128>());
    let patterns = kinds.map(|(size, stride)| {
        let rank = |group: u32, member: u32| group / stride * (size * stride) + group % stride + member * stride;
        Patterns::count_patterns(ranks / size, size, locate, &rank)
    });
    let groups = kinds.iter().map(|(size, _)| u128::from(ranks / size)).sum();
    let listed = calls.into_iter().map(|((number, kind, bytes), count)| Calls {
        kind,
        bytes,
        locations: patterns[number].locations.clone(),
        count: count * u128::from(ranks / kinds[number].0),
        schedules: patterns[number].different,
    });
    Size {
        ranks: all,
        operations,
        kept: all * computations,
        dependencies: operations * 3 / 2,
        messages: 0,
        groups,
        members: 4 * all,
        calls: listed.collect(),
    }
}

fn notes(workload: &Workload, stages: u32, undeclared: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if stages > 1 {
        notes.push(format!(
            "{stages} pipeline stages: every rank does all layers, the stages' messages (pp_comm) are left out"
        ));
    }
    if undeclared {
        notes.push("the header does not say the number of ranks (all_gpus)".to_string());
    }
    if workload.layers.iter().any(|l| l.update > 0) {
        notes.push("update times, the last column, cost nothing".to_string());
    }
    notes
}

fn program(workload: &Workload, group: &dyn Fn(usize) -> u32) -> crate::job::Program {
    let mut builder = ProgramBuilder::new();
    let (mut last, mut pending): (Option<u32>, Option<u32>) = (None, None);
    // The collective of a part, on the stream of messages; what waits for the returned operation waits for it.
    let call = |builder: &mut ProgramBuilder, layer: &Layer, part: usize, after: &[Option<u32>]| {
        let (collective, ranks) = kind(&layer.parts[part].1.word).ok().flatten()?;
        let work =
            Work::Collective { kind: collective, group: group(ranks.groups(part)), bytes: layer.parts[part].1.bytes };
        let made = builder.push(Operation { work, stream: 1, nic: 0, phase: part as u8 + 1, place: layer.line });
        after.iter().flatten().for_each(|&sooner| builder.requires(made, sooner));
        Some(made)
    };
    let compute = |builder: &mut ProgramBuilder, layer: &Layer, part: usize, after: Option<u32>| {
        let work = Work::Compute(Delta::from_ns(layer.parts[part].0));
        let made = builder.push(Operation { work, stream: 0, nic: 0, phase: part as u8 + 1, place: layer.line });
        after.into_iter().for_each(|sooner| builder.requires(made, sooner));
        Some(made)
    };
    for layer in &workload.layers {
        last = compute(&mut builder, layer, 0, last);
        last = call(&mut builder, layer, 0, &[last]).or(last);
    }
    for layer in workload.layers.iter().rev() {
        last = compute(&mut builder, layer, 2, last);
        // Collectives of weight gradients follow one another beside the computing.
        pending = call(&mut builder, layer, 2, &[last, pending]).or(pending);
        last = compute(&mut builder, layer, 1, last);
        last = call(&mut builder, layer, 1, &[last]).or(last);
    }
    builder.finish()
}
