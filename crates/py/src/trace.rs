//! Traces in Perfetto's format for Python: an open file in, columns of records at ports out.

use crate::reader::PythonInput;
use farloop_trace::perfetto::{self, EVENTS, KINDS, NO_FLOW, PortRecords, ReadError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;

/// Columns of numbers in the machine's order of bytes: time, port, flow, event, kind, mark, size, queue.
type Columns<'py> = [Bound<'py, PyBytes>; 8];

/// The first `max` records of ports in a trace, which Python has opened to read bytes, and whether these are all. `flows` are rows by name.
#[pyfunction]
pub(crate) fn port_records<'py>(
    py: Python<'py>,
    file: Py<PyAny>,
    flows: HashMap<String, u32>,
    max: usize,
) -> PyResult<(Columns<'py>, bool)> {
    let read = py.detach(|| perfetto::port_records(&mut PythonInput::open_buffered(file), &flows, max));
    let made = read.map_err(|error| match error {
        ReadError::Input(error) => PyErr::from(error),
        ReadError::Format(problem) => PyValueError::new_err(problem),
    })?;
    let PortRecords { time_ps, port, flow, event, kind, marked, wire_bytes, queue_bytes, complete } = made;
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let words = |column: Vec<u32>| bytes(&column.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>());
    let numbers = |column: Vec<i64>| bytes(&column.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>());
    let (port, flow, wire) = (words(port), words(flow), words(wire_bytes));
    let (time, queue) = (numbers(time_ps), numbers(queue_bytes));
    Ok(([time, port, flow, bytes(&event), bytes(&kind), bytes(&marked), wire, queue], complete))
}

/// Adds the names behind the numbers.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PORT_EVENTS", EVENTS)?;
    module.add("PACKET_KINDS", KINDS)?;
    module.add("NO_FLOW", NO_FLOW)?;
    module.add_function(wrap_pyfunction!(port_records, module)?)
}
