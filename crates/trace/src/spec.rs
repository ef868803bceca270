//! [`TraceSpec`]: a trace's filter in words.

use crate::{Choice, Filter};
use farloop_units::Time;
use std::fmt;

/// The text form of a filter: `flows=NAME,...`, `ports=NODE:NEIGHBOUR,...`, `window=FROM..UNTIL`, `limit=RECORDS`. `flows`
/// and `ports` may be given again, which adds to them.
///
/// Without `flows` and `ports` everything is traced. `flows` alone: these flows and their packets at all ports, and all pauses.
/// `ports` alone: the packets of all flows at these ports, their pauses, and no flow's own events. Both: the flows' packets at the
/// ports, the ports' pauses, the flows' own events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceSpec {
    /// As given: names, groups or patterns, which the caller knows.
    pub flows: Vec<String>,
    /// As given: patterns for a node and for its neighbour.
    pub ports: Vec<(String, String)>,
    /// From when.
    pub from: Time,
    /// Until when, itself excluded.
    pub until: Time,
    /// At most so many records.
    pub limit: usize,
}

/// Knows the names of a network.
pub trait Resolver {
    /// The flows that a word means; none if it means nothing.
    fn flows(&self, word: &str) -> Vec<u32>;
    /// The egress ports of nodes that match the first pattern to neighbours that match the second.
    fn ports(&self, node: &str, neighbour: &str) -> Vec<u32>;
}

/// An error in a filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// The item, as given.
    pub item: String,
    /// The problem with it.
    pub wrong: String,
    /// The accepted form.
    pub accepted: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace filter \"{}\": {}; accepted: {}", self.item, self.wrong, self.accepted)
    }
}

impl std::error::Error for SpecError {}

/// Largest `limit` of records: 10 GB of memory.
const MAX_RECORDS: usize = 100_000_000;

const KEYS: &str = "flows=NAME,..., ports=NODE:NEIGHBOUR,..., window=FROM..UNTIL, limit=RECORDS, all";
const FLOWS: &str = "names of flows or groups of them, separated by commas, such as flows=intra,cross";
const PORTS: &str = "NODE:NEIGHBOUR, separated by commas, * for any, such as ports=s1:*";
const WINDOW: &str = "two times in order, of which one may be missing, such as window=10ms..12ms";
const LIMIT: &str = "a whole number from 1 to 100000000, such as limit=1000000";

impl Default for TraceSpec {
    fn default() -> TraceSpec {
        let Filter { from, until, limit, .. } = Filter::default();
        TraceSpec { flows: Vec::new(), ports: Vec::new(), from, until, limit }
    }
}

impl TraceSpec {
    /// Reads a filter from its items, each `KEY=VALUE`, or `all` for one that leaves everything at its default.
    pub fn parse<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Result<TraceSpec, SpecError> {
        let mut spec = TraceSpec::default();
        let (mut window, mut limit) = (false, false);
        for item in items {
            let item = item.as_ref().trim();
            if item == "all" {
                continue;
            }
            let Some((key, value)) = item.split_once('=') else {
                return Err(wrong(item, "not KEY=VALUE", KEYS));
            };
            let twice = |seen: &mut bool| {
                if std::mem::replace(seen, true) {
                    return Err(wrong(item, format!("{} is given twice", key.trim()), "it once"));
                }
                Ok(())
            };
            match key.trim() {
                "flows" => spec.flows.extend(words(item, value, FLOWS)?.map(str::to_string)),
                "ports" => {
                    for word in words(item, value, PORTS)? {
                        spec.ports.push(port(item, word)?);
                    }
                }
                "window" => {
                    twice(&mut window)?;
                    (spec.from, spec.until) = times(item, value)?;
                }
                "limit" => {
                    twice(&mut limit)?;
                    let number = value.trim().parse().ok().filter(|n| (1..=MAX_RECORDS).contains(n));
                    spec.limit = number.ok_or_else(|| wrong(item, "no such number of records", LIMIT))?;
                }
                key => return Err(wrong(item, format!("unknown key \"{key}\""), KEYS)),
            }
        }
        Ok(spec)
    }

    /// The filter in the network whose names `resolver` knows. A word that means nothing there is an error.
    pub fn resolve(&self, resolver: &impl Resolver) -> Result<Filter, SpecError> {
        let mut flows = Vec::new();
        for word in &self.flows {
            let matching = resolver.flows(word);
            if matching.is_empty() {
                return Err(wrong(format!("flows={word}"), "there is no such flow", FLOWS));
            }
            flows.extend(matching);
        }
        let mut ports = Vec::new();
        for (node, neighbour) in &self.ports {
            let matching = resolver.ports(node, neighbour);
            if matching.is_empty() {
                return Err(wrong(format!("ports={node}:{neighbour}"), "there is no such port", PORTS));
            }
            ports.extend(matching);
        }
        let packets = if self.flows.is_empty() { Choice::All } else { Choice::from_numbers(flows) };
        let ports_only = self.flows.is_empty() && !self.ports.is_empty();
        Ok(Filter {
            flows: if ports_only { Choice::NONE } else { packets.clone() },
            packets,
            ports: if self.ports.is_empty() { Choice::All } else { Choice::from_numbers(ports) },
            from: self.from,
            until: self.until,
            limit: self.limit,
        })
    }
}

