//! Why a scenario does not run.

use crate::diagnostic::Diagnostic;

/// Why there is no outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(Box<Diagnostic>),
    /// `progress` asked to stop.
    Cancelled,
}

impl RunError {
    /// What is wrong, of an error of who cannot cancel.
    pub(crate) fn diagnostic(self) -> Diagnostic {
        match self {
            RunError::Scenario(diagnostic) => *diagnostic,
            RunError::Cancelled => unreachable!("nobody cancels"),
        }
    }
}

impl From<Diagnostic> for RunError {
    fn from(diagnostic: Diagnostic) -> RunError {
        RunError::Scenario(Box::new(diagnostic))
    }
}
