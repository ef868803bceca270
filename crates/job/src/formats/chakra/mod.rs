//! Chakra execution traces: a file per rank, of protobuf messages each behind its length as a varint: GlobalMetadata, then a Node after the
//! other (mlcommons/chakra, schema/protobuf/et_def.proto and src/third_party/utils/protolib.py, at 21585d8).

mod convert;
mod counts;
mod frames;
mod lane;
mod order;
pub mod schema;
mod write;

pub use convert::read;
pub use frames::{Frames, copy};
pub use write::write_rank;

use super::source::{Progress, open, size};
use super::spec::{Detection, FormatSpec, Writing};
use super::target::{Target, WriteError};
use crate::error::JobError;
use crate::memory::Keys;
use serde_json::{Value, json};
use std::io::Write;

/// Chakra execution traces.
pub const FORMAT: FormatSpec = FormatSpec {
    name: "chakra",
    family: "Chakra",
    description: "Chakra execution traces (protobuf), one for each rank, such as `trace.0.et trace.1.et`",
    extension: ".et",
    detection: Detection::Bytes,
    is_file_per_rank: true,
    memory_keys: Keys::File,
    read: |source, progress| read(source.files, source.options, progress, source.budget.limit),
    writing: Writing::Any { collectives: true, write: write_all },
};

/// Writes a file for each rank and one with the groups. Traces that stay as they are keep every attribute.
fn write_all(target: &mut Target<'_>, progress: Progress<'_>) -> Result<Vec<String>, JobError> {
    let job = target.job;
    let is_copied = !target.own_files.is_empty() && !target.expanded;
    let mut written = Vec::new();
    for rank in 0..job.ranks() {
        if !progress(rank.into(), job.ranks().into()) {
            return Err(JobError::new_cancelled());
        }
        let name = format!("{}.{rank}{}", target.path, FORMAT.extension);
        written.push(target.write_file(&name, |out| {
            if !is_copied {
                return write_rank(job, rank, out);
            }
            let source = job.file(rank);
            let mut reader = open(source).map_err(WriteError::Job)?;
            copy(&mut reader, source, size(source), out, &mut |_, _| true).map(|_| ())
        })?);
    }
    if !is_copied && !job.groups.is_empty() {
        let groups: serde_json::Map<String, Value> =
            job.groups.iter().map(|g| (g.name.clone(), json!(&g.ranks[..]))).collect();
        let text = Value::Object(groups).to_string();
        let name = format!("{}.groups.json", target.path);
        written.push(target.write_file(&name, |out| Ok(out.write_all(text.as_bytes())?))?);
    }
    Ok(written)
}
