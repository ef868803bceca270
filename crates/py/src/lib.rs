//! `farloop._native`: the simulator for Python. Glue only: strings in, JSON and raw columns out; and the other way where algorithms are
//! classes of Python.

mod algorithm;
mod delay;
mod emulate;
mod errors;
mod goal;
mod job;
mod out_of_memory;
mod output;
mod parameters;
mod reader;
mod scenario;
mod signals;
mod toml;
mod trace;
mod writer;

use algorithm::{Failure, catalog, of_classes};
use errors::HandlerError;
use farloop_cc::agents::AgentInfo;
use farloop_cc::paths::ChooserInfo;
use farloop_cc::{AlgorithmInfo, Shipped};
use farloop_scenario::bench::{BENCHES, Measurement, bench};
use farloop_units::{Kind, ParamSpec, Value};
use output::{RunOutput, TraceOutput};
use pyo3::prelude::*;
use scenario::{Cancelled, PyScenario, ScenarioError, cores, with_progress};
use serde_json::{Value as Json, json};

/// Version of farloop.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Facts about the build of the simulator, as JSON: compiler, target, profile.
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
    Ok(Json::from(made.infos().map(algorithm_json).collect::<Vec<_>>()).to_string())
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
    algorithm::record_signals(py, &described, count)
}

fn algorithm_json(info: &AlgorithmInfo) -> Json {
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
            "multipath": info.needs.multipath,
            "credit": info.needs.credit,
        },
        "shipped": info.shipped.map(|hosts| match hosts {
            Shipped::Linux => "linux",
            Shipped::Cards => "cards",
            Shipped::Program => "program",
        }),
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

/// The choosers of paths for multipath flows, as JSON: name, summary, source, parameters.
#[pyfunction]
fn path_choosers() -> String {
    let described = |info: ChooserInfo| {
        let params: Vec<Json> = info.params.iter().map(parameter).collect();
        json!({"name": info.name, "summary": info.summary, "source": info.source, "params": params})
    };
    Json::from(farloop_cc::paths::choosers().map(described).collect::<Vec<_>>()).to_string()
}

/// The agents that a network can have at its switches, as JSON: name, summary, source, parameters.
#[pyfunction]
fn switch_agents() -> String {
    let described = |info: AgentInfo| {
        let params: Vec<Json> = info.params.iter().map(parameter).collect();
        json!({"name": info.name, "summary": info.summary, "source": info.source, "params": params})
    };
    Json::from(farloop_cc::agents::agents().map(described).collect::<Vec<_>>()).to_string()
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

/// Every column of the tables, metric of the series and total, as JSON.
#[pyfunction]
fn outputs() -> String {
    farloop_scenario::columns::outputs().to_string()
}

/// Bytes of memory that the machine, its control group and its limits still leave to this process; `None` where nothing
/// says so.
#[pyfunction]
fn available_memory() -> Option<u64> {
    farloop_scenario::available_memory()
}

/// Bytes of memory, free or not, that the machine, its control group and its limits allow this process; `None` where
/// nothing says so.
#[pyfunction]
fn total_memory() -> Option<u64> {
    farloop_scenario::total_memory()
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
    let Some(bench_case) = BENCHES.iter().find(|b| b.name.eq_ignore_ascii_case(case)) else {
        let names = bench_cases().join(", ");
        return Err(ScenarioError::new_err(format!("there is no bench \"{case}\"; benches: {names}")));
    };
    let m: Measurement = with_progress(py, progress, |call| {
        bench(bench_case, cores(threads, auto), &mut |p| call(p.now.as_secs_f64(), p.end.as_secs_f64(), p.steps))
    })?;
    let row = json!({
        "case": bench_case.name,
        "packet_hops": m.packet_hops,
        "parts": m.parts,
        "packet_hops_per_s": (m.packet_hops as f64 / m.wall_s).round(),
        "ns_per_hop": m.wall_s * 1e9 / m.packet_hops as f64,
        "bytes_per_packet_in_flight": m.bytes_per_packet_in_flight,
        "peak_rss_bytes": m.peak_rss_bytes,
    });
    Ok(json!({"cases": [row]}).to_string())
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("HandlerError", py.get_type::<HandlerError>())?;
    module.add("InvalidTomlError", py.get_type::<toml::InvalidTomlError>())?;
    module.add_class::<toml::PyTomlFile>()?;
    module.add_class::<PyScenario>()?;
    module.add_class::<RunOutput>()?;
    module.add_class::<TraceOutput>()?;
    module.add_class::<goal::PyGoalTrace>()?;
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
    module.add_function(wrap_pyfunction!(path_choosers, module)?)?;
    module.add_function(wrap_pyfunction!(switch_agents, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(outputs, module)?)?;
    module.add_function(wrap_pyfunction!(available_memory, module)?)?;
    module.add_function(wrap_pyfunction!(total_memory, module)?)?;
    module.add_function(wrap_pyfunction!(out_of_memory::end_without_memory, module)?)?;
    trace::add(module)?;
    module.add_function(wrap_pyfunction!(delay::delay, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::emulate, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::send_paced, module)?)?;
    module.add_function(wrap_pyfunction!(emulate::record_arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(job::import_job, module)?)?;
    module.add_function(wrap_pyfunction!(job::job_formats, module)?)?;
    module.add_function(wrap_pyfunction!(bench_cases, module)?)?;
    module.add_function(wrap_pyfunction!(time_bench, module)?)?;
    Ok(())
}
