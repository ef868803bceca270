//! A text, or several.

use farloop_units::{Kind, ParamType, Value};

/// One name or several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneOrMore(pub Vec<String>);

impl ParamType for OneOrMore {
    const KIND: Kind = Kind::Texts;
    fn from_value(value: &Value) -> Result<OneOrMore, String> {
        match value {
            Value::Text(name) => Ok(OneOrMore(vec![name.clone()])),
            Value::List(names) if !names.is_empty() => Ok(OneOrMore(names.clone())),
            other => Err(format!("{other} is not accepted; expected a name in quotes, or a list of them")),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(match &self.0[..] {
            [name] => Value::Text(name.clone()),
            names => Value::List(names.to_vec()),
        })
    }
}
