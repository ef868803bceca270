//! The place of a rank, which decides how collectives are sent.

/// Where a rank is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Location {
    /// Its site.
    pub site: u32,
    /// Its host.
    pub host: u32,
}
