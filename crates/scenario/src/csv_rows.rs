//! CSV files of a scenario (RFC 4180): a first row with column names, which are keys of a table, then one row for each thing. Empty lines
//! and lines that begin with `#` are skipped, an empty cell leaves a key at its default.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::reader::describe_accepted;
use farloop_units::{ParamError, ParamSpec, Params, Value};

/// The rows of a file, one after the other.
pub(crate) struct CsvRows<'t> {
    file: &'t str,
    text: &'t str,
    reader: csv::Reader<&'t [u8]>,
    record: csv::StringRecord,
    end: usize,
    line: u32,
}

/// A diagnostic about a column of a line of a file.
pub(crate) fn column_diagnostic(
    file: &str,
    line: u32,
    key: &str,
    problem: impl Into<String>,
    expected: impl Into<String>,
) -> Diagnostic {
    Diagnostic { line, key: key.to_string(), ..Diagnostic::of_file(file, problem, expected) }
}

impl<'t> CsvRows<'t> {
    pub fn new(file: &'t str, text: &'t str) -> CsvRows<'t> {
        let text = text.trim_start_matches('\u{feff}');
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        CsvRows { file, text, reader, record: csv::StringRecord::new(), end: 0, line: 1 }
    }

    /// The next row: its line, from 1, and its cells.
    pub fn next(&mut self) -> Result<Option<(u32, Vec<&str>)>, Diagnostic> {
        loop {
            let more = self.reader.read_record(&mut self.record);
            if !more.map_err(|e| column_diagnostic(self.file, self.line, "", e.to_string(), ""))? {
                return Ok(None);
            }
            let begin = std::mem::replace(&mut self.end, self.reader.position().byte() as usize);
            let (row, skipped) = skip_comments(self.text.get(begin..self.end).unwrap_or_default());
            self.line = self.record.position().map_or(self.line, |p| p.line() as u32) + skipped;
            if self.record.iter().eq([""]) || self.record.get(0).is_some_and(|cell| unquote(cell).starts_with('#')) {
                continue;
            }
            // An opening quote alone would take in the rest of the file, and no value has one of its own.
            let broken = row.bytes().filter(|b| *b == b'"').count() % 2 == 1;
            if broken || self.record.iter().any(|cell| cell.contains(['\n', '\r'])) {
                let expected = "expected quotes around whole cells, each on one line";
                return Err(column_diagnostic(self.file, self.line, "", "a quotation mark is not closed", expected));
            }
            break;
        }
        Ok(Some((self.line, self.record.iter().map(unquote).collect())))
    }
}

/// Quotes after a space are none to the reader.
fn unquote(cell: &str) -> &str {
    match cell.len() > 1 && cell.starts_with('"') && cell.ends_with('"') {
        true => cell[1..cell.len() - 1].trim(),
        false => cell,
    }
}

/// A record less the empty lines and comments before it, and how many lines those are.
fn skip_comments(mut record: &str) -> (&str, u32) {
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

/// The columns that a first row names, with those that are required.
pub(crate) fn header<'s>(
    file: &str,
    line: u32,
    cells: &[&str],
    specs: &'s [ParamSpec],
    required: &[&str],
) -> Result<Vec<&'s ParamSpec>, Diagnostic> {
    let names = || specs.iter().map(|s| &*s.name);
    let known = || format!("columns: {}", listing(names()));
    let mut columns: Vec<&ParamSpec> = Vec::new();
    for cell in cells {
        let Some(spec) = specs.iter().find(|s| s.name == *cell) else {
            let problem = if cell.is_empty() { "a column has no name" } else { "unknown column" };
            let suggestion = nearest(cell, names());
            return Err(Diagnostic { suggestion, ..column_diagnostic(file, line, cell, problem, known()) });
        };
        if columns.iter().any(|c| c.name == spec.name) {
            return Err(column_diagnostic(file, line, cell, "two columns have this name", "expected each column once"));
        }
        columns.push(spec);
    }
    match required.iter().find(|required| !columns.iter().any(|c| c.name == **required)) {
        Some(missing) => Err(column_diagnostic(file, line, missing, "the column is missing", known())),
        None => Ok(columns),
    }
}

/// Refuses a row that has other than one cell for each column, or a control character in one.
pub(crate) fn check_cells(file: &str, line: u32, columns: &[&ParamSpec], cells: &[&str]) -> Result<(), Diagnostic> {
    if cells.len() != columns.len() {
        let problem = format!("the row has {} cells", cells.len());
        return Err(column_diagnostic(
            file,
            line,
            "",
            problem,
            format!("expected {}, as many as columns", columns.len()),
        ));
    }
    let controlled = |(_, cell): &(_, &&str)| cell.chars().any(char::is_control);
    match columns.iter().zip(cells).find(controlled) {
        Some((spec, cell)) => {
            let problem = format!("\"{cell}\" has a control character");
            Err(column_diagnostic(file, line, &spec.name, problem, format!("expected {}", describe_accepted(spec))))
        }
        None => Ok(()),
    }
}

/// Sets the key of a column.
pub(crate) fn set(
    file: &str,
    line: u32,
    params: &mut impl Params,
    spec: &ParamSpec,
    value: &Value,
) -> Result<(), Diagnostic> {
    params.set(&spec.name, value).map_err(|e| {
        let expected = || format!("expected {}", describe_accepted(spec));
        let (problem, expected) = match e {
            ParamError::UnknownName => ("unknown column".to_string(), String::new()),
            ParamError::OutOfRange(range) => {
                (format!("{value} is outside the accepted range"), format!("expected {range}"))
            }
            ParamError::BadValue(message) => {
                (message.split("; expected ").next().unwrap_or_default().to_string(), expected())
            }
        };
        column_diagnostic(file, line, &spec.name, problem, expected)
    })
}
