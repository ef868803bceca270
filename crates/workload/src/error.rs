//! Why traffic cannot be made.

use std::fmt;

/// More flows than this are refused: they would not fit into memory before the simulation begins.
pub const MAX_FLOWS: f64 = 50e6;

/// Why traffic cannot be made: a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError(pub String);

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for WorkloadError {}

/// Refuses more flows than memory holds.
pub(crate) fn check_count(flows: f64) -> Result<(), WorkloadError> {
    if flows <= MAX_FLOWS {
        return Ok(());
    }
    Err(WorkloadError(format!(
        "about {flows:.1e} flows would start; expected at most {MAX_FLOWS:.0e}: shorten the window"
    )))
}
