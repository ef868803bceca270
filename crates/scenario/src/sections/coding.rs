//! Blocks of data and repair packets: `coding` of `[transport]`.

use farloop_net::spec::CodingSpec;
use farloop_units::{Kind, ParamType, Value};

/// "own", "none", or data and repair packets of a block, such as "8+2".
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CodingChoice(pub CodingSpec);

impl ParamType for CodingChoice {
    const KIND: Kind = Kind::Text;
    fn from_value(value: &Value) -> Result<CodingChoice, String> {
        let most = CodingSpec::MAX_PACKETS;
        let blocks = |text: &str| {
            let (data, repair) = text.split_once('+')?;
            let count =
                |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u8>().ok()).flatten();
            let (data, repair) = (count(data)?, count(repair)?);
            let size = data.checked_add(repair)?;
            (data >= 1 && size <= most).then_some(CodingSpec::Blocks(data, repair))
        };
        let coding = match value {
            Value::Text(text) => match text.as_str() {
                "own" => Some(CodingSpec::Own),
                "none" => Some(CodingSpec::None),
                other => blocks(other),
            },
            _ => None,
        };
        coding.map(CodingChoice).ok_or_else(|| {
            format!(
                "{value} is no coding; expected \"own\", \"none\", or data and repair packets of a block, together at most {most}, such as \"8+2\""
            )
        })
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(match self.0 {
            CodingSpec::Own => "own".to_string(),
            CodingSpec::None => "none".to_string(),
            CodingSpec::Blocks(data, repair) => format!("{data}+{repair}"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let pairs = [
            ("own", CodingSpec::Own),
            ("none", CodingSpec::None),
            ("8+2", CodingSpec::Blocks(8, 2)),
            ("64+0", CodingSpec::Blocks(64, 0)),
        ];
        for (text, coding) in pairs {
            let value = Value::Text(text.to_string());
            assert_eq!(CodingChoice::from_value(&value), Ok(CodingChoice(coding)));
            assert_eq!(CodingChoice(coding).to_value(), Some(value));
        }
    }

    #[test]
    fn others_are_refused() {
        for text in ["8", "0+2", "60+5", "8+", "+2", "8 + 2", "200+100", "8+-2"] {
            let error = CodingChoice::from_value(&Value::Text(text.to_string())).expect_err(text);
            assert!(error.contains("no coding"), "{error}");
        }
        assert!(CodingChoice::from_value(&Value::Int(8)).is_err());
    }
}
