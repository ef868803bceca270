//! Parts of the declaration of an algorithm: presets, the hosts that have it, and its place in the README.

/// A named variant of an algorithm: some parameters set differently from their defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Parameter names, values and the sources of these, each value as a scenario would write it, texts without quotes.
    pub settings: &'static [Setting],
}

/// A parameter of a [`Preset`]: its name, value and the source of the value.
pub type Setting = (&'static str, &'static str, &'static str);

/// The hosts on which somebody can run an algorithm without writing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shipped {
    /// Linux has it as a module (net/ipv4/tcp_*.c).
    Linux,
    /// Network cards for RDMA have it.
    Cards,
    /// `farloop kernel load` puts it into a Linux host.
    Program,
}

/// The algorithms that the README names, by their published names.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Listed {
    /// Not named.
    #[default]
    No,
    /// Designed for flows inside a datacenter beside flows across.
    AcrossDatacenters(&'static str),
    /// A multipath transport.
    Multipath(&'static str),
    /// A usual baseline.
    Baseline(&'static str),
}
