//! The tables of ports and of their pauses.

use super::declaration::{Cell, Column, Declared, Gears, Values, Words, declare_table, gears_of_cause};
use super::rows::Rows;
use crate::parallel::neighbour_name;
use crate::run_names::KINDS;
use farloop_net::result::{Cause, PauseRow, PortRow};
use farloop_net::spec::LinkSpec;
use farloop_units::Bytes;
use std::collections::BTreeMap;

/// In the order of the ports.
pub(crate) type PortRows<'a> = Rows<'a, PortRow>;

impl PortRows<'_> {
    /// Index into [`KINDS`], and datacenter, of its node.
    fn place(&self, row: &PortRow) -> (u32, Option<u16>) {
        self.names.places[row.node as usize]
    }

    fn by_port(&self, value: impl Fn(&LinkSpec) -> u64) -> Vec<i64> {
        (0..self.rows.len()).map(|port| value(&self.names.links[port / 2]) as i64).collect()
    }

    fn mean_queue(&self, row: &PortRow) -> f64 {
        let end = self.result.totals.end.as_ps() as f64;
        if end > 0.0 { row.queue_integral as f64 / end } else { 0.0 }
    }
}

impl Rows<'_, PauseRow> {
    /// The peers of ports, with a number where links are parallel.
    fn peers(&self, port: impl Fn(&PauseRow) -> u32) -> Words {
        let mut words = self.names.nodes.clone();
        let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut word = |r: &PauseRow| {
            let peer = self.port(port(r)).peer;
            let which = self.names.parallel[port(r) as usize];
            if which == 1 {
                return peer;
            }
            *known.entry((peer, which)).or_insert_with(|| {
                words.push(neighbour_name(&self.names.nodes[peer as usize], which).into());
                words.len() as u32 - 1
            })
        };
        let rows = self.rows.iter().map(&mut word).collect();
        Words(rows, words)
    }
}

declare_table! {
    /// The columns of `ports.parquet`, one row per egress port.
    PORTS: ports(of: &PortRows<'_>) -> Column {
        /// Node that the port belongs to.
        node: Words, "text" = of.nodes(|r| r.node);
        /// Node at the other end of its link.
        peer: Words, "text" = of.nodes(|r| r.peer);
        /// Which of the links between these nodes, from 1; series and traces call the second one `NODE->PEER#2`.
        link: Vec<u32>, "number" = of.names.parallel.clone();
        /// What the node is: `host`, `switch`, `router` (of the wide-area network) or `circuit` (switch).
        kind: Words, "text" = of.words(|r| of.place(r).0, &KINDS.map(String::from));
        /// Datacenter of the node, from 0; null where it is in none.
        datacenter: Vec<Option<i64>>, "number" = of.map(|r| of.place(r).1.map(i64::from));
        /// Rate of the link.
        rate_bps: Vec<i64>, "bit/s" = of.by_port(|link| link.rate.as_bps());
        /// One-way propagation delay of the link.
        delay_ps: Vec<i64>, "ps" = of.by_port(|link| link.delay.as_ps());
        /// Bytes put on the wire, framing included.
        tx_bytes: Vec<i64>, "B" = of.ints(|r| r.tx.get());
        /// Bytes that the flows would put on the wire here by their sizes and paths, if each packet were sent once and there were time
        /// for all of them. Framing, acknowledgements and handshakes are included. Null where a flow without a size passes.
        offered_bytes: Vec<Option<i64>>, "B" = of.optional(|r| r.offered.map(Bytes::get));
        /// Packets put on the wire.
        packets: Vec<i64>, "packets", of Packets = of.ints(|r| r.packets);
    }
    for cause in Cause::DROPPED, cause.meaning_of_port(), of gears_of_cause(cause) => of.ints(|r| r.drops[cause]);
    {
        /// Data packets that found no queue of their flow free, and shared one.
        shared_queue: Vec<i64>, "packets", of Packets = of.ints(|r| r.shared_queue);
    }
    for cause in Cause::LOST, cause.meaning_of_port(), of gears_of_cause(cause) => of.ints(|r| r.drops[cause]);
    {
        /// Data packets whose payload was cut off here for want of room.
        trimmed: Vec<i64>, "packets", of Packets = of.ints(|r| r.trimmed);
        /// Packets that got an ECN mark here.
        marked: Vec<i64>, "packets", of Packets = of.ints(|r| r.marked);
        /// PFC pause (Xoff) frames that reached this port: how often it was told to stop.
        pauses: Vec<i64>, "frames", of Queues = of.ints(|r| r.pauses);
        /// How long its data classes were paused, added over classes.
        paused_ps: Vec<i64>, "ps", of Queues = of.ints(|r| r.paused.as_ps());
        /// Longest data queue.
        max_queue_bytes: Vec<i64>, "B", of Queues = of.ints(|r| r.max_queue.get());
        /// Data queue averaged over the time of the run, exactly.
        mean_queue_bytes: Vec<f64>, "B", of Queues = of.map(|r| of.mean_queue(r));
        /// PFC headroom reserved for packets that the neighbour sends into this port.
        headroom_bytes: Vec<i64>, "B", of Packets = of.ints(|r| r.headroom.get());
        /// Most headroom ever used.
        max_headroom_bytes: Vec<i64>, "B", of Packets = of.ints(|r| r.max_headroom.get());
    }
}

declare_table! {
    /// The columns of `pauses.parquet`, one row per paused port, cause and root.
    PAUSES: pauses(of: &Rows<'_, PauseRow>) -> Column {
        /// Node of the paused port.
        node: Words, "text" = of.nodes(|r| of.port(r.port).node);
        /// Node at the other end of its link, which sent the pauses; of the second of parallel links `PEER#2`.
        peer: Words, "text" = of.peers(|r| r.port);
        /// Node of the egress port that the packets were bound for that exceeded the threshold; the pausing node.
        cause_node: Words, "text" = of.nodes(|r| of.port(r.cause).node);
        /// Its peer, called so, too.
        cause_peer: Words, "text" = of.peers(|r| r.cause);
        /// Node of the port where the chain of causes ends: it was congested and not held back by a pause itself.
        root_node: Words, "text" = of.nodes(|r| of.port(r.root).node);
        /// Its peer, called so, too.
        root_peer: Words, "text" = of.peers(|r| r.root);
        /// Largest number of links from the pausing node back to the root; 1 where it owns the root.
        depth: Vec<u32>, "links" = of.map(|r| r.depth);
        /// PFC pause (Xoff) frames that reached the port for this cause and root.
        pauses: Vec<i64>, "frames" = of.ints(|r| r.pauses);
        /// How long they paused the port, each data class counted for itself.
        paused_ps: Vec<i64>, "ps" = of.ints(|r| r.paused.as_ps());
    }
}