fn wrong(item: impl Into<String>, wrong: impl Into<String>, accepted: &str) -> SpecError {
    SpecError { item: item.into(), wrong: wrong.into(), accepted: accepted.to_string() }
}

fn words<'a>(item: &str, value: &'a str, accepted: &str) -> Result<impl Iterator<Item = &'a str> + use<'a>, SpecError> {
    if value.split(',').any(|word| word.trim().is_empty()) {
        return Err(wrong(item, "a name is empty", accepted));
    }
    Ok(value.split(',').map(str::trim))
}

fn port(item: &str, word: &str) -> Result<(String, String), SpecError> {
    match word.split_once(':') {
        Some((node, neighbour)) if !node.is_empty() && !neighbour.is_empty() && !neighbour.contains(':') => {
            Ok((node.to_string(), neighbour.to_string()))
        }
        _ => Err(wrong(item, format!("\"{word}\" is no port"), PORTS)),
    }
}

fn times(item: &str, value: &str) -> Result<(Time, Time), SpecError> {
    let Some((from, until)) = value.split_once("..") else {
        return Err(wrong(item, "no \"..\" between two times", WINDOW));
    };
    let time = |text: &str, default: Time| match text.trim() {
        "" => Ok(default),
        text => text.parse::<Time>().map_err(|e| wrong(item, format!("\"{text}\": {e}"), WINDOW)),
    };
    let (from, until) = (time(from, Time::ZERO)?, time(until, Time::NEVER)?);
    if from >= until {
        return Err(wrong(item, "the window is empty", WINDOW));
    }
    Ok((from, until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Delta;

    struct Two;
    impl Resolver for Two {
        fn flows(&self, word: &str) -> Vec<u32> {
            match word {
                "intra" => vec![0, 2],
                "cross" => vec![1],
                _ => vec![],
            }
        }
        fn ports(&self, node: &str, neighbour: &str) -> Vec<u32> {
            if (node, neighbour) == ("s1", "*") { vec![3, 4] } else { vec![] }
        }
    }

    fn filter(items: &[&str]) -> Filter {
        TraceSpec::parse(items).unwrap().resolve(&Two).unwrap()
    }

    fn error(items: &[&str]) -> String {
        TraceSpec::parse(items).and_then(|spec| spec.resolve(&Two)).unwrap_err().to_string()
    }

    #[test]
    fn the_four_ways_to_choose() {
        assert_eq!(filter(&["all"]), Filter::default());
        let flows = filter(&["flows=intra"]);
        assert_eq!(
            (&flows.flows, &flows.packets, &flows.ports),
            (&Choice::from_numbers([0, 2]), &Choice::from_numbers([0, 2]), &Choice::All)
        );
        let ports = filter(&["ports=s1:*"]);
        assert_eq!(
            (&ports.flows, &ports.packets, &ports.ports),
            (&Choice::NONE, &Choice::All, &Choice::from_numbers([3, 4]))
        );
        let both = filter(&["flows=intra, cross", "ports=s1:*"]);
        assert_eq!(
            (&both.flows, &both.packets, &both.ports),
            (&Choice::from_numbers([0, 1, 2]), &Choice::from_numbers([0, 1, 2]), &Choice::from_numbers([3, 4]))
        );
        assert_eq!(filter(&["flows=intra", "flows=cross"]).flows, Choice::from_numbers([0, 1, 2]));
    }

    #[test]
    fn a_window_may_be_open() {
        let ms = |n| Time::ZERO + Delta::from_ms(n);
        let spec = |text| TraceSpec::parse([text]).map(|spec| (spec.from, spec.until));
        assert_eq!(spec("window=10ms..12ms"), Ok((ms(10), ms(12))));
        assert_eq!(spec("window=..12ms"), Ok((Time::ZERO, ms(12))));
        assert_eq!(spec("window=10ms.."), Ok((ms(10), Time::NEVER)));
    }

    #[test]
    fn errors_name_the_item_and_what_is_accepted() {
        assert_eq!(
            error(&["flow=a"]),
            "trace filter \"flow=a\": unknown key \"flow\"; accepted: flows=NAME,..., ports=NODE:NEIGHBOUR,..., window=FROM..UNTIL, limit=RECORDS, all"
        );
        for (item, part) in [
            ("intra", "not KEY=VALUE"),
            ("", "not KEY=VALUE"),
            ("flows=", "a name is empty"),
            ("flows=intra,,cross", "a name is empty"),
            ("flows=none", "there is no such flow"),
            ("ports=s1", "\"s1\" is no port"),
            ("ports=s1:", "\"s1:\" is no port"),
            ("ports=a:b:c", "\"a:b:c\" is no port"),
            ("ports=s2:*", "there is no such port"),
            ("window=10ms", "no \"..\""),
            ("window=12ms..10ms", "the window is empty"),
            ("window=10ms..10ms", "the window is empty"),
            ("window=10..20ms", "\"10\""),
            ("limit=0", "no such number of records"),
            ("limit=1e6", "no such number of records"),
            ("limit=-1", "no such number of records"),
            ("limit=100000001", "no such number of records"),
        ] {
            let message = error(&[item]);
            assert!(message.contains(part) && message.contains("accepted: "), "{item}: {message}");
        }
        assert!(error(&["limit=1", "limit=2"]).contains("given twice"));
        assert!(error(&["window=1ms..", "window=2ms.."]).contains("given twice"));
    }
}
