//! Flows from a CSV file: `[workload]` with `flows = "FILE.csv"`.

use super::flow_table::POLL;
use crate::algorithms;
use crate::csv_rows::{self, CsvRows};
use crate::diagnostic::Diagnostic;
use crate::error::RunError;
use crate::flow::stop_problem;
use crate::names::name_problem;
use crate::scenario::Scenario;
use crate::sections::Flow;
use farloop_cc::Catalog;
use farloop_units::{Kind, ParamSpec, Params, Value};
use std::collections::HashMap;

/// The flows of a file, and their places in it.
#[derive(Debug)]
pub(crate) struct FlowList {
    file: String,
    /// Each with its line, from 1.
    pub flows: Vec<(u32, Flow)>,
}

impl FlowList {
    /// Reads the file that the key at `path` names.
    pub fn read(
        scenario: &Scenario,
        path: &[&str],
        name: &str,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<FlowList, RunError> {
        if name.ends_with(".parquet") {
            let expected = format!("expected a CSV file: `farloop import-flows {name} > FLOWS.csv` writes one");
            return Err(scenario.diagnostic_at(path, format!("\"{name}\" is a Parquet file"), expected).into());
        }
        let (file, text) = scenario.read_neighbour(path, name, "expected a CSV file with the columns from and to")?;
        parse(file, &text, scenario.catalog(), go_on)
    }

    /// The file.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// A diagnostic about the column `key` of the flow in `line`.
    pub fn diagnostic(
        &self,
        line: u32,
        key: &str,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Diagnostic {
        csv_rows::column_diagnostic(&self.file, line, key, problem, expected)
    }
}

/// The flows of a CSV file, whose columns are keys of `[[flow]]` in any order.
fn parse(file: String, text: &str, catalog: &Catalog, go_on: &mut dyn FnMut() -> bool) -> Result<FlowList, RunError> {
    let specs = Flow::spec_table();
    let mut columns: Option<Vec<&ParamSpec>> = None;
    let mut list = FlowList { file: file.clone(), flows: Vec::new() };
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut rows = CsvRows::new(&file, text);
    while let Some((line, cells)) = rows.next()? {
        let Some(columns) = &columns else {
            columns = Some(csv_rows::header(&file, line, &cells, specs, &["from", "to"])?);
            continue;
        };
        csv_rows::check_cells(&file, line, columns, &cells)?;
        if list.flows.len().is_multiple_of(POLL) && !go_on() {
            return Err(RunError::Cancelled);
        }
        let flow = flow(&list, catalog, line, columns, &cells)?;
        if let Some(first) = flow.name.as_ref().and_then(|name| seen.insert(name.clone(), line)) {
            let problem = format!("the flow of line {first} has the same name");
            return Err(list.diagnostic(line, "name", problem, "expected a unique name").into());
        }
        list.flows.push((line, flow));
    }
    if list.flows.is_empty() {
        let expected = "expected a row of column names, such as \"name,from,to,start,size\", and a row for each flow";
        return Err(list.diagnostic(1, "", "the file lists no flow", expected).into());
    }
    Ok(list)
}

fn flow(
    list: &FlowList,
    catalog: &Catalog,
    line: u32,
    columns: &[&ParamSpec],
    cells: &[&str],
) -> Result<Flow, Diagnostic> {
    let mut flow = Flow::default();
    for (spec, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        let value = match (&spec.kind, cell.parse::<i64>()) {
            (Kind::Bool, _) if ["true", "false"].contains(cell) => Value::Bool(*cell == "true"),
            (Kind::TextList(_), _) => Value::List(cell.split_whitespace().map(str::to_string).collect()),
            (Kind::Integer, Ok(number)) => Value::Int(number),
            _ => Value::Text(cell.to_string()),
        };
        csv_rows::set(&list.file, line, &mut flow, spec, &value)?;
    }
    for (key, value) in [("from", &flow.from), ("to", &flow.to)] {
        if value.is_none() {
            return Err(list.diagnostic(line, key, "missing", "expected the name of a host"));
        }
    }
    if let Some((problem, expected)) = flow.name.as_deref().and_then(name_problem) {
        return Err(list.diagnostic(line, "name", problem, expected));
    }
    if let Some((problem, expected)) = stop_problem(&flow) {
        return Err(list.diagnostic(line, "stop", problem, expected));
    }
    if let Some(unknown) = flow.algorithm.as_deref().and_then(|name| algorithms::unknown(catalog, name)) {
        let diagnostic = list.diagnostic(line, "algorithm", unknown.problem, unknown.expected);
        return Err(Diagnostic { suggestion: unknown.suggestion, ..diagnostic });
    }
    Ok(flow)
}
