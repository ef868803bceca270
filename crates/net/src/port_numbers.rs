//! The numbers that the ports of a part have in the network.

use crate::ids::{Key, PortId, PortNumber, Table};
use std::ops::Index;

/// The numbers of a part's ports, and the ports by their numbers. Built with the part, and the same for the whole run.
pub(crate) struct PortNumbers {
    numbers: Table<PortId, PortNumber>,
    /// By number, where numbers do not ascend.
    places: Option<Vec<PortId>>,
}

impl PortNumbers {
    /// Numbers by port. `places` has the ports by number where numbers do not ascend, [`PortId::NONE`] for ports of other parts.
    pub fn new(numbers: Table<PortId, PortNumber>, places: Option<Vec<PortId>>) -> PortNumbers {
        PortNumbers { numbers, places }
    }

    /// The port of this number, where the part has it.
    pub fn find(&self, number: PortNumber) -> Option<PortId> {
        match &self.places {
            None => self.numbers.find(&number),
            Some(places) => Some(places[number.index()]).filter(|port| port.exists()),
        }
    }

    /// The numbers by port.
    pub fn table(&self) -> &Table<PortId, PortNumber> {
        &self.numbers
    }
}

impl Index<PortId> for PortNumbers {
    type Output = PortNumber;

    #[inline]
    fn index(&self, port: PortId) -> &PortNumber {
        &self.numbers[port]
    }
}
