//! `farloop._native`: the simulator for Python. Glue only: strings in, JSON and raw columns out; and the other way where algorithms are classes of Python.

mod algorithm;
mod errors;
mod parameters;
mod signals;

use algorithm::{Failure, catalog, of_classes};
use errors::{HandlerError, raised_by_class};
use farloop_cc::AlgorithmInfo;
#[cfg(target_os = "linux")]
use farloop_delay::queue::Pace;
#[cfg(target_os = "linux")]
use farloop_delay::wire::Line;
use farloop_scenario::bench::{BENCHES, Measurement, bench};
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{
    Cause, CircuitFacts, Cores, Diagnostic, EventFact, Outcome, RunError, Settings, TraceSpec, Traced,
};
use farloop_units::{Kind, ParamSpec, Value};
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;

pyo3::create_exception!(
    _native,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; the text says where and what to do."
);
pyo3::create_exception!(_native, Cancelled, PyBaseException, "The progress callback asked to stop.");

/// Version of farloop.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// How the simulator was compiled, as JSON: compiler, target, profile.
#[pyfunction]
fn build_facts() -> String {
    json!({
        "profile": env!("FARLOOP_BUILD_PROFILE"),
        "opt_level": env!("FARLOOP_BUILD_OPT_LEVEL"),
        "lto": env!("FARLOOP_BUILD_LTO"),
        "rustc": env!("FARLOOP_BUILD_RUSTC"),
        "target": env!("FARLOOP_BUILD_TARGET"),
        "cpu": env!("FARLOOP_BUILD_CPU"),
        "features": env!("FARLOOP_BUILD_FEATURES"),
    })
    .to_string()
}

/// All algorithms and presets, as JSON; those of `classes` last.
#[pyfunction]
#[pyo3(signature = (classes=Vec::new()))]
fn algorithms(py: Python<'_>, classes: Vec<Py<PyAny>>) -> PyResult<String> {
    let made = catalog(py, &classes, &Failure::default())?;
    Ok(Json::from(made.infos().map(told).collect::<Vec<_>>()).to_string())
}

/// Names of the classes, which must make algorithms.
#[pyfunction]
fn class_names(py: Python<'_>, classes: Vec<Py<PyAny>>) -> PyResult<Vec<String>> {
    let made = catalog(py, &classes, &Failure::default())?;
    Ok(of_classes(&made).map(|info| info.name.clone()).collect())
}

/// Feeds random sequences of signals to objects of a class; its first error is raised.
#[pyfunction]
fn torture(py: Python<'_>, described: Py<PyAny>, sequences: u64) -> PyResult<()> {
    algorithm::torture(py, &described, sequences)
}

/// Window in bytes and rate in bit/s of an object of a class after each of so many signals.
#[pyfunction]
fn recorded(py: Python<'_>, described: Py<PyAny>, count: usize) -> PyResult<Vec<(u64, u64)>> {
    algorithm::recorded(py, &described, count)
}

