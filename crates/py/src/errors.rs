//! Errors that classes of Python raise.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    _native,
    HandlerError,
    PyException,
    "A class of Python failed; the cause is what it raised, whatever that is."
);

/// What a class raised, as the cause of an error that says where it comes from: it may be anything, also what ends a process.
pub fn raised_by_class(py: Python<'_>, error: PyErr) -> PyErr {
    let handler_error = HandlerError::new_err("a class of Python failed");
    handler_error.set_cause(py, Some(error));
    handler_error
}
