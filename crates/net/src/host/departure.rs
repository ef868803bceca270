//! A packet on its way from a flow's sender into the network.

use crate::ids::Slot;
use crate::medium::Medium;
use crate::packet::Packet;
use farloop_cc::{Fields, Sent};

/// A packet that a flow sends.
pub(crate) struct Departure {
    pub packet: Packet,
    pub fields: Fields,
    /// What its algorithm is told; `None` for a segment without payload.
    pub sent: Option<Sent>,
}

impl Departure {
    /// Takes the packet into the network.
    pub fn inject(&self, m: &mut Medium) -> Slot {
        let slot = m.inject(self.packet);
        if !self.fields.as_slice().is_empty() {
            m.packets.set_notes(slot, self.fields.as_slice());
        }
        slot
    }
}
