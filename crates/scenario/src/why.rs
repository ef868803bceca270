//! Where the time of a flow went ([`farloop_trace::why`]), with the names of a scenario.

use crate::build::Built;
use crate::diagnostic::{Diagnostic, nearest};
use crate::error::RunError;
use crate::run::{Prepared, Settings, nothing_yet, now_and_then, ready, stopped_at};
use crate::trace::TraceNames;
use farloop_net::result::FlowRow;
use farloop_net::spec::{FollowSpec, TransportKind};
use farloop_net::{Progress, RunResult};
use farloop_trace::Names;
use farloop_trace::why::{Answer, Blame};
use farloop_units::{Delta, Time};
use serde_json::{Value as Json, json};

/// A flow's time is also given by so many equal slices of it, for pictures.
const SLICES: u64 = 100;

impl Prepared {
    /// Simulates until `flow`, a name or a number, is over, and says as JSON where its time went: parts that add up to it exactly, in
    /// picoseconds; `slices` has the same by hundredths of the time, as pairs of a part's place and picoseconds.
    ///
    /// `progress` is as in [`Prepared::run`]. Refuses flows that are not there, and endpoints that are not followed.
    pub fn why(&self, flow: &str, progress: &mut dyn FnMut(Progress) -> bool) -> Result<String, RunError> {
        let file = self.scenario().document.file();
        let go_on = |p: &mut dyn FnMut(Progress) -> bool| p(nothing_yet());
        let (built, number) = {
            let mut building = now_and_then(|| go_on(progress));
            let built = self.take_built(&mut building)?;
            let number = number_of(file, &built, flow)?;
            (built, number)
        };
        let follows: Vec<FollowSpec> = built.spec.follows.iter().filter(|f| f.flow == number).copied().collect();
        let names = TraceNames::of(&built);
        let mut made = {
            let mut building = now_and_then(|| go_on(progress));
            ready(self.scenario(), built, &Settings::default(), &mut building)?
        };
        made.simulation.why(number);
        let (result, trace) = made.simulation.run_traced(progress).map_err(|s| stopped_at(file, &made.names, s))?;
        let Some(answer) = trace.why else {
            let problem = format!("\"{}\" had not begun when the run ended", made.names.flow(number as usize));
            return Err(refused(file, problem, "expected a flow that begins"));
        };
        Ok(said(&names, &answer, &follows, &result).to_string())
    }
}

fn refused(file: &str, problem: String, expected: &str) -> RunError {
    Diagnostic { key: "why".into(), ..Diagnostic::of_file(file, problem, expected) }.into()
}

/// Which flow that is, if it can be followed.
fn number_of(file: &str, built: &Built, flow: &str) -> Result<u32, RunError> {
    let names = &built.flow_names;
    let named = names.iter().position(|name| name == flow);
    let numbered = || flow.parse().ok().filter(|number| *number < names.len());
    let Some(number) = named.or_else(numbered) else {
        let expected = match names.len() {
            0 => "it has no flows".to_string(),
            count => format!("expected a flow's name, such as \"{}\", or a number below {count}", names[0]),
        };
        let suggestion = nearest(flow, names.iter().take(100_000).map(String::as_str));
        let problem = format!("\"{flow}\" is no flow of this run");
        let diagnostic = Diagnostic { key: "why".into(), suggestion, ..Diagnostic::of_file(file, problem, expected) };
        return Err(diagnostic.into());
    };
    let kind = match built.spec.transport.kind {
        TransportKind::Rdma => return Ok(number as u32),
        TransportKind::Tcp => "tcp",
        TransportKind::Multipath => "multipath",
    };
    let problem = format!("flows of transport.kind = \"{kind}\" are not followed yet");
    Err(refused(file, problem, "expected a run with transport.kind = \"rdma\""))
}

fn said(names: &TraceNames, answer: &Answer, follows: &[FollowSpec], result: &RunResult) -> Json {
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
                "time_ps": time.as_ps(),
            })
        })
        .collect();
    // Of the flows that it waited for the one that was over last.
    let over = |f: &FollowSpec| result.flows.get(f.after as usize).and_then(|row| ended(row, f.delay, answer.start));
    let after = follows.iter().find_map(|f| over(f).map(|at| (f, at)));
    json!({
        "flow": flow(answer.flow),
        "number": answer.flow,
        "start_ps": ps(answer.start),
        "end_ps": ps(answer.end),
        "finished": answer.finished,
        "after": after.map(|(f, at)| json!({"flow": flow(f.after), "end_ps": ps(at), "delay_ps": f.delay.as_ps()})),
        "parts": parts,
        "slices": slices(answer, &blames),
    })
}

/// When a flow was over whose end and a delay are the `start` of another one: where its data arrived, or at its source.
fn ended(row: &FlowRow, delay: Delta, start: Time) -> Option<Time> {
    [row.received, row.finish].into_iter().flatten().find(|at| at.saturating_add(delay) == start)
}

/// The time by equal slices of it, and in each by the place of what it is blamed on.
fn slices(answer: &Answer, blames: &[&Blame]) -> Vec<Vec<(usize, u64)>> {
    let (start, total) = (answer.start.as_ps(), (answer.end - answer.start).as_ps());
    let edge = |i: u64| start + (u128::from(total) * u128::from(i) / u128::from(SLICES)) as u64;
    let mut slices = vec![Vec::new(); SLICES as usize];
    let mut i = 0;
    for segment in &answer.segments {
        let part = blames.binary_search(&&segment.blame).unwrap_or(0);
        let (mut at, until) = (segment.from.as_ps(), segment.until.as_ps());
        while at < until {
            while edge(i + 1) <= at && i + 1 < SLICES {
                i += 1;
            }
            let end = until.min(edge(i + 1));
            let slice: &mut Vec<(usize, u64)> = &mut slices[i as usize];
            match slice.iter_mut().find(|(known, _)| *known == part) {
                Some((_, time)) => *time += end - at,
                None => slice.push((part, end - at)),
            }
            at = end;
        }
    }
    slices
}
