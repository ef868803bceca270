//! The start of flows: `start` of `[transport]`.

use farloop_net::spec::Start;
use farloop_units::{Kind, ParamType, Value};

/// "own", "line-rate", "bdp", or a number of segments.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StartChoice(pub Start);

impl ParamType for StartChoice {
    const KIND: Kind = Kind::Text;
    fn from_value(value: &Value) -> Result<StartChoice, String> {
        let most = Start::MAX_SEGMENTS;
        let segments = |n: Option<u32>| n.filter(|n| (1..=most).contains(n)).map(Start::Segments);
        let start = match value {
            Value::Int(n) => segments(u32::try_from(*n).ok()),
            Value::Text(text) => match text.as_str() {
                "own" => Some(Start::Own),
                "line-rate" => Some(Start::LineRate),
                "bdp" => Some(Start::Bdp),
                other => segments(count(other)),
            },
            _ => None,
        };
        start.map(StartChoice).ok_or_else(|| {
            format!("{value} is no start; expected \"own\", \"line-rate\", \"bdp\", or a number of segments from 1 to {most}, such as \"10 segments\"")
        })
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(match self.0 {
            Start::Own => "own".to_string(),
            Start::LineRate => "line-rate".to_string(),
            Start::Bdp => "bdp".to_string(),
            Start::Segments(1) => "1 segment".to_string(),
            Start::Segments(n) => format!("{n} segments"),
        }))
    }
}

/// The number in "10", "1 segment" or "10 segments".
fn count(text: &str) -> Option<u32> {
    let digits = text.strip_suffix(" segments").or_else(|| text.strip_suffix(" segment")).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (text, start) in [
            ("own", Start::Own),
            ("line-rate", Start::LineRate),
            ("bdp", Start::Bdp),
            ("1 segment", Start::Segments(1)),
            ("10 segments", Start::Segments(10)),
        ] {
            let value = Value::Text(text.to_string());
            assert_eq!(StartChoice::from_value(&value), Ok(StartChoice(start)));
            assert_eq!(StartChoice(start).to_value(), Some(value));
        }
        assert_eq!(StartChoice::from_value(&Value::Int(10)), Ok(StartChoice(Start::Segments(10))));
        assert_eq!(StartChoice::from_value(&Value::Text("10".into())), Ok(StartChoice(Start::Segments(10))));
    }

    #[test]
    fn what_is_no_start_is_refused_with_what_would_be() {
        let texts = ["", "0", "-1", "+10", "ten segments", "10 packets", "1.5", "BDP", "1000001", " segments"];
        let values = texts.map(|text| Value::Text(text.to_string()));
        for value in values.iter().chain(&[
            Value::Int(0),
            Value::Int(-3),
            Value::Int(1 << 40),
            Value::Float(2.0),
            Value::Bool(true),
        ]) {
            let error = StartChoice::from_value(value).expect_err("no start");
            assert!(error.contains("expected \"own\", \"line-rate\", \"bdp\""), "{error}");
        }
    }
}
