//! The NIC ports of a host whose flows send by whichever of them is free. `spraying.rs` sends by them.
//!
//! The flows live with the first port of the host, and wait in one NIC. A port that is free asks that NIC for a packet, and the flow whose
//! turn it is sends by that port, as far as it leads to its destination: the packet carries the address in the same place there. Answers
//! leave by the port at which came what they answer, for the address in its plane.
//!
//! Where several ports are free at once, the one goes first that has sent for the shortest time, within two packets: ports of equal rate
//! take turns, and others share as their rates.

use crate::ids::PortId;
use farloop_units::{Bytes, Delta, Rate};

/// The ports of a host.
#[derive(Default)]
pub(super) struct SprayedPorts {
    pub ports: Vec<SprayedPort>,
    /// The port by which a control packet left last that answers none.
    pub last: u8,
    /// True if what leaves answers what has come at the port at hand.
    pub answers: bool,
}

pub(super) struct SprayedPort {
    pub port: PortId,
    rate: Rate,
    /// Time that it has sent, as far as that is compared.
    sent: Delta,
}

impl SprayedPorts {
    /// Adds the next port.
    pub fn add(&mut self, port: PortId, rate: Rate) {
        self.ports.push(SprayedPort { port, rate, sent: Delta::ZERO });
    }

    /// Notes that the port at this place sends `wire` bytes. No port is further behind another than two packets of this size.
    pub fn note_sent(&mut self, place: usize, wire: Bytes) {
        let own = &mut self.ports[place];
        own.sent += own.rate.time_to_send(wire);
        let most = self.ports.iter().map(|port| port.sent).max().unwrap_or(Delta::ZERO);
        for port in &mut self.ports {
            let behind = port.rate.time_to_send(wire) * 2;
            port.sent = port.sent.max(Delta::from_ps(most.as_ps().saturating_sub(behind.as_ps())));
        }
    }

    /// The place of the port among `free` ones, a bit each, that goes first.
    pub fn first_of(&self, free: u64) -> Option<u8> {
        let places = (0..self.ports.len()).filter(|place| free >> place & 1 == 1);
        places.min_by_key(|place| self.ports[*place].sent).map(|place| place as u8)
    }
}
