//! Files that Python has opened, for Rust to write. One place decides how a file that a user names comes to be:
//! `safe_files/named_files.py`.

use pyo3::prelude::*;
use std::io::{self, BufWriter, Write};

/// Bytes that reach Python at once.
const CHUNK: usize = 1 << 18;

/// A binary file of Python: an object with `write` and `close`. It is closed when it is dropped.
pub(crate) struct PythonFile(Py<PyAny>);

impl PythonFile {
    /// The file behind a buffer, which its user flushes.
    pub(crate) fn open_buffered(file: Py<PyAny>) -> BufWriter<PythonFile> {
        BufWriter::with_capacity(CHUNK, PythonFile(file))
    }
}

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::try_attach(|py| {
            let written = self.0.call_method1(py, "write", (bytes,)).map_err(|e| to_io_error(py, e))?;
            written.extract::<Option<usize>>(py).map_err(io::Error::from)?.ok_or(io::ErrorKind::WouldBlock.into())
        })
        .unwrap_or_else(|| Err(io::Error::other("the process ends")))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PythonFile {
    fn drop(&mut self) {
        // Python closes it again, and reports the error.
        Python::try_attach(|py| drop(self.0.call_method0(py, "close")));
    }
}

/// An `OSError` with its number.
pub(crate) fn to_io_error(py: Python<'_>, error: PyErr) -> io::Error {
    match error.value(py).getattr("errno").and_then(|number| number.extract::<i32>()) {
        Ok(number) => io::Error::from_raw_os_error(number),
        Err(_) => io::Error::from(error),
    }
}
