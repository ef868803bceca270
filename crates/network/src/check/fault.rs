//! Faults of the parts of a network that checks look at one by one.

/// A part that cannot be as it is set.
pub(crate) struct Fault {
    /// Its index among those of its kind: link, event or path.
    pub index: usize,
    /// The setting at fault, as scenarios call it.
    pub setting: &'static str,
    /// Reason of the refusal.
    pub problem: String,
    /// Values that are accepted.
    pub expected: String,
}
