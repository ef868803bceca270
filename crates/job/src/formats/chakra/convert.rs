//! From nodes to a program.
//!
//! - A node is an operation, its `data_deps` and `ctrl_deps` are waits for ends. A dependency on a node that the file lacks
//!   is counted, reported and kept, and holds nothing up.
//! - Where nodes wait for one another, their control dependencies hold nothing up and are counted: the trace of Chakra's own feeder has
//!   some, and the feeder follows `data_deps` alone (src/feeder/et_feeder.cpp).
//! - GPU nodes of a stream (attribute `stream`, or `tid` in older traces) keep the order in which they began (`start_time_micros`;
//!   where none is recorded, that of the file as far as dependencies allow). Where the trace has no dependency that says so, one is
//!   added and counted: without them kernels of a stream overlap (mlcommons/chakra#215).
//! - A computation takes `duration_micros`; without one max(`num_ops` / operations per second, `tensor_size` / memory bandwidth), the
//!   roofline of astra-sim (astra-sim/workload/Workload.cc, `issue_comp`). A CPU node takes its duration on a stream of its thread
//!   (`tid`).
//! - `comm_size` is the size of a rank's input (astra-sim, Ring.cc): an all-gather of n ranks gives n times as much.
//! - CPU nodes of type COMM_COLL launch a collective that a GPU node does; they take their duration.

use super::counts::Counts;
use super::frames::Frames;
use super::lane::{Lane, is_cpu, lane};
use super::order::{keep_streams, without_contradictions};
use super::schema::{Node, kind};
use crate::error::{JobError, Missing, Place};
use crate::formats::source::{Options, Progress, open, plain, refuse_json, size, sort_by_rank};
use crate::job::{
    Collective, Group, Job, MAX_BYTES, MAX_COMPUTING, MAX_DEPENDENCIES, MAX_OPERATIONS, Operation, Places, Program,
    ProgramBuilder, Work,
};
use crate::memory::{MemoryLimit, MemoryMeter};
use farloop_units::Delta;
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

/// Streams of nodes that name none: computations, messages.
const COMPUTING: u16 = 0;
const COMMUNICATING: u16 = 1;

/// Reads the traces of a job: one file for each rank, whose numbers are the last ones in the files' names; of a single file with
/// `options.ranks` every rank does the same.
pub fn read(paths: &[String], options: &Options, progress: Progress<'_>, limit: MemoryLimit) -> Result<Job, JobError> {
    let paths = sort_by_rank(paths, options.ranks, ".et")?;
    let total: u64 = paths.iter().map(|p| size(p)).sum();
    let alike = if paths.len() == 1 { options.ranks.unwrap_or(1) } else { paths.len() as u32 };
    let mut groups = Groups::new(options, alike, MemoryMeter::new(limit, total))?;
    let mut job = Job::new("", Vec::new());
    (job.files, job.places) = (paths.clone(), Places::Nodes);
    let (mut before, mut counts) = (0u64, Counts::default());
    for path in &paths {
        let mut reader = open(path)?;
        let head = reader.fill_buf();
        refuse_json(
            path,
            head.map_err(|e| JobError::new(path, Place::File, format!("cannot be read: {}", plain(&e))))?,
        )?;
        let here = size(path);
        let program = rank(&mut reader, path, here, options, &mut groups, &mut counts, &mut |read, _| {
            progress(before + read, total)
        })?;
        before += here;
        groups.before = before;
        job.programs.push(Arc::new(program));
    }
    if paths.len() == 1 {
        job.programs = vec![job.programs[0].clone(); alike as usize];
    }
    job.groups = groups.list;
    job.notes = counts.notes();
    Ok(job)
}

struct Groups {
    list: Vec<Group>,
    ranks: u32,
    /// By name; never iterated.
    by_name: HashMap<String, u32>,
    given: bool,
    /// All ranks: the list of every group that names none.
    all: Arc<[u32]>,
    meter: MemoryMeter,
    /// Bytes of the files before the one that is read.
    before: u64,
}

