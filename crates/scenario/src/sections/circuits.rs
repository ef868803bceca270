//! The keys of `[circuits]` and `[[circuit_slot]]`.

use super::LONGEST;
use farloop_units::{Delta, params};

params! {
    /// `[circuits]`: what circuit switches connect when.
    pub struct CircuitKeys {
        /// How long a matching holds. The default, as that of night: AccelToR, §IV-B.
        day: Delta = Delta::from_us(240), in Delta::from_ns(1) => LONGEST;
        /// How long nothing passes after each day.
        night: Delta = Delta::from_us(20), in Delta::ZERO => LONGEST;
        /// CSV file with the slots, relative to the scenario: a row of column names, which are keys of [[circuit_slot]], then one row for each slot, with spaces
        /// between several circuits. "none" for the [[circuit_slot]] tables, or, without any, round robin.
        slots: Option<String> = None;
    }
}

params! {
    /// `[[circuit_slot]]`: a day with its matching, and the night after it.
    pub struct SlotKeys {
        /// Name of the circuit switch; "none" for all of them.
        circuit: Option<String> = None;
        /// How long the matching holds; "none" for that of [circuits].
        day: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(LONGEST);
        /// How long nothing passes then; "none" for that of [circuits].
        night: Option<Delta> = None, in Some(Delta::ZERO) => Some(LONGEST);
        /// The circuits, one way each, from neighbour to neighbour of the circuit switch: such as ["tor1->tor2", "tor2->tor1"].
        connect: Option<Vec<String>> = None;
    }
}
