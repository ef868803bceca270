//! Algorithms that no registry knows, for tests of whatever takes plug-ins.

use crate::api::*;
use crate::dynamic::{About, DynAlgorithm};
use farloop_units::{Bytes, Kind, ParamError, ParamSpec, ParamType, Rate, Value};

farloop_units::params! {
    /// Parameters of [`Aimd`].
    pub struct AimdParams {
        /// Growth of the window per round trip, in packets.
        increase: f64 = 1.0, in 0.0 => 1000.0;
        /// Fraction of the window that remains after a signal of congestion.
        decrease: f64 = 0.5, in 0.0 => 1.0;
        /// Least window.
        least: Bytes = Bytes::new(1500), in Bytes::new(1) => Bytes::new(1_000_000);
        /// Switches tell the source of a packet that meets this much queue; "none" for switches that do nothing.
        watch: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000));
    }
}

/// Additive increase, multiplicative decrease on ECN marks, losses and signals: has every half that an algorithm can have.
pub struct Aimd;

impl Algorithm for Aimd {
    const NAME: &'static str = "sample-aimd";
    const SUMMARY: &'static str = "additive increase, multiplicative decrease on ECN marks";
    const SOURCE: &'static str = "Chiu, Jain: Analysis of the increase and decrease algorithms (1989)";
    const NEEDS: Needs = Needs { ecn: true, ..Needs::NONE };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "sample-aimd-watched",
        summary: "the same with a half in the switches",
        settings: &[("watch", "50kB", "an example"), ("decrease", "0.8", "an example")],
    }];
    const HOSTS: &'static [Preset] =
        &[Preset { name: "linux-6", summary: "with a larger window", settings: &[("least", "3kB", "an example")] }];
    type Params = AimdParams;
    type Sender = AimdSender;
    type Receiver = EchoReceiver;
    type Port = Watcher;

    fn needs(params: &AimdParams) -> Needs {
        Needs { port_agent: params.watch.is_some(), ..Self::NEEDS }
    }
    fn sender(params: &AimdParams, flow: &FlowInfo) -> AimdSender {
        let cwnd = flow.initial_cwnd.unwrap_or(flow.bdp()).as_f64();
        AimdSender { cwnd, reduced_until: Bytes::ZERO, mss: flow.mss.as_f64(), params: params.clone() }
    }
    fn receiver(_: &AimdParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
    fn port(params: &AimdParams, _: &PortInfo) -> Option<Watcher> {
        params.watch.map(Watcher)
    }
}

/// The sender half of [`Aimd`]; windows in bytes.
pub struct AimdSender {
    cwnd: f64,
    /// Marks on data sent before the last reduction say nothing new.
    reduced_until: Bytes,
    mss: f64,
    params: AimdParams,
}

impl Sender for AimdSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::from_f64(self.cwnd).max(self.params.least), pacing: Rate::MAX }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        if !ack.ecn_echo {
            let cwnd = self.control().cwnd.as_f64();
            self.cwnd = (cwnd + self.params.increase * self.mss * ack.acked.as_f64() / cwnd).min(1e12);
        } else if ack.ack_seq > self.reduced_until {
            self.cwnd *= self.params.decrease;
            self.reduced_until = ack.snd_nxt;
        }
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        if loss.kind != LossKind::Spurious {
            self.cwnd *= self.params.decrease;
        }
    }
    fn on_signal(&mut self, _: &mut Ctx<'_>, _: &Signal) {
        self.cwnd *= self.params.decrease;
    }
}

/// The half of [`Aimd`] at a switch port: tells the sources of packets that meet more than so much queue.
pub struct Watcher(Bytes);

impl PortAgent for Watcher {
    fn on_enqueue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes) -> Admit {
        if head.data && queue > self.0 {
            ctx.emit(Signal::Quantized { feedback: 63 });
        }
        Admit::Enqueue
    }
}

/// An algorithm that is made at run time, its names included: a constant window, which is its one parameter.
#[derive(Clone, Debug)]
pub struct MadeAtRunTime {
    about: About,
    parameter: String,
    window: Bytes,
    needs: Needs,
}

impl MadeAtRunTime {
    /// The algorithm `name` with the parameter `parameter`, at first 10 kB.
    pub fn new(name: &str, parameter: &str) -> MadeAtRunTime {
        let about = About {
            name: name.to_string(),
            summary: "a constant window".to_string(),
            source: "none: a test".to_string(),
            ..About::default()
        };
        MadeAtRunTime { about, parameter: parameter.to_string(), window: Bytes::new(10_000), needs: Needs::NONE }
    }

    /// The same with these needs.
    pub fn needing(self, needs: Needs) -> MadeAtRunTime {
        MadeAtRunTime { needs, ..self }
    }

    /// The same with another description.
    pub fn map_description(self, change: impl FnOnce(&mut About)) -> MadeAtRunTime {
        let mut made = self;
        change(&mut made.about);
        made
    }
}

impl DynAlgorithm for MadeAtRunTime {
    fn describe(&self) -> About {
        self.about.clone()
    }
    fn specs(&self) -> Vec<ParamSpec> {
        vec![ParamSpec {
            name: self.parameter.clone().into(),
            doc: "The window.".to_string(),
            kind: Kind::Bytes,
            optional: false,
            default: None,
            range: "1B to 1GB".to_string(),
            unit: "".into(),
            source: "".into(),
        }]
    }
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
        if name != self.parameter {
            return Err(ParamError::UnknownName);
        }
        let window = Bytes::from_value(value).map_err(ParamError::BadValue)?;
        if !(1..=1_000_000_000).contains(&window.get()) {
            return Err(ParamError::OutOfRange("1B to 1GB".to_string()));
        }
        self.window = window;
        Ok(())
    }
    fn get(&self, name: &str) -> Option<Option<Value>> {
        (name == self.parameter).then(|| self.window.to_value())
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn sender(&self, _: &FlowInfo) -> Box<dyn Sender> {
        Box::new(ConstantWindow(self.window))
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

struct ConstantWindow(Bytes);

impl Sender for ConstantWindow {
    fn control(&self) -> Control {
        Control { cwnd: self.0, pacing: Rate::MAX }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &Ack<'_>) {}
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}