impl Groups {
    fn new(options: &Options, ranks: u32, meter: MemoryMeter) -> Result<Groups, JobError> {
        let given = options.groups.is_some();
        let all = (0..ranks).collect();
        let mut groups = Groups { list: Vec::new(), ranks, by_name: HashMap::new(), given, all, meter, before: 0 };
        let Some((file, text)) = &options.groups else { return Ok(groups) };
        let refused = |reason: String| JobError::new(file, Place::File, reason);
        let expected = "expected an object of groups, each a list of ranks, such as {\"0\": [0, 1]}";
        let parsed: serde_json::Value = serde_json::from_str(text).map_err(|e| {
            let message = e.to_string();
            let message = message.split(" at line ").next().unwrap_or(&message);
            JobError::new(file, Place::Line(e.line() as u64), format!("is no JSON: {message}; {expected}"))
        })?;
        let object = parsed.as_object().ok_or_else(|| refused(expected.into()))?;
        // By rank: the last group, counted from 1, that has it.
        let mut newest = vec![0usize; ranks as usize];
        for (number, (name, list)) in (1..).zip(object) {
            let list = list.as_array().ok_or_else(|| refused(format!("group {name}: {expected}")))?;
            let mut members = Vec::new();
            for value in list {
                match value.as_u64() {
                    Some(rank) if rank < u64::from(ranks) && newest[rank as usize] < number => {
                        newest[rank as usize] = number;
                        members.push(rank as u32);
                    }
                    _ => {
                        return Err(refused(format!(
                            "group {name}: {value}: expected ranks of 0 to {}, each once",
                            ranks - 1
                        )));
                    }
                }
            }
            groups.add_list(name, members).map_err(refused)?;
        }
        Ok(groups)
    }

    /// Adds a group with a list of its own.
    fn add_list(&mut self, name: &str, ranks: Vec<u32>) -> Result<u32, String> {
        self.meter.add_members(ranks.len() as u64)?;
        self.add(name, ranks.into())
    }

    fn add(&mut self, name: &str, ranks: Arc<[u32]>) -> Result<u32, String> {
        self.meter.add_group()?;
        let number = self.list.len() as u32;
        self.list.push(Group { name: name.to_string(), ranks });
        self.by_name.insert(name.to_string(), number);
        Ok(number)
    }

    /// The group of that name; all ranks where there is no name, or the request has no groups.
    fn find(&mut self, name: Option<String>) -> Result<u32, String> {
        let name = name.filter(|n| !n.is_empty());
        if let Some(name) = &name {
            if let Some(&number) = self.by_name.get(name) {
                return Ok(number);
            }
            if self.given {
                return Err(format!("its group {name} is not in the file of groups"));
            }
        }
        let name = name.unwrap_or_else(|| "all ranks".into());
        if let Some(&number) = self.by_name.get(&name) {
            return Ok(number);
        }
        self.add(&name, self.all.clone())
    }

    /// Groups that a metadata node of PyTorch lists: `[{"pg_name": "0", "ranks": [0, 1], ...}]`, no ranks standing for all.
    fn learn(&mut self, node: &Node) -> Result<(), String> {
        let Some(values) = node.inputs.as_ref().map(|i| i.values.replace("\\\"", "\"")) else { return Ok(()) };
        let (Some(begin), Some(end)) = (values.find("[{"), values.rfind("}]")) else { return Ok(()) };
        if self.given || begin >= end {
            return Ok(());
        }
        let Ok(serde_json::Value::Array(list)) = serde_json::from_str(&values[begin..end + 2]) else { return Ok(()) };
        for item in &list {
            let Some(name) = item.get("pg_name").and_then(|n| n.as_str()) else { continue };
            let listed = item.get("ranks").and_then(|r| r.as_array()).map(Vec::as_slice).unwrap_or(&[]);
            if self.by_name.contains_key(name) {
                continue;
            }
            if listed.is_empty() {
                self.add(name, self.all.clone())?;
                continue;
            }
            let mut ranks: Vec<u32> = listed.iter().filter_map(|r| u32::try_from(r.as_u64()?).ok()).collect();
            ranks.retain(|&r| r < self.ranks);
            if !ranks.is_empty() {
                self.add_list(name, ranks)?;
            }
        }
        Ok(())
    }
}

