//! Forwarders: what decides by which port a packet leaves before the routes are asked.
//!
//! A static table of detours: what is bound for some hosts takes another way. Paths and their closed forms follow it, too
//! ([`Network::next`](crate::network::Network::next)).

use crate::ids::{HostNumber, PortId};
use std::collections::BTreeMap;

/// The forwarder of a switch.
pub(crate) struct Forwarder {
    detours: BTreeMap<HostNumber, PortId>,
}

impl Forwarder {
    /// With these detours; `None` without any.
    pub fn new(detours: BTreeMap<HostNumber, PortId>) -> Option<Box<Forwarder>> {
        (!detours.is_empty()).then(|| Box::new(Forwarder { detours }))
    }

    /// The egress port for a packet to `dst`; `None` to let the routes decide.
    pub fn forward(&self, dst: HostNumber) -> Option<PortId> {
        self.detours.get(&dst).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_detour_takes_it() {
        assert!(Forwarder::new(BTreeMap::new()).is_none());
        let forwarder = Forwarder::new(BTreeMap::from([(HostNumber(3), PortId(8))])).expect("one");
        assert_eq!(forwarder.forward(HostNumber(3)), Some(PortId(8)));
        assert_eq!(forwarder.forward(HostNumber(4)), None);
    }
}
