//! Algorithms that are classes of Python: the sender's calls go to the methods of an object.
//!
//! `farloop.algorithm` describes a class (name, parameters, needs, which handlers it has); this module calls it. Any error
//! in a handler ends the run: the first error is kept ([`Failure`]), the class is called no more, and the caller that runs
//! the simulation asks for it.

use crate::errors::raised_by_class;
use crate::parameters::{Parameter, number, of_value, parameter, read};
use crate::signals::{PyAck, PyContext, PyFlow, PyHop, PyLoss, PySent};
use farloop_cc::testing;
use farloop_cc::{
    About, Ack, AlgorithmInfo, Catalog, Control, Ctx, DynAlgorithm, Effect, FlowInfo, Loss, Needs, Sender, Sent,
    TimerId,
};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, ParamError, ParamSpec, Rate, Time, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The first error of any class of a run.
#[derive(Clone, Default)]
pub struct Failure(Arc<(AtomicBool, Mutex<Option<PyErr>>)>);

impl Failure {
    /// Returns true if there was one.
    pub fn has_happened(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Takes it, as if there had been none.
    pub fn take(&self) -> Option<PyErr> {
        self.0.0.store(false, Ordering::Relaxed);
        self.0.1.lock().expect("nobody panics with it").take()
    }

    fn keep(&self, error: PyErr) {
        self.0.1.lock().expect("nobody panics with it").get_or_insert(error);
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// The algorithms that come with farloop and these classes, as `farloop.algorithm.describe_class` gives them: each a dictionary.
pub fn catalog(py: Python<'_>, classes: &[Py<PyAny>], failure: &Failure) -> PyResult<Catalog> {
    let mut catalog = Catalog::builtin();
    for class in classes {
        let described = class.bind(py).cast::<PyDict>()?;
        let algorithm = PyAlgorithm::new(described, failure.clone())?;
        let registered = catalog.register_dyn(Box::new(algorithm));
        registered.map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    Ok(catalog)
}

/// The catalog's entries for the classes alone.
pub fn of_classes(catalog: &Catalog) -> impl Iterator<Item = &AlgorithmInfo> {
    catalog.infos().filter(|info| Catalog::builtin().info(&info.name).is_none())
}

/// Feeds `sequences` random sequences of signals to objects of a class, whatever may come in whatever order: inside a datacenter and
/// across.
pub fn torture(py: Python<'_>, class: &Py<PyAny>, sequences: u64) -> PyResult<()> {
    let failure = Failure::default();
    let described = class.bind(py).cast::<PyDict>()?;
    let algorithm = PyAlgorithm::new(described, failure.clone())?;
    for seed in 0..sequences {
        for flow in [testing::flow(false), testing::flow(true)] {
            let mut sender = PySender::new(py, &algorithm, &flow).map_err(|error| raised_by_class(py, error))?;
            testing::torture(&mut sender, &flow, &testing::signals(seed, 200), &algorithm.class.about.name);
            if let Some(error) = failure.take() {
                return Err(raised_by_class(py, error));
            }
        }
        py.check_signals()?;
    }
    Ok(())
}

/// Window in bytes and rate in bit/s of an object after each of so many signals, the same that `farloop_cc::testing::signals(1, count)`
/// gives to an algorithm in Rust inside a datacenter.
pub fn record_signals(py: Python<'_>, class: &Py<PyAny>, count: usize) -> PyResult<Vec<(u64, u64)>> {
    let failure = Failure::default();
    let algorithm = PyAlgorithm::new(class.bind(py).cast::<PyDict>()?, failure.clone())?;
    let flow = testing::flow(false);
    let mut sender = PySender::new(py, &algorithm, &flow).map_err(|error| raised_by_class(py, error))?;
    let controls = testing::torture(&mut sender, &flow, &testing::signals(1, count), &algorithm.class.about.name);
    match failure.take() {
        Some(error) => Err(raised_by_class(py, error)),
        None => Ok(controls.iter().map(|control| (control.cwnd.get(), control.pacing.as_bps())).collect()),
    }
}

/// A class, with its parameters at some values.
#[derive(Clone)]
struct PyAlgorithm {
    class: Arc<Class>,
    values: Vec<Value>,
    failure: Failure,
}

/// The unchanging part of an algorithm that a class of Python defines.
struct Class {
    class: Py<PyAny>,
    about: About,
    params: Vec<Parameter>,
    needs: Needs,
    /// The names of the handlers that it has.
    handles: Vec<String>,
    /// It draws random numbers.
    random: bool,
}

impl PyAlgorithm {
    fn new(described: &Bound<'_, PyDict>, failure: Failure) -> PyResult<PyAlgorithm> {
        let item = |key: &str| {
            described.get_item(key)?.ok_or_else(|| PyTypeError::new_err(format!("a description without \"{key}\"")))
        };
        let text = |key: &str| item(key)?.extract::<String>();
        let needs: Vec<String> = item("needs")?.extract()?;
        let params: Vec<Parameter> = item("params")?.try_iter()?.map(|p| parameter(&p?)).collect::<PyResult<_>>()?;
        let has = |what: &str| needs.iter().any(|need| need == what);
        let class = Class {
            class: item("class")?.unbind(),
            about: About {
                name: text("name")?,
                summary: text("summary")?,
                source: text("source")?,
                ..About::default()
            },
            needs: Needs {
                ecn: has("ecn"),
                int: has("int"),
                accurate_ecn: has("accurate_ecn"),
                delivery_rate: has("delivery_rate"),
                even_pacing: has("even_pacing"),
                header_bytes: item("header_bytes")?.extract()?,
                ..Needs::NONE
            },
            handles: item("handles")?.extract()?,
            random: item("random")?.extract()?,
            params,
        };
        let values = class.params.iter().map(|p| p.spec.default.clone().expect("it has one")).collect();
        Ok(PyAlgorithm { class: Arc::new(class), values, failure })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.class.params.iter().position(|p| p.spec.name == name)
    }

    /// An object for a flow: its parameters are its attributes, and it has begun.
    fn object(&self, py: Python<'_>, flow: &FlowInfo) -> PyResult<Py<PyAny>> {
        let object = self.class.class.bind(py).call0()?;
        for (parameter, value) in self.class.params.iter().zip(&self.values) {
            object.setattr(&*parameter.spec.name, of_value(py, &parameter.spec.kind, value)?)?;
        }
        object.call_method1("start", (Py::new(py, PyFlow(*flow))?,))?;
        Ok(object.unbind())
    }
}

impl fmt::Debug for PyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.class.about.name, self.values)
    }
}

impl DynAlgorithm for PyAlgorithm {
    fn describe(&self) -> About {
        self.class.about.clone()
    }