fn told(info: &AlgorithmInfo) -> Json {
    json!({
        "name": info.name,
        "preset_of": info.preset_of,
        "summary": info.summary,
        "source": info.source,
        "needs": {
            "ecn": info.needs.ecn,
            "int": info.needs.int,
            "header_bytes": info.needs.header_bytes,
            "port_agent": info.needs.port_agent,
            "border_agent": info.needs.border_agent,
            "symmetric": info.needs.symmetric,
            "accurate_ecn": info.needs.accurate_ecn,
            "delivery_rate": info.needs.delivery_rate,
            "even_pacing": info.needs.even_pacing,
        },
        "params": info.params.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn parameter(spec: &ParamSpec) -> Json {
    let (kind, choices) = match &spec.kind {
        Kind::Bool => ("bool", None),
        Kind::Integer => ("integer", None),
        Kind::Float => ("float", None),
        Kind::Time => ("time", None),
        Kind::Bytes => ("bytes", None),
        Kind::Rate => ("rate", None),
        Kind::Choice(words) => ("choice", Some(words.iter().collect::<Vec<_>>())),
        _ => ("text", None),
    };
    let default = spec.default.as_ref().map(|v| match v {
        Value::Text(t) => t.clone(),
        other => other.to_string(),
    });
    json!({
        "name": spec.name, "doc": spec.doc, "kind": kind, "choices": choices, "optional": spec.optional,
        "default": default, "range": spec.range,
    })
}

/// The flow-size distributions that come with farloop, as JSON.
#[pyfunction]
fn workloads() -> String {
    let all: Vec<Json> = farloop_scenario::workload_list()
        .into_iter()
        .map(|(info, mean)| json!({"name": info.name, "summary": info.summary, "source": info.source, "mean_bytes": mean}))
        .collect();
    Json::from(all).to_string()
}

/// JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    farloop_scenario::schema().to_string()
}

/// A scenario with all its defaults, as JSON; checks all that `run` checks before it simulates. An interrupt ends it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, classes=Vec::new()))]
fn resolve(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<Py<PyAny>>,
) -> PyResult<String> {
    let known = catalog(py, &classes, &Failure::default())?;
    interruptible(py, |go_on| farloop_scenario::resolve(&text, &file, &overrides, &known, go_on))
}

/// Checks all that `run` refuses, also what only the built network tells. An interrupt ends it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, classes=Vec::new()))]
fn check(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<Py<PyAny>>,
) -> PyResult<()> {
    let known = catalog(py, &classes, &Failure::default())?;
    interruptible(py, |go_on| farloop_scenario::check(&text, &file, &overrides, &known, go_on))
}

/// As `resolve`, and what a run takes of memory, the largest share first: (what, bytes, the keys that decide about it).
#[pyfunction]
#[pyo3(signature = (text, file, overrides, classes=Vec::new()))]
fn resolve_and_estimate(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<Py<PyAny>>,
) -> PyResult<(String, Vec<Share>)> {
    let known = catalog(py, &classes, &Failure::default())?;
    let (resolved, shares) =
        interruptible(py, |go_on| farloop_scenario::resolve_and_estimate(&text, &file, &overrides, &known, go_on))?;
    Ok((resolved, shares.iter().map(|share| (share.what, share.bytes, share.keys)).collect()))
}

/// What of a run takes memory, how many bytes, and the keys that decide about it.
type Share = (&'static str, u64, &'static str);

/// What a scenario comes to, as JSON; checks as `resolve`. An interrupt ends it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, classes=Vec::new()))]
fn explain(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<Py<PyAny>>,
) -> PyResult<String> {
    let known = catalog(py, &classes, &Failure::default())?;
    interruptible(py, |go_on| farloop_scenario::explain(&text, &file, &overrides, &known, go_on))
}

/// What a testbed builds of a scenario, as JSON; refuses what it cannot build. An interrupt ends it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, classes=Vec::new()))]
fn testbed(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<Py<PyAny>>,
) -> PyResult<String> {
    let known = catalog(py, &classes, &Failure::default())?;
    interruptible(py, |go_on| farloop_scenario::testbed(&text, &file, &overrides, &known, go_on))
}

/// The tables of flows and ports of a scenario that has not run: what follows from network and traffic alone. An interrupt ends it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, classes=Vec::new()))]
fn forecast<'py>(
    py: Python<'py>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let known = catalog(py, &classes, &Failure::default())?;
    let found = interruptible(py, |go_on| farloop_scenario::forecast(&text, &file, &overrides, &known, go_on))?;
    let tables = PyDict::new(py);
    tables.set_item("flows", table(py, &found.flows)?)?;
    tables.set_item("ports", table(py, &found.ports)?)?;
    Ok(tables)
}

/// Bytes of memory that this process can still have: what the machine, its control group and its limits leave; `None` where nothing says so.
#[pyfunction]
fn available_memory() -> Option<u64> {
    farloop_scenario::available_memory()
}

/// Bytes of memory that there are for this process, free or not: what the machine, its control group and its limits allow; `None` where nothing says so.
#[pyfunction]
fn total_memory() -> Option<u64> {
    farloop_scenario::total_memory()
}

/// Calls `f` without the interpreter's lock; an interrupt ends it.
fn interruptible<T: Send>(
    py: Python<'_>,
    f: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let outcome =
        py.detach(|| f(&mut || Python::attach(|py| py.check_signals().map_err(|error| raised = Some(error)).is_ok())));
    outcome.map_err(|error| failure(raised, error))
}

/// What Python raised, else what the simulator refused.
fn failure(raised: Option<PyErr>, error: RunError) -> PyErr {
    match (raised, error) {
        (Some(raised), _) => raised,
        (None, RunError::Scenario(diagnostic)) => refusal(&diagnostic),
        (None, RunError::Trace(error)) => ScenarioError::new_err(error.to_string()),
        (None, RunError::Cancelled) => Cancelled::new_err("cancelled"),
    }
}

/// A scenario's error; its attribute `problem` says what is wrong, without the place and without what would be accepted.
fn refusal(diagnostic: &Diagnostic) -> PyErr {
    let error = ScenarioError::new_err(diagnostic.to_string());
    let problem = Python::attach(|py| error.value(py).setattr("problem", &diagnostic.problem));
    problem.err().unwrap_or(error)
}

/// The outcome of a run.
#[pyclass(frozen)]
struct RunOutput {
    outcome: Outcome,
    trace: Option<Arc<Traced>>,
    wall_s: f64,
}

/// What a run's tracer has kept.
#[pyclass(frozen)]
struct TraceOutput {
    traced: Arc<Traced>,
}

#[pymethods]
impl TraceOutput {
    /// How many records it has.
    #[getter]
    fn records(&self) -> usize {
        self.traced.trace().records.len()
    }

    /// How many older ones did not fit the limit.
    #[getter]
    fn left_out(&self) -> u64 {
        self.traced.trace().left_out
    }

    /// Writes a file for Perfetto.
    fn write_perfetto(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.traced.write_perfetto(&path))?)
    }

    /// Writes a file for Wireshark.
    fn write_pcapng(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.traced.write_pcapng(&path))?)
    }
}

