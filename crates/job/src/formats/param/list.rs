//! A JSON list of objects, read one by one.

use super::entry::Entry;
use crate::error::{JobError, Place};
use crate::formats::source::{Counted, Progress, open, plain, size};
use std::io::BufRead;

/// The most bytes of an operation's text: splits of some hundred thousand ranks.
const MAX_LENGTH: usize = 1 << 22;
/// Operations between two reports of progress.
const REPORT_EVERY: u64 = 1024;
/// Reads a list of objects one by one; `visit` gets each with its place in the list and the bytes read.
pub(super) fn visit_operations(
    path: &str,
    progress: Progress<'_>,
    visit: &mut dyn FnMut(&Entry, u64, u64) -> Result<(), String>,
) -> Result<(), JobError> {
    let (mut reader, total) = (open(path)?, size(path));
    let mut input = Counted { inner: &mut reader, name: path, offset: 0 };
    if input.next_visible()? != Some(b'[') {
        return Err(input.error("expected a list of operations: [{\"comms\": ...}, ...]"));
    }
    let mut text = Vec::new();
    for place in 0.. {
        if place % REPORT_EVERY == 0 && !progress(input.offset, total) {
            return Err(JobError::new_cancelled());
        }
        match (place, input.next_visible()?) {
            (0, Some(b'{')) => (),
            (_, Some(b']')) => break,
            (1.., Some(b',')) if input.next_visible()? == Some(b'{') => (),
            (_, None) => return Err(input.error("the file ends inside of its list; it is truncated")),
            _ => return Err(input.error("expected operations, {\"comms\": ...}, with commas between them")),
        }
        input.object(&mut text)?;
        let refused = |reason: String| JobError::new(path, Place::Operation(place), reason);
        let object = serde_json::from_slice(&text).map_err(|error| {
            let message = error.to_string();
            refused(format!("is no JSON: {}", message.split(" at line ").next().unwrap_or(&message)))
        })?;
        visit(&Entry(object), place, input.offset).map_err(refused)?;
    }
    match input.next_visible()? {
        None => Ok(()),
        Some(_) => Err(input.error("expected nothing behind the list")),
    }
}

impl<R: BufRead> Counted<'_, R> {
    fn byte(&mut self) -> Result<Option<u8>, JobError> {
        let buffered = match self.inner.fill_buf() {
            Ok(buffered) => buffered.first().copied(),
            Err(error) => return Err(self.error(format!("cannot be read: {}", plain(&error)))),
        };
        self.inner.consume(buffered.iter().len());
        self.offset += buffered.iter().len() as u64;
        Ok(buffered)
    }

    /// The next byte that is no white space.
    fn next_visible(&mut self) -> Result<Option<u8>, JobError> {
        loop {
            match self.byte()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => (),
                other => return Ok(other),
            }
        }
    }

    /// The text of an object, whose first brace is read.
    fn object(&mut self, text: &mut Vec<u8>) -> Result<(), JobError> {
        *text = vec![b'{'];
        let (mut depth, mut quoted, mut escaped) = (1u32, false, false);
        while depth > 0 {
            let Some(byte) = self.byte()? else {
                return Err(self.error("the file ends inside of an operation; it is truncated"));
            };
            if text.len() == MAX_LENGTH {
                return Err(self.error(format!("an operation of more than {MAX_LENGTH} bytes; expected less")));
            }
            text.push(byte);
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => depth -= 1,
                _ => (),
            }
        }
        Ok(())
    }
}
