//! Paths of single flows.

/// The packets of a flow pass these nodes, whatever the shortest paths are: data from its source to its destination, and acknowledgements
/// and signals back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSpec {
    /// Index into [`NetworkSpec::flows`](super::NetworkSpec::flows).
    pub flow: u32,
    /// Of data, source and destination included.
    pub data: Vec<PathStep>,
    /// Of acknowledgements and signals, from the destination to the source.
    pub acks: Vec<PathStep>,
}

impl PathSpec {
    /// Acknowledgements and signals take the links of the data back.
    pub fn symmetric(flow: u32, data: Vec<PathStep>) -> PathSpec {
        let links = data.iter().skip(1).map(|step| step.link).rev();
        let nodes = data.iter().rev().map(|step| step.node);
        let acks = nodes.zip([0].into_iter().chain(links)).map(|(node, link)| PathStep { node, link }).collect();
        PathSpec { flow, data, acks }
    }
}

/// A node of a path, and the link that leads to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// Index into [`NetworkSpec::nodes`](super::NetworkSpec::nodes).
    pub node: u32,
    /// Number of the link among those from the node before, from 0; of the first node it says nothing.
    pub link: u32,
}

impl PathStep {
    /// The node by the first link to it.
    pub const fn by_first_link(node: u32) -> PathStep {
        PathStep { node, link: 0 }
    }
}
