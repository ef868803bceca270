//! PFC of links: the keys of `[[link]]`, and of the long-haul links that topologies place.

use farloop_net::spec::LinkPfc;
use farloop_units::{Bytes, Delta, choice};

choice! {
    /// The way in which the ends of a link pause each other.
    pub enum LinkPfcChoice {
        /// As the switches at its ends have it, and not between datacenters.
        Auto = "auto",
        /// As the switches at its ends have it, also between datacenters.
        On = "on",
        /// Pauses with a time.
        Bifrost = "bifrost",
    }
}

/// A key without effect: its name without prefix, the problem, and what is expected.
pub(crate) type IdleLinkKey = (&'static str, &'static str, &'static str);

impl LinkPfcChoice {
    /// The network model's specification.
    ///
    /// # Errors
    /// A key that has no effect.
    pub(crate) fn spec(self, headroom: Option<Bytes>, slot: Option<Delta>) -> Result<LinkPfc, IdleLinkKey> {
        match (self, headroom, slot) {
            (LinkPfcChoice::Auto, Some(_), _) => Err((
                "headroom",
                "has no effect without PFC of the link's own",
                "expected pfc = \"on\" or \"bifrost\", or no headroom",
            )),
            (LinkPfcChoice::Auto | LinkPfcChoice::On, _, Some(_)) => {
                Err(("pfc_slot", "has no effect without Bifrost", "expected pfc = \"bifrost\", or no pfc_slot"))
            }
            (LinkPfcChoice::Auto, ..) => Ok(LinkPfc::Local),
            (LinkPfcChoice::On, headroom, _) => Ok(LinkPfc::On { headroom }),
            (LinkPfcChoice::Bifrost, buffer, slot) => {
                Ok(LinkPfc::Bifrost { buffer, slot: slot.unwrap_or(LinkPfc::SLOT) })
            }
        }
    }
}
