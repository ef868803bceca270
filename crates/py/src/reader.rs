//! Files that Python has opened, for Rust to read: `formats/inputs.py` decides about pipes.

use crate::writer::to_io_error;
use pyo3::prelude::*;
use std::io::{self, BufReader, Read};

/// Bytes that come from Python at once.
const CHUNK: usize = 1 << 18;

/// A binary file of Python: an object with `read1`.
pub(crate) struct PythonInput(Py<PyAny>);

impl PythonInput {
    /// The file behind a buffer.
    pub(crate) fn open_buffered(file: Py<PyAny>) -> BufReader<PythonInput> {
        BufReader::with_capacity(CHUNK, PythonInput(file))
    }
}

impl Read for PythonInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Python::try_attach(|py| {
            let read = self.0.call_method1(py, "read1", (into.len(),)).map_err(|e| to_io_error(py, e))?;
            let bytes: Vec<u8> = read.extract(py).map_err(io::Error::from)?;
            into[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        })
        .unwrap_or_else(|| Err(io::Error::other("the process ends")))
    }
}
