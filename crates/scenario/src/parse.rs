//! From the text of a scenario to the scenario, with every case of its figure checked.

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::error::RunError;
use crate::figure::LocatedCase;
use crate::scenario::Scenario;
use farloop_cc::Catalog;
use farloop_job::memory::MemoryLimit;

/// Reads a scenario. `file` is its name in messages, and the place from which relative paths start; `overrides` are dotted keys
/// with the text of their values (`--set key=value`), applied in order before anything is checked.
///
/// Every case of a figure is validated here, so a file that loads has no case that fails later.
pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Scenario, Diagnostic> {
    parse_with(text, file, overrides, &Catalog::builtin())
}

/// As [`parse`], with the algorithms of `catalog`: wherever the scenario names an algorithm, it may be any of these.
pub fn parse_with(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    catalog: &Catalog,
) -> Result<Scenario, Diagnostic> {
    parse_while(text, file, overrides, catalog, &mut || true).map_err(RunError::diagnostic)
}

/// As [`parse_with`]; stops where `go_on` answers `false`.
pub fn parse_while(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    catalog: &Catalog,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Scenario, RunError> {
    parse_within(text, file, overrides, catalog, MemoryLimit::NONE, go_on)
}

/// As [`parse_while`]; jobs that take more memory than the limit are refused before they are expanded.
pub fn parse_within(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    catalog: &Catalog,
    memory_limit: MemoryLimit,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Scenario, RunError> {
    let mut document = Document::parse(text, file)?;
    for (i, (key, value)) in overrides.iter().enumerate() {
        document.set(key, value, i + 1)?;
    }
    if !go_on() {
        return Err(RunError::Cancelled);
    }
    let (scenario, cases) = Scenario::from_document(document, catalog, memory_limit, go_on)?;
    for case in &cases {
        check_case(&scenario, case, go_on)?;
    }
    Ok(scenario)
}

/// Applies a case and checks the outcome with each of its algorithms, without drawing a random workload.
fn check_case(scenario: &Scenario, case: &LocatedCase, go_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
    let mut document = scenario.document.clone();
    for (key, item) in &case.set {
        document.put(key, item.clone()).map_err(|d| in_case(d, case))?;
    }
    let mut check = |document: Document| {
        if !go_on() {
            return Err(RunError::Cancelled);
        }
        let checked = Scenario::from_document(document, scenario.catalog(), scenario.memory_limit, go_on)
            .and_then(|(scenario, _)| scenario.check_while(go_on));
        checked.map_err(|e| match e {
            RunError::Scenario(d) => in_case(*d, case).into(),
            other @ (RunError::Trace(_) | RunError::Cancelled) => other,
        })
    };
    if case.algorithms.is_empty() {
        return check(document);
    }
    for algorithm in &case.algorithms {
        let mut document = document.clone();
        document.put("algorithm.name", algorithm.clone())?;
        check(document)?;
    }
    Ok(())
}

/// Says in which case a problem appeared.
fn in_case(diagnostic: Diagnostic, case: &LocatedCase) -> Diagnostic {
    Diagnostic { problem: format!("{} (in case \"{}\")", diagnostic.problem, case.case.name), ..diagnostic }
}
