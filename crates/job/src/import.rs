//! Imports a job: reads it, reports its contents, times it on an ideal network, writes it in another format.

use crate::collectives::{Algorithm, Choice, Location, expand, nccl};
use crate::error::JobError;
use crate::formats::{self, Format, Open, Options, Target, Writing};
use crate::ideal::{self, Level, Network, Outcome, Share};
use crate::job::Job;
use crate::memory::{Budget, MemoryLimit, PROCESS, of_job, sum};
use crate::survey::survey;
use crate::validate::{check, check_programs};
use farloop_units::{Bytes, Delta, Rate, Time};
use serde_json::{Value, json};

/// A request to import a job.
#[derive(Clone, Debug)]
pub struct Request {
    /// The job's files.
    pub files: Vec<String>,
    /// Their format; `None` to detect it by content.
    pub format: Option<Format>,
    /// Facts that the trace does not hold.
    pub options: Options,
    /// Algorithms by which collectives are expanded.
    pub choice: Choice,
    /// Ranks of a site and of a host, in order.
    pub ranks_per: (u32, u32),
    /// The network that the job is timed on; `None` leaves that out.
    pub network: Option<Network>,
    /// Where the job is written and in which format.
    pub out: Option<(String, Format)>,
    /// Write sends and receives in place of collectives, where the format has both.
    pub expanded: bool,
    /// Limit of its memory.
    pub limit: MemoryLimit,
}

/// Reads a quantity; the error names the setting.
fn quantity<T: std::str::FromStr>(setting: &'static str, text: &str) -> Result<T, JobError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|e| JobError::in_setting(setting, format!("{e}")))
}

/// Reads a rate above zero: a message takes its bytes over the rate. The error names the setting.
pub fn positive_rate(setting: &'static str, text: &str) -> Result<Rate, JobError> {
    let rate: Rate = quantity(setting, text)?;
    if rate == Rate::ZERO {
        let text = format!("\"{}\": expected a rate above zero", text.escape_debug());
        return Err(JobError::in_setting(setting, text));
    }
    Ok(rate)
}

/// Reads the algorithm of collectives from its name; `nccl` chooses for this rate of each rank to other hosts, and this one in its host.
pub fn choice(name: &str, rate: Rate, domain: Rate) -> Result<Choice, JobError> {
    if name == "nccl" {
        let machine =
            nccl::Machine { rank_rate: rate.as_f64() / 8.0, host_rate: f64::INFINITY, domain: domain.as_f64() / 8.0 };
        return Ok(Choice::Nccl(machine));
    }
    let known: Vec<&str> = Algorithm::ALL.iter().map(|a| a.name()).collect();
    let text = format!("\"{}\": expected nccl, {}", name.escape_debug(), known.join(", "));
    Algorithm::by_name(name).map(Choice::Fixed).ok_or_else(|| JobError::in_setting("collectives", text))
}

/// A network of one site, or of several with their own latency and rate. `message` is overhead and gap of a message, and the size above
/// which a send waits for its receiver, or "none".
pub fn network(
    latency: &str,
    rate: &str,
    site: Option<(u32, &str, &str)>,
    host: Option<(u32, &str, &str)>,
    message: (&str, &str, &str),
) -> Result<Network, JobError> {
    let mut made = Network::alpha_beta(quantity::<Delta>("latency", latency)?, positive_rate("rate", rate)?);
    made.host.per_message = quantity("overhead", message.0)?;
    made.gap = quantity("gap", message.1)?;
    if message.2 != "none" {
        made.eager = quantity::<Bytes>("eager", message.2)?.get();
    }
    for (setting, ranks) in [("ranks_per_site", site.map(|s| s.0)), ("ranks_per_host", host.map(|h| h.0))] {
        if ranks == Some(0) {
            return Err(JobError::in_setting(setting, "0: expected 1 or more"));
        }
    }
    if let Some((ranks, latency, rate)) = site {
        made.ranks_per_site = ranks;
        made.between = Level::new(quantity("site_latency", latency)?, positive_rate("site_rate", rate)?);
    }
    if let Some((ranks, latency, rate)) = host {
        made.ranks_per_host = ranks;
        made.domain = Level::new(quantity("host_latency", latency)?, positive_rate("host_rate", rate)?);
    }
    Ok(made)
}