fn rank(
    reader: &mut impl BufRead,
    path: &str,
    total: u64,
    options: &Options,
    groups: &mut Groups,
    counts: &mut Counts,
    progress: Progress<'_>,
) -> Result<Program, JobError> {
    let mut frames = Frames::new(reader, path, total)?;
    let mut builder = ProgramBuilder::new();
    let mut position: HashMap<u64, u32> = HashMap::new();
    // (later, node, of control)
    let mut waits: Vec<(u32, u64, bool)> = Vec::new();
    let mut starts: Vec<u64> = Vec::new();
    let mut lanes: Vec<Lane> = vec![Lane::Computing, Lane::Communicating];
    let mut lane_of: HashMap<Lane, u16> =
        HashMap::from([(Lane::Computing, COMPUTING), (Lane::Communicating, COMMUNICATING)]);
    while let Some(node) = frames.node(progress)? {
        let refused = |reason: String| JobError::new(path, Place::Node(node.id), reason);
        groups.meter.set_read(groups.before + frames.read());
        let waits_for = node.data_deps.len() + node.ctrl_deps.len();
        groups.meter.add_operations(1, waits_for as u64).map_err(refused)?;
        if node.kind == kind::METADATA {
            groups.learn(&node).map_err(refused)?;
        }
        let work = work(&node, options, groups, counts).map_err(|e| refused(e.reason).with_missing(e.missing))?;
        let lane = lane(&node);
        let stream = match (lane, lane_of.get(&lane)) {
            (Lane::Processor(stream), _) => {
                lanes.resize(lanes.len().max(usize::from(stream) + 1), Lane::Computing);
                stream
            }
            (_, Some(&stream)) => stream,
            (_, None) => {
                let stream =
                    u16::try_from(lanes.len()).map_err(|_| refused("more than 65,535 streams and threads".into()))?;
                lanes.push(lane);
                lane_of.insert(lane, stream);
                stream
            }
        };
        if builder.len() >= MAX_OPERATIONS {
            return Err(refused(format!("more than {MAX_OPERATIONS} nodes in a trace")));
        }
        if waits.len() + node.data_deps.len() + node.ctrl_deps.len() > MAX_DEPENDENCIES / 2 {
            // As many may be added along streams.
            return Err(refused(format!("more than {} dependencies in a trace", MAX_DEPENDENCIES / 2)));
        }
        let made = builder.push(Operation { work, stream, nic: 0, phase: 0, place: node.id });
        if position.insert(node.id, made).is_some() {
            return Err(refused("a second node of this id".into()));
        }
        starts.push(node.start_time_micros);
        waits.extend(node.data_deps.iter().map(|&dep| (made, dep, false)));
        waits.extend(node.ctrl_deps.iter().map(|&dep| (made, dep, true)));
    }
    counts.dependencies += waits.len() as u64;
    let mut edges: Vec<(u32, u32)> = Vec::with_capacity(waits.len());
    let mut of_control: Vec<bool> = Vec::with_capacity(waits.len());
    for (later, node, control) in waits {
        match position.get(&node) {
            Some(&sooner) => {
                edges.push((sooner, later));
                of_control.push(control);
            }
            None => {
                counts.absent += 1;
                builder.absent(later, node);
            }
        }
    }
    counts.contradicted += without_contradictions(builder.len(), &mut edges, &of_control);
    for &(sooner, later) in &edges {
        builder.requires(later, sooner);
    }
    keep_streams(path, &mut builder, edges, &starts, &lanes, counts)?;
    Ok(builder.finish())
}

/// Why a node is refused.
struct Refusal {
    reason: String,
    missing: Option<Missing>,
}

impl Refusal {
    fn lacking(missing: Missing, reason: &str) -> Refusal {
        Refusal { reason: reason.to_string(), missing: Some(missing) }
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal { reason, missing: None }
    }
}

