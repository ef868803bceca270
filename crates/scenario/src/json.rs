//! Values as JSON.

use farloop_units::{Params, Value};
use serde_json::{Map, Value as Json};

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

/// Every key of `params`; those that are not set say "none".
pub(crate) fn section<P: Params>(params: &P) -> Map<String, Json> {
    let value = |name| params.get(name).flatten().as_ref().and_then(json);
    P::specs().iter().map(|s| (s.name.to_string(), value(&s.name).unwrap_or_else(none_json))).collect()
}

/// The value of a key that is not set.
pub(crate) fn none_json() -> Json {
    Json::from("none")
}

/// Tables `[[name]]`, one for each item.
pub(crate) fn list<T>(items: &[T], table: impl Fn(&T) -> Map<String, Json>) -> Json {
    items.iter().map(|item| Json::Object(table(item))).collect()
}
