//! A feature that the fluid simulation does not have, by the key of a scenario.

use std::fmt;

/// A feature of a network that the fluid simulation does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The key of a scenario that asks for it.
    pub key: &'static str,
    /// The feature.
    pub problem: String,
    /// The values that would be accepted.
    pub expected: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.key, self.problem, self.expected)
    }
}

impl std::error::Error for Refusal {}

/// Refuses what a key asks for.
pub(crate) fn refuse(key: &'static str, problem: impl Into<String>, expected: &'static str) -> Result<(), Refusal> {
    Err(Refusal { key, problem: problem.into(), expected })
}
