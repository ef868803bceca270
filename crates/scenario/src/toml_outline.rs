//! The lines of a TOML text's statements, and values that do not end or that are nested without end.
//!
//! A text is looked over in one pass before it is read: the errors name where a value begins, and readers of values recurse.

use std::ops::RangeInclusive;

/// The error in a file: its line from 1, and the problem with what would be accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TomlError {
    /// The line.
    pub line: usize,
    /// The problem.
    pub problem: String,
    /// True if it is no TOML; false if it has what nobody needs.
    pub is_syntax: bool,
}

impl TomlError {
    pub(crate) fn new(line: usize, problem: impl Into<String>) -> TomlError {
        TomlError { line, problem: problem.into(), is_syntax: false }
    }
}

/// Brackets around a value, parts of a dotted key. A study has four.
const MAX_NESTED: usize = 40;

/// Digits of a number; 64 bits have 20.
const MAX_DIGITS: usize = 4300;

/// The first and the last line, from 0, of every statement of a text; of one that is TOML, a heading, or a key with its value.
pub(crate) fn statements(text: &str) -> Result<Vec<RangeInclusive<usize>>, TomlError> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let (mut begin, mut line, mut depth, mut parts) = (0, 0, 0usize, 0);
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if let Some(length) = token_length(&bytes[at..]) {
            line += bytes[at..at + length].iter().filter(|&&b| b == b'\n').count();
            at += length;
            continue;
        }
        if byte.is_ascii_digit() {
            let length = bytes[at..].iter().position(|&b| !b.is_ascii_digit() && b != b'_').unwrap_or(bytes.len() - at);
            if length >= MAX_DIGITS {
                let problem = format!("is not valid TOML: a number of {length} digits; expected one of 64 bits");
                return Err(TomlError::new(line + 1, problem));
            }
            at += length;
            continue;
        }
        at += 1;
        match byte {
            b'"' | b'\'' => {
                let problem = "is not valid TOML: the text that begins here does not end; expected a quotation mark";
                return Err(TomlError::new(line + 1, problem));
            }
            b'.' => parts += 1,
            b'[' | b'{' => (depth, parts) = (depth + 1, 0),
            b']' | b'}' => (depth, parts) = (depth.saturating_sub(1), 0),
            b'=' | b',' | b'\n' => parts = 0,
            _ => {}
        }
        if depth.max(parts) > MAX_NESTED {
            let what = if depth > MAX_NESTED { "brackets in one another" } else { "parts of one key" };
            return Err(TomlError::new(line + 1, format!("more than {MAX_NESTED} {what}; expected fewer")));
        }
        if byte == b'\n' {
            line += 1;
            if depth == 0 {
                spans.push(begin..=line - 1);
                begin = line;
            }
        }
    }
    if depth > 0 {
        let problem = "is not valid TOML: what begins here does not end; expected a \"]\" or a \"}\"";
        return Err(TomlError::new(begin + 1, problem));
    }
    spans.push(begin..=line);
    let lines: Vec<&str> = text.split('\n').collect();
    let is_bare = |line: &str| line.is_empty() || line.starts_with('#');
    spans.retain(|span| !is_bare(lines[*span.start()].trim()));
    Ok(spans)
}

/// The length of the text or comment that begins here; none if there is none, or if it does not end.
fn token_length(rest: &[u8]) -> Option<usize> {
    let mark = *rest.first()?;
    match mark {
        b'#' => Some(rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())),
        b'"' | b'\'' if rest.starts_with(&[mark; 3]) => {
            let mut at = 3;
            while at < rest.len() {
                if rest[at..].starts_with(&[mark; 3]) {
                    // Up to two marks more belong to the text.
                    let more = rest[at + 3..].iter().take(2).take_while(|&&b| b == mark).count();
                    return Some(at + 3 + more);
                }
                at += if mark == b'"' && rest[at] == b'\\' { 2 } else { 1 };
            }
            None
        }
        b'"' | b'\'' => {
            let mut at = 1;
            while at < rest.len() && rest[at] != mark {
                if rest[at] == b'\n' {
                    return None;
                }
                at += if mark == b'"' && rest[at] == b'\\' { 2 } else { 1 };
            }
            (at < rest.len()).then_some(at + 1)
        }
        _ => None,
    }
}
