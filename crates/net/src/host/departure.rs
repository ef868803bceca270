//! A packet on its way from a flow's sender into the network.

use crate::ids::Slot;
use crate::packet::Packet;
use crate::part_context::PartContext;
use farloop_cc::{Fields, Sent};

/// A packet that a flow sends.
pub(crate) struct Departure {
    pub packet: Packet,
    pub fields: Fields,
    /// The record of the sending that its algorithm receives; `None` for a segment without payload.
    pub sent: Option<Sent>,
}

impl Departure {
    /// Takes the packet into the network.
    pub fn inject(&self, cx: &mut PartContext) -> Slot {
        let slot = cx.inject(self.packet);
        if !self.fields.as_slice().is_empty() {
            cx.packets.set_notes(slot, self.fields.as_slice());
        }
        slot
    }
}
