//! Parameters of classes: declared in Python, read and checked as those of Rust are.

use farloop_units::{Bytes, Delta, Kind, ParamSpec, ParamType, Rate, Value, Words};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A parameter with its bounds.
pub struct Parameter {
    pub spec: ParamSpec,
    pub low: Option<Value>,
    pub high: Option<Value>,
}

/// A parameter as `farloop.algorithm` describes it.
pub fn parameter(described: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let text = |key: &str| described.get_item(key)?.extract::<String>();
    let name = text("name")?;
    let choices: Vec<String> = described.get_item("choices")?.extract()?;
    let kind = match text("kind")?.as_str() {
        "bool" => Kind::Bool,
        "integer" => Kind::Integer,
        "float" => Kind::Float,
        "time" => Kind::Time,
        "bytes" => Kind::Bytes,
        "rate" => Kind::Rate,
        "choice" => Kind::Choice(Words::Owned(choices)),
        _ => Kind::Text,
    };
    let value = |key: &str| -> PyResult<Option<Value>> {
        let given = described.get_item(key)?;
        if given.is_none() {
            return Ok(None);
        }
        let wrong = |problem: String| PyValueError::new_err(format!("parameter {name}: {key}: {problem}"));
        let raw = to_value(&given).ok_or_else(|| wrong("expected a number, a text, true or false".into()))?;
        read(&kind, &raw).map(Some).map_err(wrong)
    };
    let (low, high) = (value("low")?, value("high")?);
    let default =
        value("default")?.ok_or_else(|| PyValueError::new_err(format!("parameter {name}: expected a default")))?;
    let as_text = |v: &Value| match v {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let range = match (&low, &high) {
        (Some(low), Some(high)) => format!("{} to {}", as_text(low), as_text(high)),
        (Some(low), None) => format!("{} and more", as_text(low)),
        (None, Some(high)) => format!("{} and less", as_text(high)),
        (None, None) => String::new(),
    };
    for (edge, is_out) in [(&low, -1.0), (&high, 1.0)] {
        if edge.as_ref().is_some_and(|edge| (number(&kind, &default) - number(&kind, edge)) * is_out > 0.0) {
            return Err(PyValueError::new_err(format!("parameter {name}: the default {default} is outside {range}")));
        }
    }
    let spec = ParamSpec {
        name: name.into(),
        doc: text("doc")?,
        kind,
        optional: false,
        default: Some(default),
        range,
        unit: "".into(),
        source: "".into(),
    };
    Ok(Parameter { spec, low, high })
}

/// A value of Python as a scenario would write it.
fn to_value(given: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(b) = given.extract::<bool>() {
        Some(Value::Bool(b))
    } else if let Ok(i) = given.extract::<i64>() {
        Some(Value::Int(i))
    } else if let Ok(x) = given.extract::<f64>() {
        Some(Value::Float(x))
    } else {
        given.cast::<PyString>().ok().map(|t| Value::Text(t.to_string()))
    }
}

/// A value that a parameter of this kind takes, in its own form.
pub fn read(kind: &Kind, value: &Value) -> Result<Value, String> {
    fn as_is<T: ParamType>(value: &Value) -> Result<Value, String> {
        T::from_value(value).map(|read| read.to_value().expect("a value"))
    }
    match kind {
        Kind::Bool => as_is::<bool>(value),
        Kind::Float => as_is::<f64>(value),
        Kind::Integer => match value {
            Value::Int(_) => Ok(value.clone()),
            other => as_is::<u64>(other),
        },
        Kind::Time => as_is::<Delta>(value),
        Kind::Bytes => as_is::<Bytes>(value),
        Kind::Rate => as_is::<Rate>(value),
        Kind::Choice(words) => match value {
            Value::Text(word) if words.iter().any(|w| w == word) => Ok(value.clone()),
            other => {
                let all: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
                Err(format!("{other} is not accepted; expected one of {}", all.join(", ")))
            }
        },
        _ => as_is::<String>(value),
    }
}

/// A value of a kind with an order, as a number in base units.
pub fn number(kind: &Kind, value: &Value) -> f64 {
    match (kind, value) {
        (_, Value::Int(i)) => *i as f64,
        (_, Value::Float(x)) => *x,
        (Kind::Time, _) => Delta::from_value(value).map_or(0.0, |d| d.as_ps() as f64),
        (Kind::Bytes, _) => Bytes::from_value(value).map_or(0.0, Bytes::as_f64),
        (Kind::Rate, _) => Rate::from_value(value).map_or(0.0, Rate::as_f64),
        _ => 0.0,
    }
}

/// A value as an attribute: times in picoseconds, sizes in bytes, rates in bit/s.
pub fn of_value<'py>(py: Python<'py>, kind: &Kind, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let whole = |n: Option<u64>| Ok(n.unwrap_or(0).into_pyobject(py)?.into_any());
    match (kind, value) {
        (Kind::Time, v) => whole(Delta::from_value(v).ok().map(Delta::as_ps)),
        (Kind::Bytes, v) => whole(Bytes::from_value(v).ok().map(Bytes::get)),
        (Kind::Rate, v) => whole(Rate::from_value(v).ok().map(Rate::as_bps)),
        (_, Value::Bool(b)) => Ok(b.into_pyobject(py)?.to_owned().into_any()),
        (_, Value::Int(i)) => Ok(i.into_pyobject(py)?.into_any()),
        (_, Value::Float(x)) => Ok(x.into_pyobject(py)?.into_any()),
        (_, Value::Text(t)) => Ok(t.into_pyobject(py)?.into_any()),
        (_, Value::List(texts)) => Ok(texts.into_pyobject(py)?.into_any()),
    }
}
