//! End of a process whose memory is used up: a line and an exit code instead of a signal.
//!
//! Rust aborts where an allocation fails, and C code that does not check `malloc`'s result writes to address 0. Neither can
//! be caught as an error. So the command line has these signals end the process, if memory is what is missing; otherwise
//! they do what they did before.

use pyo3::prelude::*;

/// From now on this process ends with a line where its memory is used up, and not by a signal. For programs of their own only: it replaces
/// what the process does at SIGABRT, SIGSEGV and SIGBUS.
#[pyfunction]
pub fn end_without_memory() {
    #[cfg(unix)]
    signals::install();
}

#[cfg(unix)]
mod signals;
