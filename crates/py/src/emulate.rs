//! The emulator of long links, and the instruments beside it.

#[cfg(target_os = "linux")]
mod linux;

use pyo3::prelude::*;

#[cfg(target_os = "linux")]
use linux::{LinkText, report_json};

/// Calls `ready`, and then emulates links between interfaces of this network namespace, given as JSON, until standard input ends; what each
/// of their directions did, as JSON.
#[pyfunction]
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub(crate) fn emulate(py: Python<'_>, spec: &str, ready: Py<PyAny>) -> PyResult<String> {
    #[cfg(target_os = "linux")]
    {
        let (links, options) = LinkText::parse(spec).map_err(pyo3::exceptions::PyValueError::new_err)?;
        let mut raised = None;
        let mut call = || Python::attach(|py| raised = ready.call0(py).err());
        let reports = py.detach(|| farloop_delay::emulator::run(links, options, &mut call, &mut std::io::stdin()));
        match raised {
            Some(error) => Err(error),
            None => Ok(report_json(&reports?)),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Err(pyo3::exceptions::PyOSError::new_err("emulated links need Linux"))
}

/// Sends UDP packets of `size` bytes by an interface of this network namespace, `gap` ns apart and `burst` at a time, for `duration` ns.
/// Returns how many left.
#[pyfunction]
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub(crate) fn send_paced(
    py: Python<'_>,
    interface: String,
    size: usize,
    gap: u64,
    burst: usize,
    duration: u64,
) -> PyResult<u64> {
    #[cfg(target_os = "linux")]
    {
        let stream = farloop_delay::probe::Stream { interface, size, gap, burst, duration };
        Ok(py.detach(|| farloop_delay::probe::send(&stream))?)
    }
    #[cfg(not(target_os = "linux"))]
    Err(pyo3::exceptions::PyOSError::new_err("packet sockets need Linux"))
}

/// Calls `ready`, and then records when sampled packets reach an interface of this network namespace until standard input ends: their keys
/// and times, in ns of the monotonic clock.
#[pyfunction]
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub(crate) fn record_arrivals(py: Python<'_>, interface: &str, ready: Py<PyAny>) -> PyResult<Vec<(u64, u64)>> {
    #[cfg(target_os = "linux")]
    {
        let mut raised = None;
        let mut call = || Python::attach(|py| raised = ready.call0(py).err());
        let samples = py.detach(|| farloop_delay::probe::record(interface, &mut call, &mut std::io::stdin()));
        match raised {
            Some(error) => Err(error),
            None => Ok(samples?),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Err(pyo3::exceptions::PyOSError::new_err("packet sockets need Linux"))
}
