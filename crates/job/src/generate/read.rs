//! Plans as TOML: one key a line, such as `model = "llama3-70b"` and `tensor = 8`.

use super::plan::Plan;
use crate::error::{JobError, Place};
use farloop_units::{ParamError, Params, Value};
use toml_edit::{Document, Value as Toml};

/// Reads a plan; errors name the line and the accepted form.
pub fn read(text: &str, name: &str) -> Result<Plan, JobError> {
    let line_of = |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count() as u64 + 1;
    let document = Document::parse(text).map_err(|e| {
        let line = line_of(e.span().map_or(0, |s| s.start));
        JobError::new(name, Place::Line(line), format!("is no TOML: {}", e.message().lines().next().unwrap_or("")))
    })?;
    let mut plan = Plan::default();
    for (key, item) in document.as_table().iter() {
        let span = document.as_table().key(key).and_then(|k| k.span()).or(item.span());
        let refused = |reason: String| JobError::new(name, Place::Line(line_of(span.map_or(0, |s| s.start))), reason);
        let value = match item.as_value() {
            Some(Toml::String(v)) => Value::Text(v.value().clone()),
            Some(Toml::Integer(v)) => Value::Int(*v.value()),
            Some(Toml::Float(v)) => Value::Float(*v.value()),
            Some(Toml::Boolean(v)) => Value::Bool(*v.value()),
            _ => return Err(refused(format!("{key}: expected a text, a number, true or false"))),
        };
        plan.set(key, &value).map_err(|error| {
            refused(match error {
                ParamError::UnknownName => {
                    let known: Vec<String> = Plan::specs().iter().map(|s| s.name.to_string()).collect();
                    format!("{key}: unknown; expected {}", known.join(", "))
                }
                ParamError::BadValue(text) => format!("{key}: {text}"),
                ParamError::OutOfRange(range) => format!("{key}: {value} is outside of {range}"),
            })
        })?;
    }
    Ok(plan)
}
