//! Delay lines between interfaces, for testbeds.

#[cfg(target_os = "linux")]
use farloop_delay::queue::Pace;
#[cfg(target_os = "linux")]
use farloop_delay::wire::Line;
use pyo3::prelude::*;

/// Frames that left, ns that they were late in sum and at most, stalls, frames without room: of one direction of a delay line.
type Lateness = (u64, u64, u64, u64, u64);

/// Calls `ready`, and then delays frames between interfaces of this network namespace, each line's two by names, by ns, and no faster than
/// a rate in bit/s allows with so many bytes of framing, until standard input ends; the lateness of both directions of each line.
#[pyfunction]
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub(crate) fn delay(
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
