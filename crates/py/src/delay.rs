//! Delay lines between interfaces, for testbeds.

#[cfg(target_os = "linux")]
use farloop_delay::accidents::Accidents;
#[cfg(target_os = "linux")]
use farloop_delay::queue::Pace;
#[cfg(target_os = "linux")]
use farloop_delay::wire::Line;
use pyo3::prelude::*;

/// Frames that left, ns that they were late in sum and at most, stalls, frames without room: of one direction of a delay line.
type Lateness = (u64, u64, u64, u64, u64);

/// Segments by their number in their connection, in words (empty for none): with data that are lost, acknowledgements that are lost, with
/// data that are late, and how many ns these are: of one direction of a delay line.
type NumberedSegments = (String, String, String, u64);

/// Two interfaces of a delay line, its delay in ns, its rate in bit/s and bytes of framing, and the accidents in both
/// directions.
type DelayLine = (String, String, u64, u64, u64, NumberedSegments, NumberedSegments);

/// Calls `ready`, and then delays frames between interfaces of this network namespace, each line's two by names, by ns, and no faster than
/// a rate in bit/s allows with so many bytes of framing, until standard input ends; the lateness of both directions of each line.
#[pyfunction]
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub(crate) fn delay(py: Python<'_>, lines: Vec<DelayLine>, ready: Py<PyAny>) -> PyResult<Vec<(Lateness, Lateness)>> {
    #[cfg(target_os = "linux")]
    {
        let line = |(a, b, delay, rate, framing, there, back)| {
            let accidents = [read_accidents(there)?, read_accidents(back)?];
            Ok(Line { ends: [a, b], delay, pace: Pace { rate, framing }, accidents })
        };
        let lines = lines.into_iter().map(line).collect::<PyResult<Vec<Line>>>()?;
        let mut raised = None;
        let mut call = || Python::attach(|py| raised = ready.call0(py).err());
        let lateness = py.detach(|| farloop_delay::wire::run(&lines, &mut call, &mut std::io::stdin()));
        if let Some(error) = raised {
            return Err(error);
        }
        let lateness = lateness?;
        let as_tuple = |l: farloop_delay::queue::Lateness| (l.frames, l.sum, l.max, l.stalls, l.dropped);
        Ok(lateness.into_iter().map(|[a, b]| (as_tuple(a), as_tuple(b))).collect())
    }
    #[cfg(not(target_os = "linux"))]
    Err(pyo3::exceptions::PyOSError::new_err("delay lines need Linux"))
}

#[cfg(target_os = "linux")]
fn read_accidents((lose_data, lose_acks, late_data, late_by): NumberedSegments) -> PyResult<Accidents> {
    let numbers = |text: String| match text.is_empty() {
        true => Ok(None),
        false => text.parse().map(Some).map_err(pyo3::exceptions::PyValueError::new_err),
    };
    Ok(Accidents {
        lose_data: numbers(lose_data)?,
        lose_acks: numbers(lose_acks)?,
        late_data: numbers(late_data)?.map(|numbers| (numbers, late_by)),
    })
}