fn work(node: &Node, options: &Options, groups: &mut Groups, counts: &mut Counts) -> Result<Work, Refusal> {
    let longest = MAX_COMPUTING.as_ps() / 1_000_000;
    if node.duration_micros > longest {
        let shown = node.duration_micros as i64;
        return Err(format!("duration_micros {shown}: negative or too long; expected 0 to {longest}").into());
    }
    let needed = |name: &str, most: i128| {
        let attribute = node.attribute(name).ok_or(format!("has no {name}"))?;
        match attribute.integer() {
            Some(value) if (0..=most).contains(&value) => Ok(value as u64),
            Some(value) => Err(format!("{name} {value}: expected 0 to {most}")),
            None => Err(format!("{name} is no integer")),
        }
    };
    let bytes = || needed("comm_size", MAX_BYTES.into());
    let largest = i128::from(u32::MAX) - 1;
    let tag = || if node.attribute("comm_tag").is_some() { needed("comm_tag", largest) } else { Ok(0) };
    match node.kind {
        kind::COMM_SEND if !is_cpu(node) => {
            Ok(Work::Send { to: needed("comm_dst", largest)? as u32, tag: tag()? as u32, bytes: bytes()? })
        }
        kind::COMM_RECV if !is_cpu(node) => {
            Ok(Work::Receive { from: needed("comm_src", largest)? as u32, tag: tag()? as u32, bytes: bytes()? })
        }
        kind::COMM_COLL if !is_cpu(node) => {
            let number = needed("comm_type", 9)?;
            let collective = Collective::ALL.into_iter().find(|&c| c as u64 == number);
            let Some(collective) = collective.or((number == 8).then_some(Collective::ReduceScatter)) else {
                return Err(format!("comm_type {number}: expected 0 to 9").into());
            };
            let name = ["pg_name", "comm_group"].into_iter().find_map(|n| node.attribute(n)).and_then(|a| a.text());
            let group = groups.find(name)?;
            let members = groups.list[group as usize].ranks.len() as u64;
            let put_in = if collective == Collective::Barrier { 0 } else { bytes()? };
            let gathers = matches!(collective, Collective::AllGather | Collective::Gather);
            let all = if gathers { put_in.checked_mul(members) } else { Some(put_in) };
            let bytes = all.filter(|all| *all <= MAX_BYTES).ok_or_else(|| {
                format!("comm_size {put_in} of each of {members} ranks; expected at most {MAX_BYTES} bytes in all")
            })?;
            Ok(Work::Collective { kind: collective, group, bytes })
        }
        kind::COMP | kind::MEM_LOAD | kind::MEM_STORE | kind::COMM_SEND..=kind::COMM_COLL => {
            duration(node, options, counts)
        }
        kind::METADATA => Ok(Work::Join),
        kind::INVALID => {
            counts.invalid += 1;
            Ok(Work::Join)
        }
        other => Err(format!("type {other}: expected 0 to 7").into()),
    }
}

fn duration(node: &Node, options: &Options, counts: &mut Counts) -> Result<Work, Refusal> {
    let amount = |name: &str| match node.attribute(name).and_then(|a| a.integer()) {
        Some(value) if value < 0 => Err(format!("{name} {value} is negative; expected 0 or more")),
        value => Ok(value.filter(|&v| v > 0)),
    };
    if let Some(picoseconds) = amount(super::write::PICOSECONDS)? {
        let duration = u64::try_from(picoseconds).map_or(Delta::MAX, Delta::from_ps);
        return Ok(bounded_work(duration, || format!("{} {picoseconds}", super::write::PICOSECONDS))?);
    }
    let (operations, tensor) = (amount("num_ops")?, amount("tensor_size")?);
    let of_memory = matches!(node.kind, kind::MEM_LOAD | kind::MEM_STORE);
    if node.duration_micros > 0 || (operations.is_none() && !(of_memory && tensor.is_some())) {
        return Ok(Work::Compute(Delta::from_us(node.duration_micros)));
    }
    let mut seconds = 0f64;
    if let Some(operations) = operations.filter(|_| !of_memory) {
        let flops = options.flops.ok_or(Refusal::lacking(Missing::Flops, "has num_ops and no duration"))?;
        seconds = operations as f64 / flops;
    }
    if let (Some(tensor), Some(bandwidth)) = (tensor, options.memory_bandwidth) {
        seconds = seconds.max(tensor as f64 / bandwidth);
    } else if of_memory {
        return Err(Refusal::lacking(Missing::MemoryBandwidth, "has tensor_size and no duration"));
    }
    counts.computed += 1;
    let what = || format!("{seconds:.3e} s by num_ops, tensor_size and the host's speed");
    Ok(bounded_work(Delta::from_secs_f64(seconds), what)?)
}

/// A computation of that duration, which `what` describes where it is too long.
fn bounded_work(duration: Delta, what: impl Fn() -> String) -> Result<Work, String> {
    if duration > MAX_COMPUTING {
        let days = MAX_COMPUTING.as_secs_f64() / 86_400.0;
        return Err(format!("{}: is too long; expected at most {days:.0} days", what()));
    }
    Ok(Work::Compute(duration))
}
