//! A scenario for Python: text in, JSON and raw columns out.

use crate::algorithm::{Failure, catalog};
use crate::errors::raised_by_class;
use crate::output::{RunOutput, tables};
use farloop_scenario::{Cores, Diagnostic, MemoryLimit, Prepared, RunError, Settings, TraceSpec};
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pyo3::create_exception!(
    _native,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; the text says where and what to do."
);
pyo3::create_exception!(_native, Cancelled, PyBaseException, "The progress callback asked to stop.");

/// A scenario that is parsed once, and whose network is built once for all its methods, until a simulation takes it. An
/// interrupt ends each of its methods.
#[pyclass(frozen, name = "Scenario")]
pub(crate) struct PyScenario {
    prepared: Prepared,
    failure: Failure,
}

#[pymethods]
impl PyScenario {
    /// Parses it; `classes` are algorithms that it may name, `memory_limit` is how many bytes each of its jobs may take.
    #[new]
    #[pyo3(signature = (text, file, overrides=Vec::new(), classes=Vec::new(), memory_limit=None))]
    fn new(
        py: Python<'_>,
        text: String,
        file: String,
        overrides: Vec<(String, String)>,
        classes: Vec<Py<PyAny>>,
        memory_limit: Option<u64>,
    ) -> PyResult<PyScenario> {
        let failure = Failure::default();
        let known = catalog(py, &classes, &failure)?;
        let prepared = interruptible(py, refuse, |go_on| {
            Prepared::parse_within(&text, &file, &overrides, &known, MemoryLimit(memory_limit), go_on)
        })?;
        Ok(PyScenario { prepared, failure })
    }

    /// Number of times that its network has been built.
    #[getter]
    fn builds(&self) -> u32 {
        self.prepared.builds()
    }

    /// The scenario with all its defaults, as JSON, from its keys alone: no network is built.
    fn parsed(&self) -> String {
        self.prepared.parsed()
    }

    /// As `parsed`; checks all that `run` checks before it simulates.
    fn resolved(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, refuse, |go_on| self.prepared.resolved(go_on))
    }

    /// Checks all that `run` refuses, also rules that only the simulation checks.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, refuse, |go_on| self.prepared.check(go_on))
    }

    /// Its summary, as JSON; checks as `resolved`.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, refuse, |go_on| self.prepared.explain(go_on))
    }

    /// The network for a testbed to build, as JSON; refuses scenarios that it cannot build.
    fn testbed(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, refuse, |go_on| self.prepared.testbed(go_on))
    }

    /// The links that take `shortest` ps or longer, for an emulator, as JSON; refuses what no emulated link does.
    fn emulation(&self, py: Python<'_>, shortest: u64) -> PyResult<String> {
        let shortest = farloop_units::Delta::from_ps(shortest);
        interruptible(py, refuse, |go_on| self.prepared.emulation(shortest, go_on))
    }

    /// Most memory of its run, the largest share first: (name, bytes, the keys that decide about it).
    fn most_memory(&self, py: Python<'_>) -> PyResult<Vec<Share>> {
        let shares = interruptible(py, refuse, |go_on| self.prepared.memory(go_on))?;
        Ok(shares.iter().map(|share| (share.what, share.bytes, share.keys)).collect())
    }

    /// The tables of flows and ports without a run: the values that follow from network and traffic alone. With them as
    /// JSON the flows that the receive window keeps below the rates of their paths, and the jobs.
    fn forecast<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, String, String)> {
        let (made, capped, jobs) = interruptible(py, refuse, |go_on| self.prepared.forecast(go_on))?;
        let named = [("flows", made.flows), ("ports", made.ports), ("iterations", made.iterations)];
        Ok((tables(py, named)?, capped.to_string(), jobs.to_string()))
    }

    /// Runs it on `threads` threads, or with `auto` on as many of them as pay, with a trace of the items in `trace`, if
    /// any. `progress(simulated_s, end_s, steps)` returns False to cancel; steps are packet-hops, or looks at flows. An
    /// error of one of its classes ends the run, and is raised.
    #[pyo3(signature = (progress=None, threads=1, trace=Vec::new(), auto=false))]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        threads: usize,
        trace: Vec<String>,
        auto: bool,
    ) -> PyResult<RunOutput> {
        let start = std::time::Instant::now();
        // Drops an exception that a class raised where no caller could get it, such as in a forecast: it is not this run's.
        drop(self.failure.take());
        let outcome = with_progress(py, progress, |call| {
            let trace = if trace.is_empty() { None } else { Some(TraceSpec::parse(&trace)?) };
            self.prepared.run(&Settings { cores: cores(threads, auto), trace }, &mut |p| {
                !self.failure.has_happened() && call(p.now.as_secs_f64(), p.end.as_secs_f64(), p.steps)
            })
        });
        if let Some(error) = self.failure.take() {
            return Err(raised_by_class(py, error));
        }
        Ok(RunOutput::new(outcome?, start.elapsed().as_secs_f64()))
    }

    /// Where the time of a flow (its name or number), or of an iteration of a job (its name), went, as JSON; simulates until it is over.
    /// `progress` as in `run`.
    #[pyo3(signature = (name, iteration=None, progress=None))]
    fn why(&self, py: Python<'_>, name: &str, iteration: Option<u32>, progress: Option<Py<PyAny>>) -> PyResult<String> {
        drop(self.failure.take());
        let answer = with_progress(py, progress, |call| {
            self.prepared.why(name, iteration, &mut |p| {
                !self.failure.has_happened() && call(p.now.as_secs_f64(), p.end.as_secs_f64(), p.steps)
            })
        });
        if let Some(error) = self.failure.take() {
            return Err(raised_by_class(py, error));
        }
        answer
    }
}

/// A share of a run's memory: its name, its bytes, and the keys that decide about it.
type Share = (&'static str, u64, &'static str);

/// Calls `f` without the interpreter's lock, with a progress function that calls `progress` with it.
pub(crate) fn with_progress<T: Send>(
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
pub(crate) fn cores(threads: usize, auto: bool) -> Cores {
    if auto { Cores::auto(threads) } else { Cores::with_threads(threads) }
}

/// Calls `f` without the interpreter's lock; an interrupt ends it. `refuse` makes the exception of its error.
pub(crate) fn interruptible<T: Send, E: Send>(
    py: Python<'_>,
    refuse: impl FnOnce(E) -> PyErr,
    f: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, E> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let outcome =
        py.detach(|| f(&mut || Python::attach(|py| py.check_signals().map_err(|error| raised = Some(error)).is_ok())));
    outcome.map_err(|error| raised.unwrap_or_else(|| refuse(error)))
}

/// The exception of a simulator's error that no interrupt has caused.
fn refuse(error: RunError) -> PyErr {
    failure(None, error)
}

/// The exception that Python raised, else the simulator's error.
fn failure(raised: Option<PyErr>, error: RunError) -> PyErr {
    match (raised, error) {
        (Some(raised), _) => raised,
        (None, RunError::Scenario(diagnostic)) => refusal(&diagnostic),
        (None, RunError::Trace(error)) => ScenarioError::new_err(error.to_string()),
        (None, RunError::Cancelled) => Cancelled::new_err("cancelled"),
    }
}

/// A scenario's error; its attribute `problem` is the problem alone, without the place and the accepted form.
fn refusal(diagnostic: &Diagnostic) -> PyErr {
    let error = ScenarioError::new_err(diagnostic.to_string());
    let problem = Python::attach(|py| error.value(py).setattr("problem", &diagnostic.problem));
    problem.err().unwrap_or(error)
}