#[pymethods]
impl RunOutput {
    /// Tables by name; each column is (type, little-endian bytes, words of a dictionary column or None).
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        tables.set_item("flows", table(py, &self.outcome.tables.flows)?)?;
        tables.set_item("series", table(py, &self.outcome.tables.series)?)?;
        tables.set_item("ports", table(py, &self.outcome.tables.ports)?)?;
        tables.set_item("pauses", table(py, &self.outcome.tables.pauses)?)?;
        tables.set_item("queues", table(py, &self.outcome.tables.queues)?)?;
        tables.set_item("circuits", table(py, &self.outcome.tables.circuits)?)?;
        Ok(tables)
    }

    /// The trace, where one was asked for.
    #[getter]
    fn trace(&self) -> Option<TraceOutput> {
        self.trace.clone().map(|traced| TraceOutput { traced })
    }

    /// Totals, invariants and deadlocks, which the scenario decides, and the facts of this run: wall time, memory and parts; as JSON.
    #[getter]
    fn info(&self) -> String {
        let t = &self.outcome.totals;
        let invariants: Vec<Json> =
            (self.outcome.invariants.iter()).map(|i| json!({"name": i.name, "ok": i.ok, "detail": i.detail})).collect();
        json!({
            "version": version(),
            "wall_s": self.wall_s,
            "bytes_per_packet": t.bytes_per_packet(),
            "parts": self.outcome.parts,
            "totals": {
                "packet_hops": t.packet_hops, "events": t.events, "end_s": t.end.as_secs_f64(), "injected": t.injected,
                "delivered": t.delivered, "dropped_buffer": t.drops[Cause::Buffer], "dropped_limit": t.drops[Cause::QueueLimit],
                "dropped_agent": t.drops[Cause::Agent], "dropped_blocked": t.drops[Cause::Blocked], "dropped_expired": t.drops[Cause::Expired],
                "dropped_down": t.drops[Cause::LinkDown], "dropped_unrouted": t.drops[Cause::NoRoute],
                "lost": t.drops[Cause::Loss], "lost_circuit": t.drops[Cause::Circuit], "lost_down": t.drops[Cause::Cut], "corrupted": t.drops[Cause::Corruption], "in_flight": t.in_flight, "max_in_flight": t.max_in_flight,
                "elephants_labelled": t.elephants_labelled, "elephants_idle": t.elephants_idle,
                "elephants_finished": t.elephants_finished, "rescued": t.rescued, "finished": t.finished, "gave_up": t.gave_up,
            },
            "invariants": invariants,
            "deadlocks": self.outcome.deadlocks,
            "circuits": self.outcome.circuits.as_ref().map(CircuitFacts::json),
            "events": self.outcome.events.iter().map(EventFact::json).collect::<Vec<_>>(),
            "notes": self.outcome.notes,
            "starts": self.outcome.starts,
        })
        .to_string()
    }
}

