//! farloop for pages: requests as JSON in, answers as JSON with columns of numbers out.
//!
//! [`answer`] handles a page's request; JavaScript calls it through [`module`] in a WebAssembly module (`make web`). This
//! crate decides nothing about the simulation: a request names a scenario's text and `--set` overrides, as the command line
//! does.
//!
//! | `ask` | besides | answer |
//! | --- | --- | --- |
//! | `about` | | `version`, `schema` (JSON Schema of scenarios), `outputs` (columns, metrics and totals) |
//! | `edit` | `text`, `set` | `text`: the scenario with these keys set, comments and order kept |
//! | `look` | `text`, `file`, `set` | `resolved`, `explain`, `memory`, and `tables` (`flows`, `ports`) without a run |
//! | `run` | `text`, `file`, `set`, `trace` | `tables`, `totals`, `invariants`, `notes`, ...; with `trace` also `trace` |
//!
//! A column is `{"kind", "buffer", "words"}` by its name: `kind` as in [`farloop_scenario::columns`] (`i64?` has the smallest number where
//! there is none), `buffer` the number of its values in [`Answer::buffers`]. An error is `{"error": {"message", "line",
//! "key", ...}}`.

pub mod module;

mod columns;
mod edit;
mod replay;

pub use columns::Buffer;

use columns::Buffers;
use farloop_cc::Catalog;
use farloop_scenario::{CircuitFacts, Diagnostic, EventFact, Outcome, Prepared, RunError, Settings, TraceSpec};
use serde_json::{Value as Json, json};

/// The answer to a page.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answer {
    /// The answer, as JSON.
    pub json: String,
    /// Values of columns.
    pub buffers: Vec<Buffer>,
}

/// Simulated seconds so far, simulated seconds in all, packet-hops so far (with a gear of rates looks at flows).
pub type Progress = (f64, f64, u64);

/// Answers `request`. `progress` is called now and then, and returns `false` to stop.
pub fn answer(request: &str, progress: &mut dyn FnMut(Progress) -> bool) -> Answer {
    let mut buffers = Buffers::default();
    let json = match Request::read(request).and_then(|r| r.answer(&mut buffers, progress)) {
        Ok(json) => json,
        Err(error) => json!({ "error": error }),
    };
    Answer { json: json.to_string(), buffers: buffers.0 }
}

struct Request {
    ask: String,
    text: String,
    file: String,
    set: Vec<(String, String)>,
    trace: Vec<String>,
}

impl Request {
    fn read(request: &str) -> Result<Request, Json> {
        let json: Json = serde_json::from_str(request).map_err(|e| without_place(&format!("no request: {e}")))?;
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_string();
        let set = json["set"].as_object().into_iter().flatten();
        let value = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let trace = json["trace"].as_array().into_iter().flatten().filter_map(Json::as_str);
        Ok(Request {
            ask: text("ask"),
            text: text("text"),
            file: text("file"),
            set: set.map(|(key, setting)| (key.clone(), value(setting))).collect(),
            trace: trace.map(str::to_string).collect(),
        })
    }

