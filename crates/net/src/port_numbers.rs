//! The numbers that the ports of a part have in the network.

use crate::ids::{PortId, PortNumber, Table};
use std::ops::Index;

/// The numbers of a part's ports, and the ports by their numbers. Built with the part, and the same for the whole run.
pub(crate) struct PortNumbers {
    numbers: Table<PortId, PortNumber>,
    /// In the order of numbers, where these do not ascend.
    places: Option<Vec<(PortNumber, PortId)>>,
}

impl PortNumbers {
    /// Numbers by port, which do not ascend where they are `reordered`.
    pub fn new(numbers: Table<PortId, PortNumber>, reordered: bool) -> PortNumbers {
        let places = reordered.then(|| {
            let mut places: Vec<_> = numbers.iter().map(|(port, number)| (*number, port)).collect();
            places.sort_unstable_by_key(|(number, _)| *number);
            places
        });
        PortNumbers { numbers, places }
    }

    /// The port of this number, where the part has it.
    pub fn find(&self, number: PortNumber) -> Option<PortId> {
        match &self.places {
            None => self.numbers.find(&number),
            Some(places) => places.binary_search_by_key(&number, |(number, _)| *number).ok().map(|at| places[at].1),
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
