//! Errors that classes of Python raise.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    _native,
    HandlerError,
    PyException,
    "A class of Python failed; the cause is what it raised, whatever that is."
);

/// Makes a class's exception the cause of an error that names its origin. The exception may be any, also one that
/// ends a process.
pub fn raised_by_class(py: Python<'_>, error: PyErr) -> PyErr {
    let handler_error = HandlerError::new_err("a class of Python failed");
    handler_error.set_cause(py, Some(error));
    handler_error
}
