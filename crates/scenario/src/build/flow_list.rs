//! Flows from a CSV file: `[workload]` with `flows = "FILE.csv"`.

use super::flow_table::POLL;
use crate::algorithms;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::error::RunError;
use crate::flow::stop_problem;
use crate::names::name_problem;
use crate::scenario::Scenario;
use crate::sections::Flow;
use farloop_cc::Catalog;
use farloop_units::{Kind, ParamError, ParamSpec, Params, Value};
use std::collections::HashMap;

/// The flows of a file, and where they stand.
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
            return Err(scenario.at(path, format!("\"{name}\" is a Parquet file"), expected).into());
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
        Diagnostic { line, key: key.to_string(), ..Diagnostic::of_file(&self.file, problem, expected) }
    }
}

/// A first row with column names, which are keys of `[[flow]]` in any order, then one row for each flow, as RFC 4180 has it. An empty
/// cell leaves the key at its default; empty lines and lines that begin with `#` are skipped.
fn parse(file: String, text: &str, catalog: &Catalog, go_on: &mut dyn FnMut() -> bool) -> Result<FlowList, RunError> {
    let specs = Flow::spec_table();
    let mut columns: Option<Vec<&ParamSpec>> = None;
    let mut list = FlowList { file, flows: Vec::new() };
    let mut seen: HashMap<String, u32> = HashMap::new();
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    let mut end = 0;
    let mut line = 1;
    loop {
        let more = reader.read_record(&mut record).map_err(|e| list.diagnostic(line, "", e.to_string(), ""))?;
        if !more {
            break;
        }
        let begin = std::mem::replace(&mut end, reader.position().byte() as usize);
        let (row, skipped) = less_skipped(text.get(begin..end).unwrap_or_default());
        line = record.position().map_or(line, |p| p.line() as u32) + skipped;
        // Quotes after a space are none to the reader.
        let in_quotes = |cell: &str| cell.len() > 1 && cell.starts_with('"') && cell.ends_with('"');
        let cells: Vec<&str> = record.iter().map(|c| if in_quotes(c) { c[1..c.len() - 1].trim() } else { c }).collect();
        if cells == [""] || cells.first().is_some_and(|cell| cell.starts_with('#')) {
            continue;
        }
        // An opening quote alone would take in the rest of the file, and no value has one of its own.
        if row.bytes().filter(|b| *b == b'"').count() % 2 == 1 || cells.iter().any(|c| c.contains(['\n', '\r'])) {
            let problem = "a quotation mark is not closed";
            return Err(list
                .diagnostic(line, "", problem, "expected quotes around whole cells, each on one line")
                .into());
        }
        let Some(columns) = &columns else {
            columns = Some(header(&list, line, &cells, specs)?);
            continue;
        };
        if cells.len() != columns.len() {
            let problem = format!("the row has {} cells", cells.len());
            let expected = format!("expected {}, as many as columns", columns.len());
            return Err(list.diagnostic(line, "", problem, expected).into());
        }
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

/// A record less the empty lines and comments before it, and how many lines those are.
fn less_skipped(mut record: &str) -> (&str, u32) {
    let mut lines = 0;
    loop {
        if let Some(rest) = record.strip_prefix('\n') {
            (record, lines) = (rest, lines + 1);
        } else if let Some(rest) = record.strip_prefix('\r') {
            record = rest;
        } else if record.starts_with('#') {
            record = record.find('\n').map_or("", |end| &record[end..]);
        } else {
            return (record, lines);
        }
    }
}

fn header<'s>(
    list: &FlowList,
    line: u32,
    cells: &[&str],
    specs: &'s [ParamSpec],
) -> Result<Vec<&'s ParamSpec>, Diagnostic> {
    let names = || specs.iter().map(|s| &*s.name);
    let known = || format!("columns: {}", listing(names()));
    let mut columns: Vec<&ParamSpec> = Vec::new();
    for cell in cells {
        let Some(spec) = specs.iter().find(|s| s.name == *cell) else {
            let suggestion = nearest(cell, names());
            return Err(Diagnostic { suggestion, ..list.diagnostic(line, cell, "unknown column", known()) });
        };
        if columns.iter().any(|c| c.name == spec.name) {
            return Err(list.diagnostic(line, cell, "two columns have this name", "expected each column once"));
        }
        columns.push(spec);
    }
    for required in ["from", "to"] {
        if !columns.iter().any(|c| c.name == required) {
            return Err(list.diagnostic(line, required, "the column is missing", known()));
        }
    }
    Ok(columns)
}

fn flow(
    list: &FlowList,
    catalog: &Catalog,
    line: u32,
    columns: &[&ParamSpec],
    cells: &[&str],
) -> Result<Flow, Diagnostic> {
    let mut flow = Flow::default();
    for (spec, cell) in columns.iter().zip(cells) {
        if cell.is_empty() {
            continue;
        }
        if cell.chars().any(char::is_control) {
            let problem = format!("\"{cell}\" has a control character");
            return Err(list.diagnostic(
                line,
                &spec.name,
                problem,
                format!("expected {}", crate::reader::wanted(spec)),
            ));
        }
        let value = match (&spec.kind, cell.parse::<i64>()) {
            (Kind::TextList(_), _) => Value::List(cell.split_whitespace().map(str::to_string).collect()),
            (Kind::Integer, Ok(number)) => Value::Int(number),
            _ => Value::Text(cell.to_string()),
        };
        flow.set(&spec.name, &value).map_err(|e| {
            let wanted = || format!("expected {}", crate::reader::wanted(spec));
            let (problem, expected) = match e {
                ParamError::UnknownName => ("unknown column".to_string(), String::new()),
                ParamError::OutOfRange(range) => {
                    (format!("{value} is outside the accepted range"), format!("expected {range}"))
                }
                ParamError::BadValue(message) => {
                    (message.split("; expected ").next().unwrap_or_default().to_string(), wanted())
                }
            };
            list.diagnostic(line, &spec.name, problem, expected)
        })?;
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
