//! Why a scenario does not run.

use crate::diagnostic::Diagnostic;
use farloop_trace::SpecError;

/// Why there is no outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(Box<Diagnostic>),
    /// The specification of a trace is wrong.
    Trace(Box<SpecError>),
    /// `progress` returned `false`.
    Cancelled,
}

impl RunError {
    /// Returns the diagnostic, for callers that neither trace nor cancel.
    pub(crate) fn diagnostic(self) -> Diagnostic {
        match self {
            RunError::Scenario(diagnostic) => *diagnostic,
            RunError::Trace(_) => unreachable!("nobody traces"),
            RunError::Cancelled => unreachable!("nobody cancels"),
        }
    }
}

impl From<SpecError> for RunError {
    fn from(error: SpecError) -> RunError {
        RunError::Trace(Box::new(error))
    }
}

impl From<Diagnostic> for RunError {
    fn from(diagnostic: Diagnostic) -> RunError {
        RunError::Scenario(Box::new(diagnostic))
    }
}
