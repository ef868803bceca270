//! Changes of links while a simulation runs.

use farloop_units::{Delta, Numbers, Rate, Time};

/// All changes of links, known from the beginning.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkEvents {
    /// In any order.
    pub events: Vec<LinkEventSpec>,
    /// Time after which all switches use routes that take account of a link that went down or came up.
    pub detection: Delta,
}

/// Something that happens to a link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkEventSpec {
    /// When: before all else that happens at that time.
    pub at: Time,
    /// Index into [`NetworkSpec::links`](super::NetworkSpec::links).
    pub link: u32,
    /// The directions that it changes.
    pub direction: Direction,
    /// The change.
    pub change: LinkChange,
}

/// The directions of a link that something happens to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// Both: the only one that a link goes down or comes up in.
    Both,
    /// From its first end to its second.
    FromA,
    /// From its second end to its first.
    FromB,
}

impl Direction {
    /// The ports of link `i`, of 2i and 2i + 1, that send in this direction.
    pub fn ports(self, link: u32) -> impl Iterator<Item = u32> {
        let (first, last) = match self {
            Direction::Both => (0, 1),
            Direction::FromA => (0, 0),
            Direction::FromB => (1, 1),
        };
        2 * link + first..=2 * link + last
    }
}

/// A change of a link.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkChange {
    /// It carries nothing any more; packets on it are lost.
    Down,
    /// It carries packets again.
    Up,
    /// Packets whose transmission begins from then on are sent at this rate.
    Rate(Rate),
    /// They take this time, but do not overtake those before them.
    Delay(Delta),
    /// A packet that arrives from then on is lost with this probability.
    Loss(f64),
    /// It is damaged with this probability.
    Corruption(f64),
    /// These of the packets with data that arrive from then on, counted from 1, are lost.
    LoseData(Numbers),
    /// These of the acknowledgements, but that of a SYN, are lost.
    LoseAcks(Numbers),
    /// These of the packets with data arrive later by this time, and others may overtake them.
    LateData(Numbers, Delta),
}

impl LinkChange {
    /// The setting that it changes, as scenarios call it.
    pub fn setting(&self) -> &'static str {
        match self {
            LinkChange::Down | LinkChange::Up => "state",
            LinkChange::Rate(_) => "rate",
            LinkChange::Delay(_) => "delay",
            LinkChange::Loss(_) => "loss",
            LinkChange::Corruption(_) => "corruption",
            LinkChange::LoseData(_) => "lose_data",
            LinkChange::LoseAcks(_) => "lose_acks",
            LinkChange::LateData(..) => "late_data",
        }
    }
}
