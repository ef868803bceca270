//! Arguments of a class's handlers: read-only objects, and the context, by which they request timers.

use farloop_cc::{Delivery, Effect, FlowInfo, IntHop, Loss, LossKind, Marked, Sent, TimerId};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The context of a handler: the current time, and the handler's requests.
#[pyclass(name = "Context", module = "farloop.algorithm")]
#[derive(Default)]
pub struct PyContext {
    pub now: Time,
    pub effects: Vec<Effect>,
    pub random: Option<RandomStream>,
}

#[pymethods]
impl PyContext {
    /// The simulated time in picoseconds.
    #[getter]
    fn now_ps(&self) -> u64 {
        self.now.as_ps()
    }

    /// Has `on_timer` called with this number, 0 to 3, in so many picoseconds, instead of whenever it was to be called before.
    fn arm(&mut self, timer: u8, after_ps: u64) -> PyResult<()> {
        let timer = check_timer(timer)?;
        self.effects.push(Effect::Arm(timer, self.now.saturating_add(Delta::from_ps(after_ps))));
        Ok(())
    }

    /// Forgets a timer.
    fn cancel(&mut self, timer: u8) -> PyResult<()> {
        let timer = check_timer(timer)?;
        self.effects.push(Effect::Cancel(timer));
        Ok(())
    }

    /// A random number from 0 to below 1, the same in every run with the same seed. The class says `random = True`.
    fn random(&mut self) -> PyResult<f64> {
        let stream = self.random.as_mut();
        stream.map(RandomStream::uniform).ok_or_else(|| PyValueError::new_err("expected `random = True` in the class"))
    }
}

fn check_timer(timer: u8) -> PyResult<TimerId> {
    let known = usize::from(timer) < TimerId::COUNT;
    known
        .then_some(TimerId(timer))
        .ok_or_else(|| PyValueError::new_err(format!("timer {timer}: expected 0 to {}", TimerId::COUNT - 1)))
}

/// A flow at its start, as an algorithm sees it.
#[pyclass(name = "Flow", module = "farloop.algorithm", frozen)]
pub struct PyFlow(pub FlowInfo);

#[pymethods]
impl PyFlow {
    #[getter]
    fn base_rtt_ps(&self) -> u64 {
        self.0.base_rtt.as_ps()
    }
    #[getter]
    fn intra_rtt_ps(&self) -> u64 {
        self.0.intra_rtt.as_ps()
    }
    #[getter]
    fn line_rate(&self) -> u64 {
        self.0.line_rate.as_bps()
    }
    #[getter]
    fn initial_rate(&self) -> u64 {
        self.0.initial_rate.as_bps()
    }
    #[getter]
    fn initial_cwnd(&self) -> Option<u64> {
        self.0.initial_cwnd.map(Bytes::get)
    }
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        self.0.ssthresh.map(Bytes::get)
    }
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss.get()
    }
    #[getter]
    fn packet(&self) -> u64 {
        self.0.packet.get()
    }
    #[getter]
    fn crosses(&self) -> bool {
        self.0.crosses
    }
    #[getter]
    fn bdp(&self) -> u64 {
        self.0.bdp().get()
    }
}

/// An acknowledgement.
#[pyclass(name = "Ack", module = "farloop.algorithm", frozen)]
pub struct PyAck {
    #[pyo3(get)]
    pub acked: u64,
    #[pyo3(get)]
    pub ack_seq: u64,
    #[pyo3(get)]
    pub snd_nxt: u64,
    #[pyo3(get)]
    pub in_flight: u64,
    #[pyo3(get)]
    pub rtt_ps: Option<u64>,
    #[pyo3(get)]
    pub ecn_echo: bool,
    /// Bytes of payload of marked packets.
    #[pyo3(get)]
    pub marked: u64,
    pub ce: Option<Marked>,
    #[pyo3(get)]
    pub in_recovery: bool,
    #[pyo3(get)]
    pub app_limited: bool,
    pub delivery: Option<Delivery>,
    pub hops: Vec<Py<PyHop>>,
}

#[pymethods]
impl PyAck {
    /// In-band telemetry of the data packet, in path order.
    #[getter]
    fn hops(&self, py: Python<'_>) -> Vec<Py<PyHop>> {
        self.hops.iter().map(|hop| hop.clone_ref(py)).collect()
    }
    /// Marked packets that the ACK newly reports; `None` where the endpoint echoes marks and does not count them.
    #[getter]
    fn ce_packets(&self) -> Option<u32> {
        self.ce.map(|ce| ce.packets)
    }
    /// Rate at which data is being delivered, in bit/s; `None` without a valid sample.
    #[getter]
    fn delivery_rate(&self) -> Option<u64> {
        self.delivery.and_then(|d| d.rate()).map(Rate::as_bps)
    }
    /// Bytes of payload delivered in the flow's life; `None` where the endpoint does not count.
    #[getter]
    fn delivered(&self) -> Option<u64> {
        self.delivery.map(|d| d.delivered.get())
    }
}

/// One hop's telemetry.
#[pyclass(name = "Hop", module = "farloop.algorithm", frozen)]
pub struct PyHop(pub IntHop);

#[pymethods]
impl PyHop {
    #[getter]
    fn hop(&self) -> u8 {
        self.0.hop
    }
    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate.as_bps()
    }
    #[getter]
    fn queue(&self) -> u64 {
        self.0.qlen.get()
    }
    /// Picoseconds since the same hop stamped `earlier`.
    fn elapsed_ps(&self, earlier: &PyHop) -> u64 {
        self.0.elapsed_since(&earlier.0).as_ps()
    }
    /// Bytes that the port has sent since.
    fn sent(&self, earlier: &PyHop) -> u64 {
        self.0.bytes_since(&earlier.0).get()
    }
    /// Returns true if a port that could have sent `capacity`, in picoseconds times bit/s, may have made its counter wrap,
    /// so that `sent` means nothing.
    fn may_have_wrapped(&self, capacity: f64) -> bool {
        self.0.may_have_wrapped(capacity)
    }
    /// The port's output since `earlier` as a fraction of its rate; `None` where it is unknown.
    fn utilisation(&self, earlier: &PyHop) -> Option<f64> {
        self.0.utilisation(&earlier.0)
    }
}

/// A packet that was just sent.
#[pyclass(name = "Sent", module = "farloop.algorithm", frozen)]
pub struct PySent(pub Sent);

#[pymethods]
impl PySent {
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq.get()
    }
    #[getter]
    fn payload(&self) -> u64 {
        self.0.payload.get()
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }
    #[getter]
    fn retransmission(&self) -> bool {
        self.0.retransmission
    }
}

/// A loss event, as the endpoint concluded it.
#[pyclass(name = "Loss", module = "farloop.algorithm", frozen)]
pub struct PyLoss(pub Loss);

#[pymethods]
impl PyLoss {
    /// "fast-retransmit", "timeout" or "spurious".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            LossKind::FastRetransmit => "fast-retransmit",
            LossKind::Timeout => "timeout",
            LossKind::Spurious => "spurious",
        }
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt.get()
    }
}
