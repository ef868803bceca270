//! Why a network cannot be built.

use farloop_engine::Calendar;
use farloop_units::{Bytes, Rate};
use std::fmt;

/// Why a specification cannot be simulated. Nodes and flows are given by index and, where known, name.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    /// A host has no link or several.
    HostLinks {
        /// Its name.
        host: String,
        /// How many links it has.
        links: usize,
    },
    /// A link ends at a node that does not exist, or begins and ends at the same one.
    BadLink {
        /// Its index.
        link: usize,
    },
    /// A link's rate is zero.
    ZeroRate {
        /// Its index.
        link: usize,
    },
    /// A rate has more significant digits than telemetry records carry.
    IntRate {
        /// Name of the switch that should stamp.
        switch: String,
        /// The rate.
        rate: Rate,
    },
    /// The headroom that PFC needs leaves no shared buffer.
    BufferTooSmall {
        /// Name of the switch.
        switch: String,
        /// Its buffer.
        buffer: Bytes,
        /// Headroom of all its ports.
        headroom: Bytes,
    },
    /// The packet format leaves no payload, or does not fit 64 kB.
    Format {
        /// What is wrong.
        problem: String,
    },
    /// A flow is inconsistent.
    Flow {
        /// Its index.
        flow: usize,
        /// What is wrong.
        problem: String,
    },
    /// What should be recorded is not there.
    Record {
        /// What is wrong.
        problem: String,
    },
    /// A detour is inconsistent.
    Detour {
        /// Its index.
        detour: usize,
        /// What is wrong.
        problem: String,
    },
    /// Two algorithms want an agent at the same port.
    TwoAgents {
        /// Name of the switch.
        switch: String,
    },
    /// The caller asked for the building to stop.
    Cancelled,
    /// More ports and hosts than the calendar can number.
    TooLarge {
        /// Event ids needed.
        events: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::HostLinks { host, links } => write!(f, "host {host} has {links} links; a host has exactly one"),
            BuildError::BadLink { link } => write!(f, "link {} does not join two different nodes", link + 1),
            BuildError::ZeroRate { link } => write!(f, "link {} has a rate of zero", link + 1),
            BuildError::IntRate { switch, rate } => write!(
                f,
                "switch {switch} cannot stamp telemetry for a port of {rate}: INT carries rates of up to three significant \
                 digits; round the rate or turn int off for this switch"
            ),
            BuildError::BufferTooSmall { switch, buffer, headroom } => write!(
                f,
                "switch {switch}: PFC headroom takes {headroom} of its {buffer} buffer and leaves nothing to share; enlarge \
                 the buffer, shorten its links, or turn pfc off"
            ),
            BuildError::Format { problem } | BuildError::Record { problem } => write!(f, "{problem}"),
            BuildError::Flow { flow, problem } => write!(f, "flow {}: {problem}", flow + 1),
            BuildError::Detour { detour, problem } => write!(f, "detour {}: {problem}", detour + 1),
            BuildError::TwoAgents { switch } => {
                write!(
                    f,
                    "switch {switch}: two algorithms of one simulation want an agent at its ports; run them apart"
                )
            }
            BuildError::Cancelled => write!(f, "cancelled"),
            BuildError::TooLarge { events } => {
                write!(f, "the network needs {events} event numbers; at most {} are there", Calendar::MAX_IDS)
            }
        }
    }
}
impl std::error::Error for BuildError {}
