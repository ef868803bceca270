//! The macro behind the registry of topologies.

/// Makes the words of `topology`, the keys of any topology, and the list of all.
macro_rules! topologies {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal in $module:ident),+ $(,)?) => {
        choice! {
            /// The shape of the network.
            pub enum TopologyChoice { $($(#[doc = $doc])* $variant = $word),+ }
        }

        /// The keys of `[network]`: those of one topology.
        #[derive(Clone, PartialEq, Debug)]
        pub enum NetworkKeys { $($(#[doc = $doc])* $variant($module::$variant)),+ }

        /// Every topology, in the order of the registry.
        pub fn topologies() -> Vec<TopologyInfo> {
            vec![$(TopologyInfo {
                word: $word,
                page: <$module::$variant as Topology>::page(),
                examples: <$module::$variant as Topology>::examples(),
            }),+]
        }

        /// The keys that `[network]` can have together, topology by topology.
        fn variants() -> Vec<(&'static str, Vec<Variant>)> {
            vec![$(($word, <$module::$variant as Topology>::variants())),+]
        }

        impl TopologyChoice {
            /// The word of `fabric` in `network`, where the topology has that key.
            pub(crate) fn fabric(self, network: &Section<'_>) -> Result<Option<String>, Diagnostic> {
                match self { $(TopologyChoice::$variant => <$module::$variant as Topology>::fabric(network),)+ }
            }
        }

        impl NetworkKeys {
            /// Reads the keys of a topology from `network`, a table of `root`.
            pub(crate) fn read(
                topology: TopologyChoice,
                root: &Section<'_>,
                network: &Section<'_>,
            ) -> Result<NetworkKeys, Diagnostic> {
                Ok(match topology {
                    $(TopologyChoice::$variant => NetworkKeys::$variant(Topology::read(root, network)?),)+
                })
            }

            /// The word of `topology`.
            pub(crate) fn word(&self) -> &'static str {
                match self { $(NetworkKeys::$variant(_) => $word,)+ }
            }

            /// The keys of `[network]` with their values, the optional ones filled in.
            pub(crate) fn resolve_keys(&self) -> Map<String, Json> {
                match self { $(NetworkKeys::$variant(keys) => Topology::resolve_keys(keys),)+ }
            }

            /// The topology's tables beside `[network]`, with the values of their keys.
            pub(crate) fn resolved_tables(&self) -> Vec<(&'static str, Json)> {
                match self { $(NetworkKeys::$variant(keys) => keys.resolved_tables(),)+ }
            }

            /// Nodes, links and bottlenecks.
            pub(crate) fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Problem> {
                match self { $(NetworkKeys::$variant(keys) => Topology::layout(keys, switches),)+ }
            }

            /// True if the network has circuit switches.
            pub(crate) fn has_circuits(&self) -> bool {
                match self { $(NetworkKeys::$variant(keys) => keys.has_circuits(),)+ }
            }

            /// The round-trip times of a network with circuit switches, if the keys say them.
            pub(crate) fn round_trips(&self) -> Option<RoundTrips> {
                match self { $(NetworkKeys::$variant(keys) => Topology::round_trips(keys),)+ }
            }
        }
    };
}
