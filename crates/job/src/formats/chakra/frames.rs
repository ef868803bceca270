//! Messages behind their lengths, one at a time.

use super::schema::{GlobalMetadata, Node};
use crate::error::{JobError, Place};
use crate::formats::source::{Counted, Progress};
use crate::formats::target::WriteError;
use prost::Message;
use std::io::{BufRead, Write};

/// A node has hundreds of bytes; one of a gigabyte is a broken length.
const MAX_FRAME: u64 = 1 << 30;

/// Reads a trace node by node.
pub struct Frames<'a, R> {
    input: Counted<'a, R>,
    total: u64,
    buffer: Vec<u8>,
    nodes: u64,
    /// Metadata of the trace.
    pub metadata: GlobalMetadata,
}

impl<'a, R: BufRead> Frames<'a, R> {
    /// Reads the metadata of a trace of `total` bytes.
    pub fn new(reader: &'a mut R, name: &'a str, total: u64) -> Result<Frames<'a, R>, JobError> {
        let input = Counted { inner: reader, name, offset: 0 };
        let mut frames = Frames { input, total, buffer: Vec::new(), nodes: 0, metadata: GlobalMetadata::default() };
        if !frames.frame()? {
            return Err(frames.input.error("is empty; expected a Chakra trace"));
        }
        frames.metadata = match GlobalMetadata::decode(&frames.buffer[..]) {
            Ok(metadata) => metadata,
            Err(error) => {
                let text = format!("is no Chakra trace: its first message is no GlobalMetadata ({error})");
                return Err(JobError::new(name, Place::Byte(0), text));
            }
        };
        Ok(frames)
    }

    /// Bytes that are read.
    pub(super) fn read(&self) -> u64 {
        self.input.offset
    }

    /// The next node; `None` at the end of the file.
    pub fn node(&mut self, progress: Progress<'_>) -> Result<Option<Node>, JobError> {
        self.nodes += 1;
        if self.nodes.is_multiple_of(4096) && !progress(self.input.offset, self.total) {
            return Err(JobError::new_cancelled());
        }
        let begin = self.input.offset;
        if !self.frame()? {
            return Ok(None);
        }
        match Node::decode(&self.buffer[..]) {
            Ok(node) => Ok(Some(node)),
            Err(error) => {
                let text = format!("message {} is no Node: {error}", self.nodes);
                Err(JobError::new(self.input.name, Place::Byte(begin), text))
            }
        }
    }

    /// Reads a message into the buffer; false at the end of the file.
    fn frame(&mut self) -> Result<bool, JobError> {
        let begin = self.input.offset;
        let mut length = 0u64;
        for shift in (0..).step_by(7) {
            if shift == 0 {
                let rest = self
                    .input
                    .inner
                    .fill_buf()
                    .map_err(|e| JobError::new(self.input.name, Place::File, e.to_string()))?;
                if rest.is_empty() {
                    return Ok(false);
                }
            }
            let mut byte = [0];
            self.input.exact(&mut byte)?;
            length |= u64::from(byte[0] & 127) << shift;
            if byte[0] < 128 {
                break;
            }
            if shift >= 28 {
                return Err(JobError::new(
                    self.input.name,
                    Place::Byte(begin),
                    "the length of a message has more than 32 bits",
                ));
            }
        }
        let left = self.total.saturating_sub(self.input.offset);
        if length > MAX_FRAME || length > left {
            let text = format!(
                "a message of {length} bytes, of which the file has {left}; it is truncated or no Chakra trace"
            );
            return Err(JobError::new(self.input.name, Place::Byte(begin), text));
        }
        self.buffer.resize(length as usize, 0);
        self.input.exact(&mut self.buffer)?;
        Ok(true)
    }
}

/// Writes a message behind its length.
pub(super) fn put(message: &impl Message, out: &mut impl Write) -> std::io::Result<()> {
    out.write_all(&message.encode_length_delimited_to_vec())
}

/// Copies a trace node by node: every attribute and dependency, also those on absent nodes.
pub fn copy<R: BufRead>(
    reader: &mut R,
    name: &str,
    total: u64,
    out: &mut impl Write,
    progress: Progress<'_>,
) -> Result<u64, WriteError> {
    let mut frames = Frames::new(reader, name, total).map_err(WriteError::Job)?;
    put(&frames.metadata, out)?;
    let mut nodes = 0;
    while let Some(node) = frames.node(progress).map_err(WriteError::Job)? {
        put(&node, out)?;
        nodes += 1;
    }
    out.flush()?;
    Ok(nodes)
}