    fn specs(&self) -> Vec<ParamSpec> {
        self.class.params.iter().map(|p| p.spec.clone()).collect()
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
        let at = self.position(name).ok_or(ParamError::UnknownName)?;
        let Parameter { spec, low, high } = &self.class.params[at];
        let value = read(&spec.kind, value).map_err(ParamError::BadValue)?;
        if low.as_ref().is_some_and(|low| number(&spec.kind, &value) < number(&spec.kind, low))
            || high.as_ref().is_some_and(|high| number(&spec.kind, &value) > number(&spec.kind, high))
        {
            return Err(ParamError::OutOfRange(spec.range.clone()));
        }
        self.values[at] = value;
        Ok(())
    }

    fn get(&self, name: &str) -> Option<Option<Value>> {
        self.position(name).map(|at| Some(self.values[at].clone()))
    }

    fn needs(&self) -> Needs {
        self.class.needs
    }

    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        match Python::attach(|py| PySender::new(py, self, flow)) {
            Ok(sender) => Box::new(sender),
            Err(error) => {
                self.failure.keep(error);
                Box::new(Silent)
            }
        }
    }

    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

/// Most timers of one flow in [`IN_TIME`]: with more of them simulated time practically stops.
const MAX_TIMERS: u32 = 100_000;
const IN_TIME: Delta = Delta::from_us(1);

/// The sender of a class that failed: it sends a packet at a time until the run is ended.
struct Silent;

impl Sender for Silent {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::new(1), pacing: Rate::MAX }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &Ack<'_>) {}
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

/// An object that controls a flow.
struct PySender {
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    on_established: Option<Py<PyAny>>,
    on_start: Option<Py<PyAny>>,
    on_send: Option<Py<PyAny>>,
    on_loss: Option<Py<PyAny>>,
    on_idle_restart: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    context: Py<PyContext>,
    random: bool,
    control: Control,
    /// Since when its timers are counted, and how often they were due since then.
    timed: (Time, u32),
    failure: Failure,
}

impl PySender {
    fn new(py: Python<'_>, algorithm: &PyAlgorithm, flow: &FlowInfo) -> PyResult<PySender> {
        let class = &algorithm.class;
        let object = algorithm.object(py, flow)?;
        let bound = object.bind(py);
        let handler = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let has = class.handles.iter().any(|own| own == name);
            has.then(|| bound.getattr(name).map(Bound::unbind)).transpose()
        };
        Ok(PySender {
            on_ack: bound.getattr("on_ack")?.unbind(),
            on_established: handler("on_established")?,
            on_start: handler("on_start")?,
            on_send: handler("on_send")?,
            on_loss: handler("on_loss")?,
            on_idle_restart: handler("on_idle_restart")?,
            on_timer: handler("on_timer")?,
            context: Py::new(py, PyContext::default())?,
            random: class.random,
            control: control(bound, "start")?,
            timed: (Time::ZERO, 0),
            failure: algorithm.failure.clone(),
            object,
        })
    }

