//! `[[event]]`: changes of links.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::events::HAPPENS;
use crate::glob;
use crate::parallel::{neighbour_name, parallel};
use crate::scenario::Scenario;
use crate::sections::{EventKeys, LinkState};
use crate::topology::Layout;
use farloop_net::spec::{Direction, LinkChange, LinkEventSpec, LinkSpec};
use farloop_units::{ParamType, Params, Time};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// An event in words.
#[derive(Clone, PartialEq, Debug)]
pub struct EventFact {
    /// When.
    pub at: Time,
    /// The links, or directions of them.
    pub links: Vec<String>,
    /// The change, such as "down" or "rate 10Gbps".
    pub what: String,
}

impl EventFact {
    /// As JSON.
    pub fn json(&self) -> Json {
        json!({ "at_s": self.at.as_secs_f64(), "links": self.links, "what": self.what })
    }
}

/// Most changes of single links, of which each takes some hundred bytes.
const MAX_CHANGES: usize = 5_000_000;

/// The changes of links, event by event; links by index.
pub(crate) struct Happening {
    pub specs: Vec<LinkEventSpec>,
    /// Of each of these the `[[event]]`, by index.
    pub origins: Vec<usize>,
    pub facts: Vec<EventFact>,
}

/// Resolves the links of events; refuses unknown ones.
pub(crate) fn happening(scenario: &Scenario, layout: &Layout) -> Result<Happening, Diagnostic> {
    let mut all = Happening { specs: Vec::new(), origins: Vec::new(), facts: Vec::new() };
    if scenario.events.is_empty() {
        return Ok(all);
    }
    let names = Names::new(layout);
    for (i, keys) in scenario.events.iter().enumerate() {
        let at = keys.at.map_or(Time::ZERO, |at| Time::ZERO + at);
        let patterns = keys.link.iter().flat_map(|links| &links.0);
        let links = patterns.map(|pattern| names.find(scenario, i, pattern)).collect::<Result<Vec<_>, _>>()?;
        let links: BTreeSet<(u32, Direction)> = links.into_iter().flatten().collect();
        for &(link, direction) in &links {
            for change in changes(keys) {
                all.specs.push(LinkEventSpec { at, link, direction, change });
                all.origins.push(i);
            }
        }
        if all.specs.len() > MAX_CHANGES {
            let problem = format!("there are more than {MAX_CHANGES} changes of links with this one");
            let number = (i + 1).to_string();
            return Err(scenario.diagnostic_at(
                &["event", &number, "link"],
                problem,
                "expected fewer links, or fewer events",
            ));
        }
        let links = links.iter().map(|(link, direction)| names.name(*link, *direction)).collect();
        all.facts.push(EventFact { at, links, what: words(keys) });
    }
    Ok(all)
}

fn changes(keys: &EventKeys) -> Vec<LinkChange> {
    let state = keys.state.map(|state| match state {
        LinkState::Down => LinkChange::Down,
        LinkState::Up => LinkChange::Up,
    });
    let (rate, delay) = (keys.rate.map(LinkChange::Rate), keys.delay.map(LinkChange::Delay));
    let (loss, corruption) = (keys.loss.map(LinkChange::Loss), keys.corruption.map(LinkChange::Corruption));
    let lose_data = keys.lose_data.clone().map(LinkChange::LoseData);
    let lose_acks = keys.lose_acks.clone().map(LinkChange::LoseAcks);
    let late = keys.late_data.clone().zip(keys.late_by).map(|(numbers, by)| LinkChange::LateData(numbers, by));
    [state, rate, delay, loss, corruption, lose_data, lose_acks, late].into_iter().flatten().collect()
}

/// Describes the changes of an event.
fn words(keys: &EventKeys) -> String {
    let state = keys.state.as_ref().and_then(ParamType::to_value).map(|state| state.to_string());
    let set = |name: &&str| keys.get(name).flatten().map(|value| format!("{name} {value}"));
    let others = HAPPENS.iter().filter(|name| **name != "state").chain(&["late_by"]).filter_map(set);
    state.into_iter().chain(others).collect::<Vec<_>>().join(", ").replace('"', "")
}

/// Names of links.
struct Names {
    /// By port, two for each link: from, and to with its number.
    ports: Vec<(String, String)>,
}

impl Names {
    fn new(layout: &Layout) -> Names {
        let links: Vec<LinkSpec> = layout.links.iter().map(|link| link.spec).collect();
        let ends = links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]).zip(parallel(&links));
        let name = |node: u32| layout.nodes[node as usize].name.as_str();
        Names { ports: ends.map(|((a, b), which)| (name(a).into(), neighbour_name(name(b), which).into())).collect() }
    }

    fn name(&self, link: u32, direction: Direction) -> String {
        let (port, arrow) = match direction {
            Direction::Both => (2 * link, "<->"),
            Direction::FromA => (2 * link, "->"),
            Direction::FromB => (2 * link + 1, "->"),
        };
        let (from, to) = &self.ports[port as usize];
        format!("{from}{arrow}{to}")
    }

    /// The links that a pattern means, each in the directions that it says.
    fn find(&self, scenario: &Scenario, event: usize, pattern: &str) -> Result<Vec<(u32, Direction)>, Diagnostic> {
        let arrow = if pattern.contains("<->") { "<->" } else { "->" };
        let wanted: String = pattern.split(arrow).map(str::trim).collect::<Vec<_>>().join(arrow);
        let matching =
            |(_, (from, to)): &(u32, &(String, String))| glob::matches(&wanted, &format!("{from}{arrow}{to}"));
        let ports = (0..).zip(&self.ports).filter(matching).map(|(port, _)| port);
        let direction = |port: u32| match (arrow, port % 2) {
            ("<->", _) => (port / 2, Direction::Both),
            (_, 0) => (port / 2, Direction::FromA),
            _ => (port / 2, Direction::FromB),
        };
        let directions: Vec<(u32, Direction)> = ports.map(direction).collect();
        if !directions.is_empty() {
            return Ok(directions);
        }
        let links: Vec<String> = (0..self.ports.len() as u32 / 2).map(|i| self.name(i, Direction::Both)).collect();
        // Either end may come first, and both directions or one be meant.
        let ports = self.ports.iter().map(|(from, to)| format!("{from}{arrow}{to}"));
        let near: Vec<String> = ports.collect();
        let problem = match pattern.contains("->") {
            true => format!("there is no link \"{pattern}\""),
            false => format!("\"{pattern}\" is no link"),
        };
        let expected = format!("expected A<->B or A->B; links: {}", listing(links.iter().map(String::as_str)));
        let number = (event + 1).to_string();
        Err(Diagnostic {
            suggestion: nearest(pattern, near.iter().map(String::as_str)),
            ..scenario.diagnostic_at(&["event", &number, "link"], problem, expected)
        })
    }
}
