//! Where the time of a flow or of a job's iteration went ([`farloop_trace::why`]), with the names of a scenario.

use crate::build::Built;
use crate::diagnostic::{Diagnostic, nearest};
use crate::error::RunError;
use crate::gear::require_packets;
use crate::job_path;
use crate::outcome::{Progress, Ready};
use crate::run::{Prepared, Settings, map_stop, nothing_yet, now_and_then, ready};
use crate::slices::slices;
use crate::trace::TraceNames;
use farloop_net::result::FlowRow;
use farloop_net::spec::{FollowSpec, JobSpec, TransportKind};
use farloop_net::{Cores, JobPath, RunResult};
use farloop_trace::Names;
use farloop_trace::why::{Answer, Blame, Repair, Sending};
use farloop_units::{Delta, Time};
use serde_json::{Value as Json, json};

/// The flow or job to explain, by number.
enum Query {
    Flow(u32),
    Job(u32),
}

impl Prepared {
    /// Simulates until the flow or job `name` (a name, or a flow's number) is over, and reports as JSON where its time
    /// went: parts that add up to it exactly, in picoseconds; `slices` has the same by hundredths of the time, as pairs of
    /// a part's place and picoseconds. Of a job it explains an iteration, from 1: its slowest one, where none is named.
    ///
    /// `progress` is as in [`Prepared::run`]. Refuses names that do not exist, and flows or iterations that have not
    /// begun or not ended, and a gear that is not of packets.
    pub fn why(
        &self,
        name: &str,
        iteration: Option<u32>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<String, RunError> {
        require_packets(self.scenario(), "why follows")?;
        let file = self.scenario().document.file();
        let built = {
            let mut building = now_and_then(|| progress(nothing_yet()));
            self.take_built(&mut building)?
        };
        match find_query(file, &built, name)? {
            Query::Flow(_) if iteration.is_some() => {
                let problem = format!("\"{name}\" is a flow, which has no iterations");
                Err(why_error(file, problem, "expected a job with an iteration"))
            }
            Query::Flow(number) => self.why_flow(built, number, progress),
            Query::Job(number) => self.why_job(built, number, iteration, progress),
        }
    }

    fn why_flow(
        &self,
        built: Built,
        number: u32,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<String, RunError> {
        let file = self.scenario().document.file();
        let follows: Vec<FollowSpec> = built.spec.follows.iter().filter(|f| f.flow == number).copied().collect();
        let names = TraceNames::from_built(&built);
        let mut made = self.build_ready(built, progress)?;
        made.simulation.watch_flow(number);
        let (result, trace) =
            made.simulation.run_traced(&mut |p| progress(p.into())).map_err(|s| map_stop(file, &made.names, s))?;
        let Some(answer) = trace.why else {
            let problem = format!("\"{}\" had not begun when the run ended", made.names.flow(number as usize));
            return Err(why_error(file, problem, "expected a flow that begins"));
        };
        Ok(to_json(&names, &answer, &follows, &result).to_string())
    }

    /// Simulates twice: for the path, then for its messages.
    fn why_job(
        &self,
        built: Built,
        number: u32,
        iteration: Option<u32>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<String, RunError> {
        let file = self.scenario().document.file();
        let spec = built.spec.jobs[number as usize].clone();
        let end = built.spec.end;
        if iteration.is_some_and(|iteration| iteration == 0 || iteration > spec.iterations) {
            let (requested, last) = (iteration.unwrap_or(0), spec.iterations);
            let problem = format!("\"{}\" has no iteration {requested}", spec.name);
            return Err(why_error(file, problem, &format!("expected one of 1 to {last}")));
        }
        let names = TraceNames::from_built(&built);
        let mut made = self.build_ready(built, progress)?;
        made.simulation.watch_job(number, iteration.map(|iteration| iteration - 1));
        let path =
            made.simulation.run_for_path(&mut |p| progress(p.into())).map_err(|s| map_stop(file, &made.names, s))?;
        let path: JobPath = path.ok_or_else(|| not_over(file, &spec, iteration, end))?;
        let wanted = job_path::messages_of(&path);
        let explained = if wanted.is_empty() {
            Vec::new()
        } else {
            let built = {
                let mut building = now_and_then(|| progress(nothing_yet()));
                self.take_built(&mut building)?
            };
            let mut made = self.build_ready(built, progress)?;
            made.simulation.why_messages(&wanted);
            made.simulation
                .run_traced(&mut |p| progress(p.into()))
                .map_err(|s| map_stop(file, &made.names, s))?
                .1
                .messages
        };
        Ok(job_path::to_json(&names, &spec, &path, &explained).to_string())
    }

    fn build_ready(&self, built: Built, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Ready, RunError> {
        let mut building = now_and_then(|| progress(nothing_yet()));
        // A journal is that of one part.
        let settings = Settings { cores: Cores::ONE, ..Settings::default() };
        ready(self.scenario(), built, &settings, &mut building)
    }
}

fn why_error(file: &str, problem: String, expected: &str) -> RunError {
    Diagnostic { key: "why".into(), ..Diagnostic::of_file(file, problem, expected) }.into()
}

fn not_over(file: &str, spec: &JobSpec, iteration: Option<u32>, end: Time) -> RunError {
    let name = &spec.name;
    let problem = match iteration {
        _ if spec.start > end => format!("\"{name}\" had not begun when the run ended"),
        Some(iteration) => format!("iteration {iteration} of \"{name}\" was not over when the run ended"),
        None => format!("no iteration of \"{name}\" was over when the run ended"),
    };
    why_error(file, problem, "expected an iteration that is over at all ranks, or a longer run.duration")
}

/// Looks up a flow or job by name; refuses those that cannot be followed.
fn find_query(file: &str, built: &Built, name: &str) -> Result<Query, RunError> {
    let (flows, jobs) = (&built.flow_names, &built.spec.jobs);
    let flow = flows.iter().position(|flow| flow == name);
    let job = jobs.iter().position(|job| job.name == name);
    if let (Some(number), Some(_)) = (flow, job) {
        let problem = format!("\"{name}\" is the name of a flow and of a job");
        return Err(why_error(
            file,
            problem,
            &format!("expected another name for one of them, or {number} for the flow"),
        ));
    }
    if let Some(job) = job {
        return Ok(Query::Job(job as u32));
    }
    let numbered = || name.parse().ok().filter(|number| *number < flows.len());
    let Some(number) = flow.or_else(numbered) else {
        let expected = match (flows.len(), jobs.first()) {
            (0, None) => "it has no flows".to_string(),
            (0, Some(job)) => format!("expected a job's name, such as \"{}\"", job.name),
            (count, None) => format!("expected a flow's name, such as \"{}\", or a number below {count}", flows[0]),
            (count, Some(job)) => format!(
                "expected a flow's name, such as \"{}\", a number below {count}, or a job's name, such as \"{}\"",
                flows[0], job.name
            ),
        };
        let all = flows.iter().take(100_000).map(String::as_str).chain(jobs.iter().map(|job| job.name.as_str()));
        let suggestion = nearest(name, all);
        let what = if jobs.is_empty() { "no flow" } else { "no flow and no job" };
        let problem = format!("\"{name}\" is {what} of this run");
        let diagnostic = Diagnostic { key: "why".into(), suggestion, ..Diagnostic::of_file(file, problem, expected) };
        return Err(diagnostic.into());
    };
    if built.spec.transport.kind == TransportKind::Tcp && built.spec.transport.tcp.persistent {
        let problem = "flows that share a connection are not followed".to_string();
        return Err(why_error(file, problem, "expected transport.connections = \"per-flow\""));
    }
    Ok(Query::Flow(number as u32))
}

fn to_json(names: &TraceNames, answer: &Answer, follows: &[FollowSpec], result: &RunResult) -> Json {
    let port = |number: u32| {
        let (node, neighbour) = names.port(number);
        format!("{node}:{neighbour}")
    };
    let flow = |number: u32| names.flow(number).name.into_owned();
    let ps = |time: Time| time.as_ps();
    let totals = answer.parts();
    let blames: Vec<&Blame> = totals.keys().collect();
    let parts: Vec<Json> = totals
        .iter()
        .map(|(blame, time)| {
            json!({
                "cause": blame.why.name(),
                "limit": blame.limit.name(),
                "port": blame.port.map(port),
                "rival": blame.rival.map(flow),
                "own": blame.rival == Some(answer.flow),
                "root": blame.root.map(port),
                "entropy": blame.entropy,
                "time_ps": time.as_ps(),
            })
        })
        .collect();
    let place = |blame: &Blame| blames.binary_search(&blame).unwrap_or(0);
    let segments = answer.segments.iter().map(|segment| (segment.from, segment.until, place(&segment.blame)));
    // Of the flows that it waited for the one that was over last.
    let over = |f: &FollowSpec| result.flows.get(f.after as usize).and_then(|row| end_of(row, f.delay, answer.start));
    let after = follows.iter().find_map(|f| over(f).map(|at| (f, at)));
    json!({
        "flow": flow(answer.flow),
        "number": answer.flow,
        "start_ps": ps(answer.start),
        "end_ps": ps(answer.end),
        "finished": answer.finished,
        "after": after.map(|(f, at)| json!({"flow": flow(f.after), "end_ps": ps(at), "delay_ps": f.delay.as_ps()})),
        "last": answer.last.map(|last| sending_json(&last, &port)),
        "repairs": answer.repairs.iter().map(|repair| repair_json(repair, &port)).collect::<Vec<Json>>(),
        "parts": parts,
        "slices": slices(answer.start, answer.end, segments),
    })
}

/// A departure of data; `port` names ports.
fn sending_json(sending: &Sending, port: &impl Fn(u32) -> String) -> Json {
    json!({
        "at_ps": sending.at.as_ps(),
        "port": port(sending.port),
        "sequence": sending.sequence,
        "entropy": sending.entropy,
    })
}

fn repair_json(repair: &Repair, port: &impl Fn(u32) -> String) -> Json {
    json!({
        "before": sending_json(&repair.before, port),
        "again": sending_json(&repair.again, port),
        "lost": repair.lost.map(port),
        "state": repair.state,
    })
}

/// When a flow was over whose end and a delay are the `start` of another one: where its data arrived, or at its source.
fn end_of(row: &FlowRow, delay: Delta, start: Time) -> Option<Time> {
    [row.received, row.finish].into_iter().flatten().find(|at| at.saturating_add(delay) == start)
}