/// Imports a job as requested and reports on it as JSON; `open` gives the files of [`Request::out`]. `progress(what, done,
/// all)` returns false to stop.
pub fn import(
    request: &Request,
    open: Open<'_>,
    progress: &mut dyn FnMut(&str, u64, u64) -> bool,
) -> Result<Value, JobError> {
    let format = match (request.format, request.files.first()) {
        (Some(format), _) => format,
        (None, Some(first)) => formats::detect(first)?,
        (None, None) => return Err(JobError::in_setting("files", "no file; expected a job")),
    };
    let (site, host) = request.ranks_per;
    let locate = |rank: u32| Location { site: rank / site, host: rank / host };
    let (limit, choice) = (request.limit, request.choice);
    let budget = Budget { limit, choice, locate: &locate, path: request.network.is_some() };
    let options = &request.options;
    let job = formats::read_within(&request.files, format, options, &budget, &mut |a, b| progress("reading", a, b))?;
    let shares = of_job(&job, &locate).shares(choice, budget.path, format.spec().memory_keys);
    limit.check_job(job.file(0), &shares)?;
    let memory = PROCESS.saturating_add(sum(&shares));
    check_programs(&job)?;
    let counted = survey(&job);
    let whole = expand(&job, choice, &locate)?;
    check(&whole, &mut |a, b| progress("checking", a, b))?;
    let timed = match &request.network {
        Some(network) => Some(ideal::run(&whole, network, 1, true, &mut |a, b| progress("timing", a, b))?),
        None => None,
    };
    let unscaled = match &request.network {
        Some(network) if whole.scale > 1 => {
            let network = network.clone().scale_bytes(whole.scale);
            Some(ideal::run(&whole, &network, 1, false, &mut |a, b| progress("timing", a, b))?.end)
        }
        _ => timed.as_ref().map(|outcome| outcome.end),
    };
    let written = match &request.out {
        Some((path, to)) => {
            let lacks_collectives = matches!(to.spec().writing, Writing::Any { collectives: false, .. });
            let mut target = Target {
                job: if request.expanded || lacks_collectives { &whole } else { &job },
                path,
                own_files: if *to == format { &request.files } else { &[] },
                expanded: request.expanded,
                open,
            };
            to.write(format, &mut target, &mut |a, b| progress("writing", a, b))?
        }
        None => Vec::new(),
    };
    let bytes = |ps: u128| ps as f64 / 1e12;
    let collectives: Vec<Value> = counted
        .collectives
        .iter()
        .map(|(kind, count, bytes)| json!({"collective": kind.name(), "count": count, "bytes": bytes}))
        .collect();
    let expanded = survey(&whole);
    Ok(json!({
        "files": request.files,
        "format": format.name(),
        "ranks": counted.ranks,
        "operations": counted.operations,
        "computations": counted.computations,
        "sends": counted.sends,
        "receives": counted.receives,
        "sent_bytes": counted.bytes,
        "dependencies": counted.dependencies,
        "absent_dependencies": counted.absent,
        "streams": counted.streams,
        "computing_s": {"most": counted.most_computing.as_secs_f64(), "all": bytes(counted.computing_ps)},
        "collectives": collectives,
        "expanded": {"messages": expanded.sends, "bytes": expanded.bytes},
        "memory_bytes": memory,
        "notes": whole.notes,
        "scale": whole.scale,
        "ideal": timed.as_ref().zip(unscaled).map(|(outcome, end)| to_json(&whole, outcome, end)),
        "written": written,
    }))
}

fn to_json(job: &Job, outcome: &Outcome, unscaled: Time) -> Value {
    let seconds = |d: Delta| d.as_secs_f64();
    let ranks = &outcome.ranks;
    let computing = |r: &ideal::RankTimes| r.computing;
    let mean = ranks.iter().map(|r| r.exposed.as_secs_f64()).sum::<f64>() / ranks.len().max(1) as f64;
    let path = outcome.path.as_ref().map(|path| {
        let phases = path.computing_by_phase(job);
        let phases: Vec<Value> = job
            .phases
            .iter()
            .zip(phases)
            .filter(|p| p.1 > Delta::ZERO && !p.0.is_empty())
            .map(|(name, time)| json!({"phase": name, "s": seconds(time)}))
            .collect();
        json!({
            "compute_s": seconds(path.total(Share::Compute)),
            "latency_s": seconds(path.total(Share::Latency)),
            "serialisation_s": seconds(path.total(Share::Serialisation)),
            "interface_s": seconds(path.total(Share::Interface)),
            "overhead_s": seconds(path.total(Share::Overhead)),
            "messages": path.messages(),
            "phases": phases,
        })
    });
    json!({
        "iteration_s": outcome.end.as_secs_f64(),
        "unscaled_iteration_s": unscaled.as_secs_f64(),
        "messages": outcome.messages,
        "bytes": outcome.bytes,
        "most_computing_s": ranks.iter().map(computing).max().map_or(0.0, seconds),
        "exposed_s": {"mean": mean, "most": ranks.iter().map(|r| r.exposed).max().map_or(0.0, seconds)},
        "critical_path": path,
    })
}