    /// Calls a handler, then looks at window and rate.
    fn call(
        &mut self,
        ctx: &mut Ctx<'_>,
        name: &str,
        handler: fn(&PySender) -> Option<&Py<PyAny>>,
        argument: impl FnOnce(Python<'_>) -> PyResult<Option<Py<PyAny>>>,
    ) {
        if handler(self).is_none() || self.failure.has_happened() {
            return;
        }
        let called = Python::attach(|py| {
            let context = self.context.bind(py);
            {
                let mut inner = context.borrow_mut();
                inner.now = ctx.now();
                if self.random && inner.random.is_none() {
                    inner.random = Some(RandomStream::new(ctx.random().bits(), "python", 0));
                }
            }
            let Some(handler) = handler(self) else { return Ok(self.control) };
            match argument(py)? {
                Some(argument) => handler.call1(py, (context, argument))?,
                None => handler.call1(py, (context,))?,
            };
            for effect in context.borrow_mut().effects.drain(..) {
                match effect {
                    Effect::Arm(timer, at) => ctx.arm(timer, at),
                    Effect::Cancel(timer) => ctx.cancel(timer),
                    _ => {}
                }
            }
            control(self.object.bind(py), name)
        });
        match called {
            Ok(control) => self.control = control,
            Err(error) => self.failure.keep(error),
        }
    }
}

impl Sender for PySender {
    fn control(&self) -> Control {
        self.control
    }

    fn on_established(&mut self, rtt: Delta) {
        if self.on_established.is_none() || self.failure.has_happened() {
            return;
        }
        let called = Python::attach(|py| {
            if let Some(handler) = &self.on_established {
                handler.call1(py, (rtt.as_ps(),))?;
            }
            control(self.object.bind(py), "on_established")
        });
        match called {
            Ok(control) => self.control = control,
            Err(error) => self.failure.keep(error),
        }
    }

    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.call(ctx, "on_start", |own| own.on_start.as_ref(), |_| Ok(None));
    }