fn table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table {
        let (kind, bytes, words) = match column {
            Column::I64(v) => ("i64", raw(py, v, i64::to_le_bytes)?, None),
            // No number of a table is that small.
            Column::OptionalI64(v) => ("i64?", raw(py, v, |n| n.unwrap_or(i64::MIN).to_le_bytes())?, None),
            Column::U32(v) => ("u32", raw(py, v, u32::to_le_bytes)?, None),
            Column::F64(v) => ("f64", raw(py, v, f64::to_le_bytes)?, None),
            Column::Dictionary(v, words) => ("dict", raw(py, v, u32::to_le_bytes)?, Some(words.clone())),
        };
        let value: Bound<'py, PyTuple> = (kind, bytes, words).into_pyobject(py)?;
        columns.set_item(*name, value)?;
    }
    Ok(columns)
}

fn raw<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |out| {
        for (slot, value) in out.chunks_exact_mut(N).zip(values) {
            slot.copy_from_slice(&bytes(*value));
        }
        Ok(())
    })
}

/// Calls `f` without the interpreter's lock, with a progress function that calls `progress` with it.
fn with_progress<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    f: impl FnOnce(&mut dyn FnMut(f64, f64, u64) -> bool) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let outcome = py.detach(|| {
        let mut call = |now: f64, end: f64, hops: u64| {
            let Some(callback) = &progress else { return true };
            Python::attach(|py| match callback.call1(py, (now, end, hops)).and_then(|r| r.is_truthy(py)) {
                Ok(go_on) => go_on,
                Err(error) => {
                    raised = Some(error);
                    false
                }
            })
        };
        f(&mut call)
    });
    outcome.map_err(|error| failure(raised, error))
}

/// `threads` threads; where the number is the most of an automatic choice, as many of them as pay.
fn cores(threads: usize, auto: bool) -> Cores {
    if auto { Cores::auto(threads) } else { Cores::up_to(threads) }
}

/// Runs a scenario on `threads` threads, or with `auto` on as many of them as pay, with a trace where `trace` has items that say of what.
/// `progress(simulated_s, end_s, packet_hops)` returns False to cancel. An error of one of `classes` ends the run, and is raised.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, progress=None, threads=1, trace=Vec::new(), classes=Vec::new(), auto=false))]
#[allow(clippy::too_many_arguments)] // those of Python, by name
fn run(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
    threads: usize,
    trace: Vec<String>,
    classes: Vec<Py<PyAny>>,
    auto: bool,
) -> PyResult<RunOutput> {
    let start = std::time::Instant::now();
    let failure = Failure::default();
    let known = catalog(py, &classes, &failure)?;
    let outcome = with_progress(py, progress, |call| {
        let spec = if trace.is_empty() { None } else { Some(TraceSpec::parse(&trace)?) };
        let settings = Settings { cores: cores(threads, auto), trace: spec };
        farloop_scenario::run_with_algorithms(&text, &file, &overrides, &known, &settings, &mut |p| {
            !failure.happened() && call(p.now.as_secs_f64(), p.end.as_secs_f64(), p.packet_hops)
        })
    });
    if let Some(error) = failure.take() {
        return Err(raised_by_class(py, error));
    }
    let mut outcome = outcome?;
    let trace = outcome.trace.take().map(Arc::new);
    Ok(RunOutput { outcome, trace, wall_s: start.elapsed().as_secs_f64() })
}

