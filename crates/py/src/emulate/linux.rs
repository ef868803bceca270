//! Links to emulate and what became of their packets, as JSON.

use farloop_delay::direction::{Change, Direction, Marking, Settings};
use farloop_delay::emulator::{Link, Options, Report};
use farloop_delay::impairments::{BurstLoss, Impairments};
use farloop_engine::random::RandomStream;
use serde_json::{Value as Json, json};

/// Links as JSON.
pub(super) struct LinkText;

impl LinkText {
    /// The links and how they are emulated; an error names what is missing.
    pub(super) fn parse(text: &str) -> Result<(Vec<Link>, Options), String> {
        let all: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let seed = whole(&all, "seed")?;
        let longest = whole(&all, "longest")? as usize;
        let options = Options {
            longest,
            takes_large: is_set(&all, "takes_large"),
            promiscuous: is_set(&all, "promiscuous"),
            samples: is_set(&all, "samples"),
            joins: is_set(&all, "receive_offload"),
        };
        let mut links = Vec::new();
        for (number, link) in list(&all, "links")?.iter().enumerate() {
            let name = |end: usize| link["ends"][end].as_str().map(String::from).ok_or("ends is missing");
            let direction = |end: usize| {
                let of_direction = &link["directions"][end];
                let random = RandomStream::new(seed, "emulated link", (2 * number + end) as u64);
                Ok::<_, String>(Direction::new(settings(of_direction)?, changes(of_direction)?, random))
            };
            links.push(Link { ends: [name(0)?, name(1)?], directions: [direction(0)?, direction(1)?] });
        }
        Ok((links, options))
    }
}

fn settings(of: &Json) -> Result<Settings, String> {
    let marking = &of["marking"];
    let bursts = of["bursts"].as_array().map(|_| {
        let part = |index: usize| of["bursts"][index].as_f64().unwrap_or(0.0);
        BurstLoss { to_bad: part(0), to_good: part(1), loss_bad: part(2), loss_good: part(3) }
    });
    Ok(Settings {
        rate: whole(of, "rate")?,
        delay: whole(of, "delay")?,
        framing: whole(of, "framing")?,
        longest: whole(of, "longest")? as usize,
        limit: whole(of, "limit")?,
        limit_packets: of["limit_packets"].as_u64().map(|limit| limit as usize),
        marking: match marking.is_null() {
            true => None,
            false => Some(Marking {
                kmin: whole(marking, "kmin")?,
                kmax: whole(marking, "kmax")?,
                pmax: part(marking, "pmax")?,
            }),
        },
        impairments: Impairments {
            loss: part(of, "loss")?,
            corruption: part(of, "corruption")?,
            bursts,
            jitter: whole(of, "jitter")?,
            reordering: of["reordering"][0].as_f64().zip(of["reordering"][1].as_u64()),
        },
    })
}

fn changes(of: &Json) -> Result<Vec<(u64, Change)>, String> {
    let read_change = |change: &Json| {
        let at = whole(change, "at")?;
        let setting = change["setting"].as_str().ok_or("setting is missing")?;
        let value = &change["value"];
        let numbers = || {
            let text = value.as_str().ok_or_else(|| format!("{setting} has no numbers"))?;
            text.parse::<farloop_units::Numbers>()
        };
        let change = match setting {
            "down" => Change::Down,
            "up" => Change::Up,
            "rate" => Change::Rate(whole(change, "value")?),
            "delay" => Change::Delay(whole(change, "value")?),
            "loss" => Change::Loss(part(change, "value")?),
            "corruption" => Change::Corruption(part(change, "value")?),
            "lose_data" => Change::LoseData(numbers()?),
            "lose_acks" => Change::LoseAcks(numbers()?),
            "late_data" => Change::LateData(numbers()?, whole(change, "late_by")?),
            other => return Err(format!("there is no change of {other}")),
        };
        Ok((at, change))
    };
    list(of, "changes")?.iter().map(read_change).collect()
}

fn list<'a>(of: &'a Json, key: &str) -> Result<&'a Vec<Json>, String> {
    of[key].as_array().ok_or_else(|| format!("{key} is missing"))
}

fn whole(of: &Json, key: &str) -> Result<u64, String> {
    of[key].as_u64().ok_or_else(|| format!("{key} is missing"))
}

fn part(of: &Json, key: &str) -> Result<f64, String> {
    of[key].as_f64().ok_or_else(|| format!("{key} is missing"))
}

fn is_set(of: &Json, key: &str) -> bool {
    of[key].as_bool().unwrap_or(false)
}

/// Reports as JSON.
pub(super) fn report_json(reports: &[[Report; 2]]) -> String {
    let of = |report: &Report| {
        let (counts, late) = (&report.counts, &report.lateness);
        json!({
            "came": counts.came, "left": counts.left, "bytes": counts.bytes, "inside": report.inside,
            "marked": counts.marked, "late": counts.late, "dropped_queue": counts.dropped_queue,
            "dropped_down": counts.dropped_down, "dropped_long": counts.dropped_long, "lost_down": counts.lost_down,
            "lost_random": counts.lost_random, "lost_burst": counts.lost_burst,
            "lost_numbered": counts.lost_numbered, "damaged": counts.damaged, "longest": counts.longest,
            "queue": counts.queue, "overruns": report.overruns, "refused": report.refused,
            "joined": report.joined,
            "lateness_p50": late.quantile(0.5), "lateness_p99": late.quantile(0.99), "lateness_worst": late.max(),
            "samples": report.samples,
        })
    };
    let pairs: Vec<Json> = reports.iter().map(|[there, back]| json!([of(there), of(back)])).collect();
    Json::from(pairs).to_string()
}
