//! GOAL traces for Python: an open file in, rows of flows out.

use crate::reader::PythonInput;
use crate::scenario::{Cancelled, ScenarioError};
use farloop_job::JobError;
use farloop_job::formats::goal_flows::{Flow, Trace};
use pyo3::prelude::*;

/// A row of a list of flows: name, source, destination, start, size, and what it waits for.
type Row = (String, String, String, String, String, String);

/// A GOAL trace, read from a file that Python has opened to read bytes; `name` is its name in errors.
#[pyclass(name = "GoalTrace", module = "farloop._native", frozen)]
pub struct PyGoalTrace(Trace);

#[pymethods]
impl PyGoalTrace {
    #[new]
    fn new(py: Python<'_>, file: Py<PyAny>, name: &str) -> PyResult<PyGoalTrace> {
        interruptible(py, |go_on| Trace::read(&mut PythonInput::open_buffered(file), name, 0, go_on)).map(PyGoalTrace)
    }

    /// The numbers of its ranks, in the order of the file.
    #[getter]
    fn ranks(&self) -> Vec<u64> {
        self.0.ranks().collect()
    }

    /// Its messages as flows, where the ranks are at these hosts, in the order of `ranks`.
    fn flows(&self, py: Python<'_>, hosts: Vec<String>, eager: bool) -> PyResult<Vec<Row>> {
        let flows = interruptible(py, |go_on| self.0.flows(&hosts, eager, go_on))?;
        Ok(flows.into_iter().map(row).collect())
    }
}

fn row(flow: Flow) -> Row {
    (flow.name, flow.from, flow.to, flow.start, flow.size, flow.after)
}

/// Calls `work` without Python's lock; a signal ends it.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut(u64, u64) -> bool) -> Result<T, JobError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let outcome = py.detach(|| {
        work(&mut |_, _| match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                raised = Some(error);
                false
            }
        })
    });
    match (raised, outcome) {
        (Some(raised), _) => Err(raised),
        (None, Ok(made)) => Ok(made),
        (None, Err(error)) if error.cancelled => Err(Cancelled::new_err("cancelled")),
        (None, Err(error)) => Err(ScenarioError::new_err(error.to_string())),
    }
}
