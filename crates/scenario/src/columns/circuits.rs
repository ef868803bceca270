//! The tables of circuits, and of the queues of switches that schedule them.

use super::declaration::{Cell, Column, Declared, Gears, Values, Words, declare_table};
use super::rows::Rows;
use farloop_net::result::{DayRow, QueueName, QueueRow};
use farloop_units::Rate;
use std::collections::BTreeMap;

impl Rows<'_, DayRow> {
    fn occupancy(&self) -> Vec<f64> {
        // A circuit switch has one link to each neighbour.
        let rates: BTreeMap<(u32, u32), Rate> =
            self.names.links.iter().flat_map(|l| [((l.a, l.b), l.rate), ((l.b, l.a), l.rate)]).collect();
        self.map(|r| {
            let rate = rates[&(r.circuit, r.to)].as_f64();
            r.tx.as_f64() * 8.0 / (rate * r.day.as_secs_f64())
        })
    }
}

impl Rows<'_, QueueRow> {
    fn queue_names(&self) -> Words {
        let mut names: Vec<String> = Vec::new();
        let mut known: BTreeMap<QueueName, u32> = BTreeMap::new();
        let name = |r: &QueueRow| {
            *known.entry(r.queue).or_insert_with(|| {
                names.push(self.names.queue_name(r.queue));
                names.len() as u32 - 1
            })
        };
        let indices = self.rows.iter().map(name).collect();
        Words(indices, names)
    }
}

declare_table! {
    /// The columns of `circuits.parquet`, one row per circuit and day.
    CIRCUITS: circuits(of: &Rows<'_, DayRow>) -> Column {
        /// Circuit switch.
        circuit: Words, "text" = of.nodes(|r| r.circuit);
        /// Its neighbour that the circuit comes from.
        source: Words, "text" = of.nodes(|r| r.from);
        /// Its neighbour that the circuit leads to.
        destination: Words, "text" = of.nodes(|r| r.to);
        /// Slot of the run, from 0: a day and the night after it.
        slot: Vec<i64>, "number" = of.ints(|r| r.slot);
        /// When the day began, as the circuit switch sees it.
        start_ps: Vec<i64>, "ps" = of.ints(|r| r.start.as_ps());
        /// How long the day lasted.
        day_ps: Vec<i64>, "ps" = of.ints(|r| r.day.as_ps());
        /// Bytes that passed, framing included.
        tx_bytes: Vec<i64>, "B" = of.ints(|r| r.tx.get());
        /// What that is of all that the link could have carried in the day.
        occupancy: Vec<f64>, "1" = of.occupancy();
    }
}

declare_table! {
    /// The columns of `queues.parquet`, one row per queue of switches that schedule circuits.
    QUEUES: queues(of: &Rows<'_, QueueRow>) -> Column {
        /// Switch that schedules circuits.
        node: Words, "text" = of.nodes(|r| of.port(r.port).node);
        /// Switch or circuit switch at the other end of the port's link.
        peer: Words, "text" = of.nodes(|r| of.port(r.port).peer);
        /// Which of the links between these nodes, from 1.
        link: Vec<u32>, "number" = of.map(|r| of.names.parallel[r.port as usize]);
        /// Which queue of the port: `high` or `low` priority of the packet network; `to NODE` for circuits to that rack; `day 0`,
        /// `day 1`, ... of a calendar of days.
        queue: Words, "text" = of.queue_names();
        /// Most bytes that it held.
        max_bytes: Vec<i64>, "B" = of.ints(|r| r.max_bytes.get());
        /// Packets that found it full.
        full: Vec<i64>, "packets" = of.ints(|r| r.full);
        /// Packets that were left in it when its day was over.
        expired: Vec<i64>, "packets" = of.ints(|r| r.expired);
    }
}
