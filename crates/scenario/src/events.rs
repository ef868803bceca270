//! `[[event]]`: changes of links, and the delay until routes follow.

use crate::diagnostic::Diagnostic;
use crate::reader::Section;
use crate::sections::{EventKeys, RoutingKeys};
use farloop_units::{Params, Time};

/// The keys of changes: an event has one of them.
pub(crate) const HAPPENS: [&str; 8] =
    ["state", "rate", "delay", "loss", "corruption", "lose_data", "lose_acks", "late_data"];

/// Reads the keys of `[network]` about routes, and every `[[event]]`; the run ends at `end`.
pub(crate) fn read(root: &Section<'_>, end: Time) -> Result<(RoutingKeys, Vec<EventKeys>), Diagnostic> {
    let mut events = Vec::new();
    for (_, section) in root.sections("event")? {
        let keys: EventKeys = section.read(&["at", "link"], &[])?;
        let at = keys.at.map_or(Time::ZERO, |at| Time::ZERO + at);
        if at > end {
            let problem = format!("the run is over at {end}");
            return Err(section.diagnostic("at", problem, "expected a time of the run, or a longer run.duration"));
        }
        if HAPPENS.iter().all(|key| keys.get(key).flatten().is_none()) {
            let expected = "expected state, rate, delay, loss, corruption, lose_data, lose_acks or late_data";
            return Err(section.diagnostic("link", "nothing happens to it", expected));
        }
        match (&keys.late_data, keys.late_by) {
            (Some(_), None) => {
                let expected = "expected late_by beside it, such as \"5ms\"";
                return Err(section.diagnostic("late_data", "how much later is missing", expected));
            }
            (None, Some(_)) => {
                let expected = "expected late_data beside it, such as \"5, 7-9\"";
                return Err(section.diagnostic("late_by", "no packet is late", expected));
            }
            _ => {}
        }
        events.push(keys);
    }
    let section = root.section("network")?;
    let mut routing = RoutingKeys::default();
    for spec in RoutingKeys::spec_table() {
        if let Some(entry) = section.table.and_then(|t| t.get(&spec.name)) {
            section.set(spec, &entry.item, |value| routing.set(&spec.name, value))?;
        }
    }
    if routing != RoutingKeys::default() && events.iter().all(|event| event.state.is_none()) {
        let problem = "no link goes down or comes up";
        let expected = "expected an [[event]] with a state, or the default of this key";
        return Err(section.diagnostic("detection_time", problem, expected));
    }
    Ok((routing, events))
}
