//! GOAL traces for Python: an open file in, rows of flows out.

use crate::reader::PythonInput;
use crate::scenario::{Cancelled, ScenarioError, interruptible};
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
        let read = |go_on: &mut dyn FnMut() -> bool| {
            Trace::read(&mut PythonInput::open_buffered(file), name, 0, &mut |_, _| go_on())
        };
        interruptible(py, refuse, read).map(PyGoalTrace)
    }

    /// The numbers of its ranks, in the order of the file.
    #[getter]
    fn ranks(&self) -> Vec<u64> {
        self.0.ranks().collect()
    }

    /// Its messages as flows, where the ranks are at these hosts, in the order of `ranks`.
    fn flows(&self, py: Python<'_>, hosts: Vec<String>, eager: bool) -> PyResult<Vec<Row>> {
        let flows = interruptible(py, refuse, |go_on| self.0.flows(&hosts, eager, &mut |_, _| go_on()))?;
        Ok(flows.into_iter().map(row).collect())
    }
}

fn row(flow: Flow) -> Row {
    (flow.name, flow.from, flow.to, flow.start, flow.size, flow.after)
}

fn refuse(error: JobError) -> PyErr {
    if error.cancelled { Cancelled::new_err("cancelled") } else { ScenarioError::new_err(error.to_string()) }
}