/// Names of the benches.
#[pyfunction]
fn bench_cases() -> Vec<&'static str> {
    BENCHES.iter().map(|b| b.name).collect()
}

/// Runs one bench once on `threads` threads, or with `auto` on as many of them as pay, as JSON.
#[pyfunction]
#[pyo3(name = "bench", signature = (case, progress=None, threads=1, auto=false))]
fn time_bench(py: Python<'_>, case: &str, progress: Option<Py<PyAny>>, threads: usize, auto: bool) -> PyResult<String> {
    let Some(found) = BENCHES.iter().find(|b| b.name.eq_ignore_ascii_case(case)) else {
        let names = bench_cases().join(", ");
        return Err(ScenarioError::new_err(format!("there is no bench \"{case}\"; benches: {names}")));
    };
    let m: Measurement = with_progress(py, progress, |call| {
        bench(found, cores(threads, auto), &mut |p| call(p.now.as_secs_f64(), p.end.as_secs_f64(), p.packet_hops))
    })?;
    let row = json!({
        "case": found.name,
        "packet_hops": m.packet_hops,
        "parts": m.parts,
        "packet_hops_per_s": (m.packet_hops as f64 / m.wall_s).round(),
        "ns_per_hop": m.wall_s * 1e9 / m.packet_hops as f64,
        "bytes_per_packet_in_flight": m.bytes_per_packet_in_flight,
        "peak_rss_bytes": m.peak_rss_bytes,
    });
    Ok(json!({"cases": [row]}).to_string())
}

/// Frames that left, ns that they were late in sum and at most, stalls, frames without room: of one direction of a delay line.
type Lateness = (u64, u64, u64, u64, u64);

/// Calls `ready`, and then delays frames between interfaces of this network namespace, each line's two by names, by ns, and no faster than a rate in bit/s allows with so many bytes of framing, until standard input ends; the lateness of both directions of each line.
#[pyfunction]
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
fn delay(
    py: Python<'_>,
    lines: Vec<(String, String, u64, u64, u64)>,
    ready: Py<PyAny>,
) -> PyResult<Vec<(Lateness, Lateness)>> {
    #[cfg(target_os = "linux")]
    {
        let line = |(a, b, delay, rate, framing)| Line { ends: [a, b], delay, pace: Pace { rate, framing } };
        let lines: Vec<Line> = lines.into_iter().map(line).collect();
        let mut raised = None;
        let mut call = || Python::attach(|py| raised = ready.call0(py).err());
        let found = py.detach(|| farloop_delay::wire::run(&lines, &mut call, &mut std::io::stdin()));
        if let Some(error) = raised {
            return Err(error);
        }
        let found = found?;
        let told = |l: farloop_delay::queue::Lateness| (l.frames, l.sum, l.max, l.stalls, l.dropped);
        Ok(found.into_iter().map(|[a, b]| (told(a), told(b))).collect())
    }
    #[cfg(not(target_os = "linux"))]
    Err(pyo3::exceptions::PyOSError::new_err("delay lines need Linux"))
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("HandlerError", py.get_type::<HandlerError>())?;
    module.add_class::<RunOutput>()?;
    module.add_class::<TraceOutput>()?;
    module.add_class::<signals::PyContext>()?;
    module.add_class::<signals::PyFlow>()?;
    module.add_class::<signals::PyAck>()?;
    module.add_class::<signals::PyHop>()?;
    module.add_class::<signals::PySent>()?;
    module.add_class::<signals::PyLoss>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build_facts, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(class_names, module)?)?;
    module.add_function(wrap_pyfunction!(torture, module)?)?;
    module.add_function(wrap_pyfunction!(recorded, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(forecast, module)?)?;
    module.add_function(wrap_pyfunction!(available_memory, module)?)?;
    module.add_function(wrap_pyfunction!(total_memory, module)?)?;
    module.add_function(wrap_pyfunction!(resolve_and_estimate, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(testbed, module)?)?;
    module.add_function(wrap_pyfunction!(delay, module)?)?;
    module.add_function(wrap_pyfunction!(bench_cases, module)?)?;
    module.add_function(wrap_pyfunction!(time_bench, module)?)?;
    Ok(())
}
