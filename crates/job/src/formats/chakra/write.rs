//! Writes a rank of a job as a Chakra trace.

use super::frames::put;
use super::schema::{Attribute, GlobalMetadata, Node, Value, kind};
use crate::formats::target::WriteError;
use crate::job::{ANY, Collective, Job, Places, Work};
use std::io::Write;

/// The attribute with a computation's duration where microseconds are too coarse.
pub const PICOSECONDS: &str = "duration_picos";

/// The attribute with an operation's stream. It is not `stream`, whose nodes keep an order: that is among the dependencies already.
pub const PROCESSOR: &str = "processor";

/// Writes rank `rank` of a job. Ids of nodes are those of the trace that the job comes from, else positions.
///
/// Chakra has no dependency on a start and no receive from any: jobs with those are refused. Durations are rounded up to microseconds;
/// the attribute `duration_picos` has them exactly.
pub fn write_rank(job: &Job, rank: u32, out: &mut impl Write) -> Result<(), WriteError> {
    let program = &job.programs[rank as usize];
    let mut deps: Vec<Vec<u32>> = vec![Vec::new(); program.operations().len()];
    for (later, sooner, at_start) in program.dependencies() {
        if at_start {
            let text = "waits for the start of another (irequires), which Chakra cannot say";
            return Err(WriteError::Job(job.error(rank, later, text)));
        }
        deps[later as usize].push(sooner);
    }
    // Operations of an expanded collective stand at the place of their node.
    let mut places: Vec<u64> = program.operations().iter().map(|o| o.place).collect();
    places.sort_unstable();
    let unique = job.places == Places::Nodes && places.windows(2).all(|w| w[0] != w[1]);
    // Else positions, behind the ids of absent nodes.
    let behind = free_ids(program.absent.iter().map(|a| a.1), program.operations().len() as u64);
    let id = |position: u32| {
        if unique { program.operations()[position as usize].place } else { behind + u64::from(position) }
    };
    let metadata = GlobalMetadata { version: String::new(), attr: vec![text("schema", "farloop")] };
    put(&metadata, out)?;
    for (position, operation) in (0u32..).zip(program.operations()) {
        let mut node = Node {
            id: id(position),
            data_deps: deps[position as usize].iter().map(|&d| id(d)).collect(),
            attr: vec![Attribute::new("is_cpu_op", Value::Bool(false))],
            ..Node::default()
        };
        node.data_deps.extend(program.absent.iter().filter(|a| a.0 == position).map(|a| a.1));
        match operation.work {
            Work::Compute(duration) => {
                (node.kind, node.duration_micros) = (kind::COMP, duration.as_ps().div_ceil(1_000_000));
                node.name = "compute".into();
                if !duration.as_ps().is_multiple_of(1_000_000) {
                    node.attr.push(Attribute::new(PICOSECONDS, Value::Uint64(duration.as_ps())));
                }
            }
            Work::Join => (node.kind, node.name) = (kind::METADATA, "join".into()),
            Work::Send { to, tag, bytes } => {
                (node.kind, node.name) = (kind::COMM_SEND, "send".into());
                message(&mut node, "comm_dst", to, tag, bytes);
            }
            Work::Receive { from, tag, .. } if from == ANY || tag == ANY => {
                return Err(WriteError::Job(job.error(rank, position, "receives from any, which Chakra cannot say")));
            }
            Work::Receive { from, tag, bytes } => {
                (node.kind, node.name) = (kind::COMM_RECV, "recv".into());
                message(&mut node, "comm_src", from, tag, bytes);
            }
            Work::Collective { kind: collective, group, bytes } => {
                (node.kind, node.name) = (kind::COMM_COLL, collective.name().into());
                let group = &job.groups[group as usize];
                let gathers = matches!(collective, Collective::AllGather | Collective::Gather);
                let put_in = if gathers { bytes / group.ranks.len().max(1) as u64 } else { bytes };
                node.attr.push(Attribute::new("comm_type", Value::Int64(collective as i64)));
                node.attr.push(Attribute::new("comm_size", Value::Int64(put_in as i64)));
                node.attr.push(text("pg_name", &group.name));
            }
        }
        node.attr.push(Attribute::new(PROCESSOR, Value::Uint32(operation.stream.into())));
        put(&node, out)?;
    }
    out.flush()?;
    Ok(())
}

/// The first of `count` ids in a row that are not among `taken`: behind all of them, or where no ids are left there in a gap before.
fn free_ids(taken: impl Iterator<Item = u64>, count: u64) -> u64 {
    let mut taken: Vec<u64> = taken.collect();
    taken.sort_unstable();
    let last = taken.last().map_or(Some(0), |last| last.checked_add(1));
    if let Some(behind) = last.filter(|behind| behind.checked_add(count).is_some()) {
        return behind;
    }
    let mut first = 0u64;
    for id in taken {
        if id - first >= count {
            break;
        }
        first = id.saturating_add(1);
    }
    first
}

fn text(name: &str, value: &str) -> Attribute {
    Attribute::new(name, Value::Text(value.to_string()))
}

fn message(node: &mut Node, peer: &str, rank: u32, tag: u32, bytes: u64) {
    node.attr.push(Attribute::new(peer, Value::Uint32(rank)));
    node.attr.push(Attribute::new("comm_tag", Value::Uint32(tag)));
    node.attr.push(Attribute::new("comm_size", Value::Int64(bytes as i64)));
}
