//! The flows that cross a link, where something asks for them: pauses, and changes of the link.

use farloop_network::Network;
use farloop_network::ids::PortNumber;

/// By link the flows that cross it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Crossing {
    /// By link: slots, and the place of the hop in the flow's path. Empty where no link asks.
    flows: Vec<Vec<(u32, u32)>>,
    recorded: Vec<bool>,
}

impl Crossing {
    /// Of the links of switches with PFC, and of those that change.
    pub fn new(network: &Network) -> Crossing {
        let asks = |number: PortNumber| {
            let node = &network.node_specs[network.ends[number].node as usize];
            node.switch().is_some_and(|switch| switch.pfc.is_some()) || network.timeline.concerns(number)
        };
        let recorded: Vec<bool> = network.ends.iter().map(|(number, _)| asks(number)).collect();
        if !recorded.contains(&true) {
            return Crossing::default();
        }
        Crossing { flows: vec![Vec::new(); recorded.len()], recorded }
    }

    /// Returns true if no link asks: none has another rate than at the start.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// The flow in a slot takes these links, one after the other.
    pub fn add(&mut self, slot: u32, links: impl Iterator<Item = u32>) {
        for (place, link) in (0..).zip(links) {
            if self.recorded.get(link as usize) == Some(&true) {
                self.flows[link as usize].push((slot, place));
            }
        }
    }

    /// The flow in a slot is over.
    pub fn remove(&mut self, slot: u32, links: impl Iterator<Item = u32>) {
        for link in links.filter(|link| self.recorded.get(*link as usize) == Some(&true)) {
            let flows = &mut self.flows[link as usize];
            if let Some(at) = flows.iter().position(|(other, _)| *other == slot) {
                flows.swap_remove(at);
            }
        }
    }

    /// Slots of the flows that cross a link, with the place of the hop in their paths.
    pub fn of(&self, link: usize) -> &[(u32, u32)] {
        self.flows.get(link).map_or(&[], Vec::as_slice)
    }

    /// The same, for as long as these flows change; [`Crossing::put_back`] follows.
    pub fn take(&mut self, link: usize) -> Vec<(u32, u32)> {
        self.flows.get_mut(link).map(std::mem::take).unwrap_or_default()
    }

    pub fn put_back(&mut self, link: usize, flows: Vec<(u32, u32)>) {
        if let Some(own) = self.flows.get_mut(link) {
            *own = flows;
        }
    }
}
