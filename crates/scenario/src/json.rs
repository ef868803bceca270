//! Values as JSON.

use farloop_units::Value;
use serde_json::Value as Json;

/// A value as JSON; `None` for a number that is not finite.
pub(crate) fn json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(i) => Json::from(*i),
        Value::Float(x) => Json::Number(serde_json::Number::from_f64(*x)?),
        Value::Text(t) => Json::String(t.clone()),
        Value::List(texts) => Json::from(texts.clone()),
    })
}
