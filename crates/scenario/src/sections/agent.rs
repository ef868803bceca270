//! The keys of `[[agent]]` that all agents have.

use farloop_units::{Kind, ParamType, Value, Words, choice, params};

choice! {
    /// The agents that a network can have: those of `farloop_cc::agents`.
    pub enum AgentChoice {
        /// Marks become notifications at the border.
        Themis = "themis",
    }
}

params! {
    /// `[[agent]]`: code at switches, chosen by the network and not by an algorithm of hosts.
    pub struct AgentKeys {
        /// The agent. It decides which other keys there are.
        name: Option<AgentChoice> = None;
        /// The switches that have it. "border": those of datacenters with a link to a switch outside. A list: those whose names match it;
        /// "*" matches any characters, "?" any one.
        at: SwitchPlaces = SwitchPlaces::Border;
    }
}

/// Where an agent of the network is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwitchPlaces {
    /// At the switches of datacenters that have a link to a switch outside.
    Border,
    /// At those whose names match one of these.
    Named(Vec<String>),
}

impl ParamType for SwitchPlaces {
    const KIND: Kind = Kind::TextList(Words::Declared(&["border"]));
    fn from_value(value: &Value) -> Result<SwitchPlaces, String> {
        match value {
            Value::List(names) if names.is_empty() => {
                Err("[] leaves no switch; expected a list of switches, or \"border\"".into())
            }
            Value::List(names) => Ok(SwitchPlaces::Named(names.clone())),
            Value::Text(t) if t == "border" => Ok(SwitchPlaces::Border),
            other => Err(format!("{other} is not accepted; expected a list of switches, or \"border\"")),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(match self {
            SwitchPlaces::Border => Value::Text("border".into()),
            SwitchPlaces::Named(names) => Value::List(names.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_key_are_the_agents() {
        let Kind::Choice(words) = AgentChoice::KIND else { panic!("no choice") };
        let names: Vec<&str> = farloop_cc::agents::agents().map(|info| info.name).collect();
        assert_eq!(words.iter().collect::<Vec<_>>(), names);
    }
}
