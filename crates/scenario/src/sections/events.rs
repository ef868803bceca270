//! The keys of `[[event]]`, and what `[network]` says of routes.

use super::{FASTEST, LONGEST, LONGEST_DELAY, OneOrMore, SLOWEST};
use farloop_units::{Delta, Rate, choice, params};

choice! {
    /// Whether a link carries anything.
    pub enum LinkState {
        /// Nothing: what is on it is lost.
        Down = "down",
        /// It carries packets again.
        Up = "up",
    }
}

params! {
    /// What `[network]` says of routes, whatever the topology.
    pub struct RoutingKeys {
        /// Time after which all switches use routes that take account of a link that went down or came up ([[event]]); until then they
        /// keep the old ones.
        detection_time: Delta = Delta::from_ms(1), in Delta::ZERO => LONGEST;
    }
}

params! {
    /// `[[event]]`: something that happens to links.
    pub struct EventKeys {
        /// When it happens; it comes before everything else at that time.
        at: Option<Delta> = None, in Some(Delta::ZERO) => Some(LONGEST);
        /// The links, by name, or a list of names: "leaf1<->spine2" in both directions, "leaf1->spine2" in this one, "tor1<->eps#2" for the
        /// second of parallel links; "*" stands for any characters, "?" for any one.
        link: Option<OneOrMore> = None;
        /// "down": it carries nothing, and what is on it is lost; "up": it carries packets again. In both directions, between switches
        /// only.
        state: Option<LinkState> = None;
        /// Rate from the next packet on.
        rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay from the next packet on; packets do not overtake those before them.
        delay: Option<Delta> = None, in Some(Delta::ZERO) => Some(LONGEST_DELAY);
        /// Probability that a packet which arrives from then on is lost.
        loss: Option<f64> = None, in Some(0.0) => Some(1.0);
        /// Probability that a packet which arrives from then on is damaged.
        corruption: Option<f64> = None, in Some(0.0) => Some(1.0);
    }
}
