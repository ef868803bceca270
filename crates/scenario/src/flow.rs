//! `[[flow]]`: flows listed one by one.

use crate::algorithms;
use crate::diagnostic::Diagnostic;
use crate::names::check_name;
use crate::reader::Section;
use crate::sections::Flow;

/// Reads every `[[flow]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<Vec<Flow>, Diagnostic> {
    let mut flows = Vec::new();
    for (name, section) in root.sections("flow")? {
        let mut flow: Flow = section.read(&["from", "to"], &[])?;
        check_name(&section, "name", &name)?;
        if let Some((problem, expected)) = stop_problem(&flow) {
            return Err(section.diagnostic("stop", problem, expected));
        }
        if let Some(algorithm) = &flow.algorithm {
            let place = section.table.and_then(|t| t.get("algorithm")).map_or(section.place, |e| e.item.place);
            algorithms::check_name(&section, place, "algorithm", algorithm)?;
        }
        flow.name = Some(name);
        flows.push(flow);
    }
    Ok(flows)
}

/// The problem with the end of a flow, and the accepted form; `None` if there is none.
pub(crate) fn stop_problem(flow: &Flow) -> Option<(String, &'static str)> {
    if flow.stop.is_some() && flow.after.is_some() {
        return Some(("the flow begins after others, at no known time".into(), "expected \"none\", or no after"));
    }
    let early = flow.stop.is_some_and(|stop| stop <= flow.start);
    early.then(|| {
        (format!("the flow stops before it starts, at \"{}\"", flow.start), "expected a later time, or \"none\"")
    })
}