    fn answer(&self, buffers: &mut Buffers, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Json, Json> {
        match &*self.ask {
            "about" => Ok(json!({
                "version": env!("CARGO_PKG_VERSION"),
                "schema": farloop_scenario::schema(),
                "outputs": farloop_scenario::columns::outputs(),
            })),
            "edit" => Ok(json!({ "text": edit::edit_text(&self.text, &self.set).map_err(|e| without_place(&e))? })),
            "look" => self.look(buffers, &mut || progress((0.0, 0.0, 0))).map_err(|e| refusal_json(&e)),
            "run" => self.run(buffers, progress).map_err(|e| refusal_json(&e)),
            other => Err(without_place(&format!("unknown request \"{other}\"; accepted: about, edit, look, run"))),
        }
    }

    fn prepare_run(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Prepared, RunError> {
        Prepared::parse(&self.text, &self.file, &self.set, &Catalog::builtin(), go_on)
    }

    fn look(&self, buffers: &mut Buffers, go_on: &mut dyn FnMut() -> bool) -> Result<Json, RunError> {
        let prepared = self.prepare_run(go_on)?;
        // The last one takes the network, so that nothing is built twice.
        let resolved = prepared.resolved(go_on)?;
        let explained = prepared.explain(go_on)?;
        let memory: Vec<Json> = (prepared.memory(go_on)?.iter())
            .map(|share| json!({ "what": share.what, "bytes": share.bytes, "keys": share.keys }))
            .collect();
        let (tables, ..) = prepared.forecast(go_on)?;
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap_or_default();
        Ok(json!({
            "resolved": json(&resolved),
            "explain": json(&explained),
            "memory": memory,
            "tables": { "flows": buffers.table(tables.flows), "ports": buffers.table(tables.ports) },
        }))
    }

    fn run(&self, buffers: &mut Buffers, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Json, RunError> {
        let trace = if self.trace.is_empty() { None } else { Some(TraceSpec::parse(&self.trace)?) };
        let mut call = |p: (f64, f64, u64)| progress(p);
        let prepared = self.prepare_run(&mut || call((0.0, 0.0, 0)))?;
        let settings = Settings { trace, ..Settings::default() };
        let outcome =
            prepared.run(&settings, &mut |p| progress((p.now.as_secs_f64(), p.end.as_secs_f64(), p.steps)))?;
        let invariants: Vec<Json> =
            outcome.invariants.iter().map(|i| json!({ "name": i.name, "ok": i.ok, "detail": i.detail })).collect();
        let totals = outcome.totals_json();
        let Outcome { tables, deadlocks, circuits, events, notes, starts, limits, trace, .. } = outcome;
        Ok(json!({
            "totals": totals,
            "invariants": invariants,
            "deadlocks": deadlocks,
            "circuits": circuits.as_ref().map(CircuitFacts::json),
            "events": events.iter().map(EventFact::json).collect::<Vec<_>>(),
            "notes": notes,
            "starts": starts,
            "limits": limits,
            "tables": buffers.tables(tables),
            "trace": trace.map(|traced| replay::columns(traced.trace(), buffers)),
        }))
    }
}

/// An error that no place in the scenario has.
fn without_place(message: &str) -> Json {
    json!({ "message": message, "line": null, "key": "", "problem": message, "expected": "" })
}

/// A diagnostic for somebody on a page, which can read no file however it is called.
fn on_a_page(d: &Diagnostic) -> Diagnostic {
    let named = d.problem.strip_prefix("the file ").and_then(|rest| rest.split_once(" cannot be read"));
    let Some((file, _)) = named else { return d.clone() };
    Diagnostic {
        problem: format!("names the file {file}, and a page reads no files"),
        expected: "expected its content in the scenario ([[flow]] for flows, [[circuit_slot]] for slots, a built-in distribution \
                   for sizes); or download the TOML to where the file is, and run it in the shell: farloop run scenario.toml"
            .to_string(),
        ..d.clone()
    }
}

fn refusal_json(error: &RunError) -> Json {
    match error {
        RunError::Scenario(d) => {
            let d = on_a_page(d);
            let Diagnostic { file, line, column, key, problem, expected, suggestion } = &d;
            let set = &**file == farloop_scenario::diagnostic::OVERRIDES;
            json!({
                "message": d.to_string(), "line": (!set).then_some(line), "column": column, "key": key,
                "problem": problem, "expected": expected, "suggestion": suggestion,
            })
        }
        RunError::Trace(error) => without_place(&error.to_string()),
        RunError::Cancelled => json!({ "message": "cancelled", "cancelled": true }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_refused_at_its_line_with_what_to_do() {
        let text =
            "[run]\nduration = \"1ms\"\n[[workload]]\nflows = \"of-tonight.csv\"\n[network]\ntopology = \"dumbbell\"\n";
        let request = json!({ "ask": "look", "text": text, "file": "scenario.toml" }).to_string();
        let answer: Json = serde_json::from_str(&answer(&request, &mut |_| true).json).expect("JSON");
        let error = &answer["error"];
        assert_eq!(error["line"], 4, "{error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("scenario.toml:4: workload.1.flows: names the file of-tonight.csv"), "{message}");
        assert!(message.contains("[[flow]]") && message.ends_with("farloop run scenario.toml"), "{message}");
    }
}
