//! The queues of switches that schedule circuits, by name.

use crate::ids::PortNumber;
use crate::port::circuit_queues::{Queue, QueuesBy};
use crate::port::discipline::Discipline;
use farloop_network::result::QueueName;
use farloop_network::{Network, NodeRef};

/// The queues of a port, in the order of their names; none where its switch does not schedule.
pub(crate) fn name_queues<'a>(
    network: &Network,
    number: PortNumber,
    discipline: &'a Discipline,
) -> Vec<(QueueName, &'a Queue)> {
    match (discipline, network.ends[number].peer) {
        (Discipline::Priority(queues), _) => {
            [QueueName::High, QueueName::Low].into_iter().zip(&queues.queues).collect()
        }
        (Discipline::Circuits(queues), NodeRef::Circuit(circuit)) => {
            let ports = &network.circuits[circuit].ports;
            let (by, all) = queues.queues();
            let name = |(i, queue): (u32, &'a Queue)| match by {
                QueuesBy::Day => Some((QueueName::Day(i), queue)),
                QueuesBy::Neighbour => {
                    let towards = ports[i as usize];
                    // To itself no switch sends.
                    (towards != number.other_end())
                        .then(|| (QueueName::Neighbour(network.ends[towards].peer_node), queue))
                }
            };
            (0..).zip(all).filter_map(name).collect()
        }
        _ => Vec::new(),
    }
}
