//! Jobs for Python: files and options in, JSON out.

use crate::scenario::{Cancelled, ScenarioError};
use crate::writer::PythonFile;
use farloop_job::error::{JobError, Missing, Place};
use farloop_job::formats::{Format, Options, Writing};
use farloop_job::import::{Request, choice, import, network, positive_rate};
use farloop_job::memory::MemoryLimit;
use farloop_scenario::accepted_for;
use farloop_units::Rate;
use pyo3::prelude::*;
use std::io::{self, Write};
use std::sync::Mutex;

/// Rate of a rank in its host, where the request does not describe hosts: NVLink of an H100.
const NVLINK: Rate = Rate::from_gbps(3600);

/// Ranks of a host or site, latency and rate, as text.
type Level = (u32, String, String);

/// Reads a job, reports its contents as JSON, and writes it if `out` is given: a path, a format, and a function that
/// opens a file of Python by its name.
///
/// `memory_limit` is the bytes that it may take. `progress(what, done, all)` returns False to stop; without it only
/// interrupts stop.
#[pyfunction]
#[pyo3(signature = (files, progress=None, *, format=None, collectives="nccl", latency="5us", rate="400Gbps", site=None, host=None,
    message=None, timed=true, out=None, expanded=false, ranks=None, flops=None, memory_bandwidth=None, groups=None, memory_limit=None))]
#[allow(clippy::too_many_arguments)]
pub fn import_job(
    py: Python<'_>,
    files: Vec<String>,
    progress: Option<Py<PyAny>>,
    format: Option<&str>,
    collectives: &str,
    latency: &str,
    rate: &str,
    site: Option<Level>,
    host: Option<Level>,
    message: Option<(String, String, String)>,
    timed: bool,
    out: Option<(String, String, Py<PyAny>)>,
    expanded: bool,
    ranks: Option<u32>,
    flops: Option<f64>,
    memory_bandwidth: Option<f64>,
    groups: Option<(String, String)>,
    memory_limit: Option<u64>,
) -> PyResult<String> {
    let (out, opens) = out.map_or((None, None), |(path, to, opens)| (Some((path, to)), Some(opens)));
    let request = (|| {
        fn level(level: &Option<Level>) -> Option<(u32, &str, &str)> {
            level.as_ref().map(|(ranks, latency, rate)| (*ranks, latency.as_str(), rate.as_str()))
        }
        let costs = message.as_ref().map_or(("0ns", "0ns", "none"), |m| (m.0.as_str(), m.1.as_str(), m.2.as_str()));
        let made = network(latency, rate, level(&site), level(&host), costs)?;
        let ranks_per = (made.ranks_per_site, made.ranks_per_host);
        let domain = host.as_ref().map_or(Ok(NVLINK), |(_, _, rate)| positive_rate("host_rate", rate))?;
        Ok::<_, JobError>(Request {
            files,
            format: format.map(|f| parse_format("format", f)).transpose()?,
            options: Options { flops, memory_bandwidth, groups, ranks },
            choice: choice(collectives, positive_rate("rate", rate)?, domain)?,
            ranks_per,
            network: timed.then_some(made),
            out: out.map(|(path, to)| parse_format("to", &to).map(|to| (path, to))).transpose()?,
            expanded,
            limit: MemoryLimit(memory_limit),
        })
    })()
    .map_err(refuse)?;
    let raised = Mutex::new(None);
    let raise = |error: PyErr| raised.lock().expect("nothing panics with it").replace(error);
    let stopped = || io::Error::other("stopped");
    let outcome = py.detach(|| {
        import(
            &request,
            &mut |name| {
                Python::attach(|py| match opens.as_ref().map(|opens| opens.call1(py, (name,))) {
                    Some(Ok(file)) => Ok(Box::new(PythonFile::open_buffered(file)) as Box<dyn Write>),
                    Some(Err(error)) => {
                        raise(error);
                        Err(stopped())
                    }
                    None => Err(stopped()),
                })
            },
            &mut |what, done, all| {
                Python::attach(|py| {
                    let go_on = py.check_signals().and_then(|()| match &progress {
                        Some(callback) => callback.call1(py, (what, done, all)).and_then(|r| r.is_truthy(py)),
                        None => Ok(true),
                    });
                    go_on.unwrap_or_else(|error| {
                        raise(error);
                        false
                    })
                })
            },
        )
    });
    match (raised.into_inner().expect("nothing panics with it"), outcome) {
        (Some(raised), _) => Err(raised),
        (None, Ok(summary)) => Ok(summary.to_string()),
        (None, Err(error)) if error.cancelled => Err(Cancelled::new_err("cancelled")),
        (None, Err(error)) => Err(refuse(error)),
    }
}

/// A refusal as users see it: with the option of `farloop import-job` for a setting or a missing fact. Its attribute `lacks_groups` is true
/// where the files do not have the ranks of a group.
fn refuse(mut error: JobError) -> PyErr {
    let lacks_groups = error.missing == Some(Missing::Groups);
    if let Some(missing) = error.missing.filter(|_| !lacks_groups) {
        error.reason = format!("{}; {}", error.reason, accepted_for(missing));
    }
    if let Place::Setting(name) = error.place {
        (error.file, error.place) = match name {
            "files" => ("import-job".to_string(), Place::File),
            _ => (format!("--{}", name.replace('_', "-")), Place::File),
        };
    }
    let refused = ScenarioError::new_err(error.to_string());
    Python::attach(|py| refused.value(py).setattr("lacks_groups", lacks_groups)).err().unwrap_or(refused)
}

/// Formats of jobs: name, end of file names, true if there is a file for each rank, true if jobs are written in it.
#[pyfunction]
pub fn job_formats() -> Vec<(&'static str, &'static str, bool, bool)> {
    let row = |format: &Format| {
        let spec = format.spec();
        (spec.name, spec.extension, spec.is_file_per_rank, !matches!(spec.writing, Writing::Never))
    };
    Format::ALL.iter().map(row).collect()
}

fn parse_format(setting: &'static str, name: &str) -> Result<Format, JobError> {
    let known: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
    let text = format!("\"{}\": expected {}", name.escape_debug(), known.join(", "));
    Format::by_name(name).ok_or_else(|| JobError::in_setting(setting, text))
}
