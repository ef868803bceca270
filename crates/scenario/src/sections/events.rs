//! The keys of `[[event]]`, and what `[network]` says of routes.

use super::{FASTEST, MAX_DELAY, MAX_TIME, OneOrMore, SLOWEST};
use farloop_units::{Delta, Numbers, Rate, choice, params};

choice! {
    /// The state of a link.
    pub enum LinkState {
        /// Nothing: what is on it is lost.
        Down = "down",
        /// It carries packets again.
        Up = "up",
    }
}

params! {
    /// Keys of `[network]` about routes, the same for every topology.
    pub struct RoutingKeys {
        /// Time from a link's failure or repair ([[event]]) until all switches use the new routes; until then they keep the old
        /// ones. "none": routes stay as they were built (MRC, where senders leave dead paths).
        detection_time: Option<Delta> = Some(Delta::from_ms(1)), in Some(Delta::ZERO) => Some(MAX_TIME);
    }
}

params! {
    /// `[[event]]`: something that happens to links.
    pub struct EventKeys {
        /// When it happens; it comes before everything else at that time.
        at: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_TIME);
        /// The links, by name, or a list of names: "leaf1<->spine2" in both directions, "leaf1->spine2" in this one,
        /// "tor1<->eps#2" for the second of parallel links; "*" matches any characters, "?" any one.
        link: Option<OneOrMore> = None;
        /// "down": the link carries no packets and loses those on it. "up": it carries packets again. In both directions; a host's
        /// link may fail as well.
        state: Option<LinkState> = None;
        /// Rate from the next packet on.
        rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay from the next packet on; packets do not overtake those before them.
        delay: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_DELAY);
        /// Probability that a packet which arrives from then on is lost.
        loss: Option<f64> = None, in Some(0.0) => Some(1.0);
        /// Probability that a packet which arrives from then on is damaged.
        corruption: Option<f64> = None, in Some(0.0) => Some(1.0);
        /// Packets with data that are lost, by their number among those that arrive over the link from then on, counted from 1:
        /// "5, 7-9", "3-" for all from the third on, "1-100/4" for each fourth of these.
        lose_data: Option<Numbers> = None;
        /// The same for acknowledgements, but that of a SYN.
        lose_acks: Option<Numbers> = None;
        /// Packets with data, by the same numbers, that arrive late_by later than others, which may overtake them.
        late_data: Option<Numbers> = None;
        /// With late_data: how much later.
        late_by: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_DELAY);
    }
}

params! {
    /// `[[detour]]`: a switch sends what is bound for a host to one of its neighbours, whatever the shortest paths are.
    pub struct DetourKeys {
        /// Name of the switch.
        switch: Option<String> = None;
        /// Name of the host that the packets are bound for.
        destination: Option<String> = None;
        /// Name of the switch's neighbour that they go to; of parallel links to it the first, or with "#2" the second.
        next: Option<String> = None;
    }
}