    fn wants_on_send(&self) -> bool {
        self.on_send.is_some()
    }

    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.call(ctx, "on_send", |own| own.on_send.as_ref(), |py| Ok(Some(Py::new(py, PySent(*sent))?.into_any())));
    }

    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.call(
            ctx,
            "on_ack",
            |own| Some(&own.on_ack),
            |py| {
                let &Ack {
                    acked,
                    ack_seq,
                    snd_nxt,
                    in_flight,
                    rtt,
                    ecn_echo,
                    ce,
                    in_recovery,
                    app_limited,
                    delivery,
                    int,
                    ..
                } = ack;
                let hops = int.iter().map(|record| Py::new(py, PyHop(record.unpack()))).collect::<PyResult<_>>()?;
                let signal = PyAck {
                    acked: acked.get(),
                    ack_seq: ack_seq.get(),
                    snd_nxt: snd_nxt.get(),
                    in_flight: in_flight.get(),
                    rtt_ps: rtt.map(Delta::as_ps),
                    ecn_echo,
                    marked: ack.marked().get(),
                    ce,
                    in_recovery,
                    app_limited,
                    delivery,
                    hops,
                };
                Ok(Some(Py::new(py, signal)?.into_any()))
            },
        );
    }

    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        self.call(ctx, "on_loss", |own| own.on_loss.as_ref(), |py| Ok(Some(Py::new(py, PyLoss(*loss))?.into_any())));
    }

    fn on_idle_restart(&mut self, ctx: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        self.call(
            ctx,
            "on_idle_restart",
            |own| own.on_idle_restart.as_ref(),
            |py| {
                let times = (idle.as_ps(), Some(rto).filter(|rto| *rto != Delta::MAX).map(Delta::as_ps));
                Ok(Some(times.into_pyobject(py)?.into_any().unbind()))
            },
        );
    }

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.timed.1 += 1;
        if self.timed.1 == MAX_TIMERS {
            let since = std::mem::replace(&mut self.timed, (ctx.now(), 0)).0;
            if self.on_timer.is_some() && ctx.now().since(since) <= IN_TIME && !self.failure.has_happened() {
                let error = Python::attach(|py| stands_still(self.object.bind(py), since, ctx.now()));
                self.failure.keep(error);
            }
        }
        self.call(
            ctx,
            "on_timer",
            |own| own.on_timer.as_ref(),
            |py| Ok(Some(timer.0.into_pyobject(py)?.into_any().unbind())),
        );
    }
}

/// The window and rate that an object says: numbers above zero, or `None` for no limit.
fn control(object: &Bound<'_, PyAny>, after: &str) -> PyResult<Control> {
    let py = object.py();
    let (cwnd, rate) = (object.getattr(pyo3::intern!(py, "cwnd"))?, object.getattr(pyo3::intern!(py, "pacing_rate"))?);
    let cwnd = limit(&cwnd).ok_or_else(|| unusable(object, "cwnd", &cwnd, "bytes of payload", after))?;
    let rate = limit(&rate).ok_or_else(|| unusable(object, "pacing_rate", &rate, "bit/s", after))?;
    Ok(Control { cwnd: cwnd.map_or(Bytes::MAX, Bytes::from_f64), pacing: rate.map_or(Rate::MAX, Rate::from_f64) })
}

/// Parses an optional limit; `None` means unlimited.
fn limit(value: &Bound<'_, PyAny>) -> Option<Option<f64>> {
    if value.is_none() {
        return Some(None);
    }
    let number: f64 = value.extract().ok()?;
    // Infinity is no limit, and less than one is one: the smallest that there is.
    (number >= 0.0).then_some(Some(number.max(1.0)).filter(|n| n.is_finite()))
}

/// An object whose timers are due again and again.
fn stands_still(object: &Bound<'_, PyAny>, since: Time, now: Time) -> PyErr {
    let [since, now] = [since, now].map(|time| time.as_secs_f64() * 1e3);
    of_handler(
        object,
        "on_timer",
        &format!(
            "on_timer was called {MAX_TIMERS} times for one flow from {since:.6} to {now:.6} ms of the run: simulated time stands still; \
         expected timers that are armed for later"
        ),
    )
}

/// An error of a handler that none has raised itself: farloop.algorithm tells the line where it begins.
fn of_handler(object: &Bound<'_, PyAny>, handler: &str, problem: &str) -> PyErr {
    let class = object.get_type().name().map(|n| n.to_string()).unwrap_or_default();
    let error = PyValueError::new_err(format!("{class}.{problem}"));
    let noted = error.value(object.py()).setattr("handler", handler);
    noted.err().unwrap_or(error)
}

fn unusable(object: &Bound<'_, PyAny>, name: &str, value: &Bound<'_, PyAny>, unit: &str, after: &str) -> PyErr {
    let shown = value.repr().map(|r| r.to_string()).unwrap_or_default();
    let shown: String = shown.chars().take(60).collect();
    of_handler(object, after, &format!("{name} is {shown} after {after}; expected {unit} from 0, or None for no limit"))
}
