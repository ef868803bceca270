//! The declaration of a topology: its keys, the network that they make, its part of `docs/scenario-format.md`, and small networks of it
//! for tests.

use super::layout::{Layout, Misfit, Problem, Switches};
use crate::diagnostic::Diagnostic;
use crate::json::section;
use crate::reader::Section;
use farloop_units::{Delta, ParamSpec, Params};
use serde_json::{Map, Value as Json};

/// Keys of `[network]` that other files read: which topology it is, and those of routes (`events`).
pub(crate) const OTHER_KEYS: [&str; 2] = ["topology", "detection_time"];

/// A topology whose keys are one struct. It is a [`Topology`] by that.
pub(crate) trait TopologyKeys: Params {
    /// A drawing in letters for the page; empty without one.
    const DRAWING: &'static str = "";
    /// Its nodes and their names, in Markdown, for the page.
    const TEXT: &'static str;
    /// Small networks on which tests run.
    const EXAMPLES: &'static [Example];

    /// Checks that the keys fit together.
    fn check(&self) -> Result<(), Misfit> {
        Ok(())
    }

    /// The keys, with the optional ones filled in.
    fn resolve(&self) -> Self {
        self.clone()
    }

    /// Nodes, links and bottlenecks, for keys that pass [`TopologyKeys::check`].
    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit>;

    /// The round-trip times that follow from its keys, if it has circuit switches.
    fn round_trips(&self) -> Option<RoundTrips> {
        None
    }
}

/// A topology as the registry needs it.
pub(crate) trait Topology: Sized {
    /// The topology's part of the page, with its keys.
    fn page() -> Page;
    /// Small networks on which tests run.
    fn examples() -> &'static [Example];
    /// The keys that `[network]` can have together: a list for each word of `fabric`, or one.
    fn variants() -> Vec<Variant>;
    /// The word of `fabric` in `network`, where the topology has that key.
    fn fabric(_network: &Section<'_>) -> Result<Option<String>, Diagnostic> {
        Ok(None)
    }
    /// Reads the keys from `network`, a table of `root`, and checks that they fit together.
    fn read(root: &Section<'_>, network: &Section<'_>) -> Result<Self, Diagnostic>;
    /// The keys of `[network]` with their values, the optional ones filled in.
    fn resolve_keys(&self) -> Map<String, Json>;
    /// Nodes, links and bottlenecks.
    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Problem>;

    /// Its tables beside `[network]`, with the values of their keys.
    fn resolved_tables(&self) -> Vec<(&'static str, Json)> {
        Vec::new()
    }

    /// True if it has circuit switches.
    fn has_circuits(&self) -> bool {
        false
    }

    /// The round-trip times of a network with circuit switches, if the keys say them.
    fn round_trips(&self) -> Option<RoundTrips> {
        None
    }
}

impl<K: TopologyKeys> Topology for K {
    fn page() -> Page {
        Page {
            drawing: K::DRAWING,
            text: K::TEXT,
            tables: vec![KeyTable { lead: "", specs: K::specs(), required: &[] }],
        }
    }

    fn examples() -> &'static [Example] {
        K::EXAMPLES
    }

    fn variants() -> Vec<Variant> {
        vec![Variant { fabric: None, specs: K::specs() }]
    }

    fn read(_: &Section<'_>, network: &Section<'_>) -> Result<K, Diagnostic> {
        let keys: K = network.read(&[], &OTHER_KEYS)?;
        keys.check().map_err(|(key, problem, expected)| network.diagnostic(key, problem, expected))?;
        Ok(keys)
    }

    fn resolve_keys(&self) -> Map<String, Json> {
        section(&self.resolve())
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Problem> {
        TopologyKeys::layout(self, switches).map_err(Problem::from)
    }

    fn has_circuits(&self) -> bool {
        TopologyKeys::round_trips(self).is_some()
    }

    fn round_trips(&self) -> Option<RoundTrips> {
        TopologyKeys::round_trips(self)
    }
}

/// Keys that `[network]` can have together.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// The word of `fabric`, where the topology has that key.
    pub fabric: Option<&'static str>,
    /// All keys of the topology.
    pub specs: Vec<ParamSpec>,
}

/// Round-trip times in the empty network between hosts of two racks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrips {
    /// Of a full packet and its ACK through the packet network.
    pub packet: Delta,
    /// Of a full packet through a circuit switch, whose ACK returns through the packet network.
    pub circuit: Delta,
}

/// The part of `docs/scenario-format.md` about a topology.
#[derive(Clone, Debug)]
pub struct Page {
    /// A drawing in letters; empty without one.
    pub drawing: &'static str,
    /// Nodes and their names, in Markdown.
    pub text: &'static str,
    /// Its keys.
    pub tables: Vec<KeyTable>,
}

/// Keys of one table of a scenario.
#[derive(Clone, Debug)]
pub struct KeyTable {
    /// A line before the table; empty for `[network]`.
    pub lead: &'static str,
    /// The keys.
    pub specs: Vec<ParamSpec>,
    /// Keys that must be there.
    pub required: &'static [&'static str],
}

/// A small network of a topology. Tests that go over all topologies run on it.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name, unique among those of all topologies.
    pub name: &'static str,
    /// Lines of `[network]`, but `topology`; tables such as `[[node]]` may follow.
    pub keys: &'static str,
    /// Two pairs of different hosts.
    pub pairs: [(&'static str, &'static str); 2],
}
