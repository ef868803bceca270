//! The outputs of a run, for Python: raw columns and JSON.

use crate::writer::PythonFile;
use farloop_scenario::tables::{Column, Table, Tables};
use farloop_scenario::{CircuitFacts, EventFact, Outcome, Traced};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The outcome of a run.
#[pyclass(frozen)]
pub(crate) struct RunOutput {
    outcome: Outcome,
    tables: Mutex<Tables>,
    trace: Option<Arc<Traced>>,
    wall_s: f64,
}

/// The records that a run's tracer has kept.
#[pyclass(frozen)]
pub(crate) struct TraceOutput {
    traced: Arc<Traced>,
}

#[pymethods]
impl TraceOutput {
    /// Number of records.
    #[getter]
    fn records(&self) -> usize {
        self.traced.trace().records.len()
    }

    /// Number of older records that did not fit the limit.
    #[getter]
    fn left_out(&self) -> u64 {
        self.traced.trace().left_out
    }

    /// Writes a file for Perfetto, which is open.
    fn write_perfetto(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<()> {
        Ok(py.detach(|| self.traced.write_perfetto(&mut PythonFile::open_buffered(file)))?)
    }

    /// Writes a file for Wireshark, which is open.
    fn write_pcapng(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<()> {
        Ok(py.detach(|| self.traced.write_pcapng(&mut PythonFile::open_buffered(file)))?)
    }
}

impl RunOutput {
    /// Of a run that took so many seconds.
    pub fn new(mut outcome: Outcome, wall_s: f64) -> RunOutput {
        let trace = outcome.trace.take().map(Arc::new);
        let tables = Mutex::new(std::mem::take(&mut outcome.tables));
        RunOutput { outcome, tables, trace, wall_s }
    }
}

#[pymethods]
impl RunOutput {
    /// Takes the tables, by name; each column is (type, little-endian bytes, words of a dictionary column or None); of a type
    /// that begins with "no " no row has a value, and there is a byte for each.
    ///
    /// A second call gets tables without columns. A column's numbers are freed once they are Python's, so that the rows of a long run
    /// are never there twice.
    fn take_tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taken = std::mem::take(&mut *self.tables.lock().unwrap_or_else(PoisonError::into_inner));
        let Tables { flows, series, ports, pauses, circuits, queues, iterations, ranks } = taken;
        let named = [
            ("flows", flows),
            ("series", series),
            ("ports", ports),
            ("pauses", pauses),
            ("queues", queues),
            ("circuits", circuits),
            ("iterations", iterations),
            ("ranks", ranks),
        ];
        tables(py, named)
    }

    /// The trace, where one was requested.
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
            "version": env!("CARGO_PKG_VERSION"),
            "wall_s": self.wall_s,
            "bytes_per_packet": t.bytes_per_packet(),
            "parts": self.outcome.parts,
            "totals": self.outcome.totals_json(),
            "invariants": invariants,
            "deadlocks": self.outcome.deadlocks,
            "circuits": self.outcome.circuits.as_ref().map(CircuitFacts::json),
            "events": self.outcome.events.iter().map(EventFact::json).collect::<Vec<_>>(),
            "notes": self.outcome.notes,
            "starts": self.outcome.starts,
            "limits": self.outcome.limits,
            "capped": self.outcome.capped,
            "jobs": self.outcome.jobs,
            "error": self.outcome.error,
        })
        .to_string()
    }
}

/// Tables by name, as [`RunOutput::take_tables`] has them.
pub(crate) fn tables<'py, 'n>(
    py: Python<'py>,
    named: impl IntoIterator<Item = (&'n str, Table)>,
) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    for (name, columns) in named {
        tables.set_item(name, table(py, columns)?)?;
    }
    Ok(tables)
}

fn table<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table {
        let nothing;
        let (kind, bytes, words) = match column {
            Column::I64(v) => ("i64", raw(py, &v, i64::to_le_bytes)?, None),
            // No number of a table is that small.
            Column::OptionalI64(v) => ("i64?", raw(py, &v, |n| n.unwrap_or(i64::MIN).to_le_bytes())?, None),
            Column::U32(v) => ("u32", raw(py, &v, u32::to_le_bytes)?, None),
            Column::F64(v) => ("f64", raw(py, &v, f64::to_le_bytes)?, None),
            Column::Dictionary(v, words) => ("dict", raw(py, &v, u32::to_le_bytes)?, Some(words)),
            // A byte for each row.
            Column::Nothing(kind, rows) => {
                nothing = format!("no {kind}");
                (&*nothing, raw(py, &vec![0; rows], |byte: u8| [byte])?, None)
            }
        };
        let value: Bound<'py, PyTuple> = (kind, bytes, words).into_pyobject(py)?;
        columns.set_item(name, value)?;
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
