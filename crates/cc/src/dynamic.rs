//! Algorithms behind a trait object, from outside of this crate.
//!
//! An algorithm written in Rust implements [`Algorithm`], and [`Catalog::register`](crate::Catalog::register) makes the
//! rest. A maker of algorithms at run time (from a class of another language, from a library with a C interface) implements
//! [`DynAlgorithm`] itself: it needs neither names nor parameters at compile time.

use crate::api::*;
use crate::credit::{Granter, HostInfo};
use farloop_units::{ParamError, ParamSpec, Params, Value};
use std::fmt;

/// An algorithm with its parameters at some values.
///
/// A catalog keeps one with the defaults; it sets and builds clones. Two are taken for equal when their names and all
/// values are.
pub trait DynAlgorithm: fmt::Debug + Send + Sync {
    /// The algorithm's description; the same for all parameters.
    fn describe(&self) -> About;
    /// Its parameters in the order in which they are listed. The defaults are the values of [`DynAlgorithm::get`]
    /// before anything is set.
    fn specs(&self) -> Vec<ParamSpec>;
    /// Sets the parameter `name`; nothing changes on error. Acceptance of a value must not depend on other parameters: the
    /// settings of a preset, a table and a host are checked separately, and applied in the order in which they override
    /// each other.
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError>;
    /// The current value of `name`: `None` for an unknown name, `Some(None)` for an optional parameter that is not set.
    fn get(&self, name: &str) -> Option<Option<Value>>;
    /// Features that the network must offer with these parameters.
    fn needs(&self) -> Needs;
    /// Returns true if its senders act on a congestion notification packet that a switch sends.
    fn hears_cnp(&self) -> bool {
        false
    }
    /// A sender for a flow that starts now.
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender>;
    /// The receiver of a flow; it echoes marks and telemetry unless there is more to do.
    fn receiver(&self, _flow: &FlowInfo) -> Box<dyn Receiver> {
        Box::new(EchoReceiver)
    }
    /// The agent for a switch port, where [`Needs::port_agent`] says that there is one.
    fn port(&self, _port: &PortInfo) -> Option<Box<dyn PortAgent>> {
        None
    }
    /// The half of a receiving host, where [`Needs::credit`] says that there is one.
    fn granter(&self, _host: &HostInfo) -> Option<Box<dyn Granter>> {
        None
    }
    /// The same algorithm with the same values, independent of this one from now on.
    fn clone_box(&self) -> Box<dyn DynAlgorithm>;
}

impl Clone for Box<dyn DynAlgorithm> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// The description of an algorithm: its name, source and variants.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct About {
    /// Its name in scenarios and on the command line; [`Algorithm::NAME`].
    pub name: String,
    /// One line: what it is.
    pub summary: String,
    /// Where it is specified.
    pub source: String,
    /// The reason for its needs; [`Algorithm::NEEDS_REASON`].
    pub needs_reason: String,
    /// Hosts that have it or a preset of it; [`Algorithm::SHIPPED`].
    pub shipped: Vec<(String, Shipped)>,
    /// Its place in the README; [`Algorithm::LISTED`].
    pub listed: Listed,
    /// Named variants of it, which scenarios name as they name algorithms; [`Algorithm::PRESETS`].
    pub presets: Vec<Variant>,
    /// Its parameters on the hosts that `[transport] preset` names; [`Algorithm::HOSTS`].
    pub hosts: Vec<Variant>,
}

impl About {
    /// The declaration of the algorithm `A`.
    pub fn for_algorithm<A: Algorithm>() -> About {
        About {
            name: A::NAME.to_string(),
            summary: A::SUMMARY.to_string(),
            source: A::SOURCE.to_string(),
            needs_reason: A::NEEDS_REASON.to_string(),
            shipped: A::SHIPPED.iter().map(|(name, hosts)| (name.to_string(), *hosts)).collect(),
            listed: A::LISTED,
            presets: A::PRESETS.iter().map(Variant::from).collect(),
            hosts: A::HOSTS.iter().map(Variant::from).collect(),
        }
    }
}

/// Some parameters set differently from their defaults, under a name: a [`Preset`] whose texts are owned.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// One line: what it is.
    pub summary: String,
    /// Parameter names and values.
    pub settings: Vec<(String, Value)>,
    /// The sources of these values, in the same order; may be empty.
    pub sources: Vec<String>,
}

impl From<&Preset> for Variant {
    fn from(preset: &Preset) -> Variant {
        Variant {
            name: preset.name.to_string(),
            summary: preset.summary.to_string(),
            settings: preset.settings.iter().map(|(key, text, _)| (key.to_string(), value(text))).collect(),
            sources: preset.settings.iter().map(|(.., source)| source.to_string()).collect(),
        }
    }
}

/// Reads a preset's value: a boolean, a number, else a text.
fn value(text: &str) -> Value {
    if let Ok(b) = text.parse::<bool>() {
        Value::Bool(b)
    } else if let Ok(i) = text.parse::<i64>() {
        Value::Int(i)
    } else if let Ok(x) = text.parse::<f64>() {
        Value::Float(x)
    } else {
        Value::Text(text.to_string())
    }
}

/// The trait object of an [`Algorithm`].
pub(crate) struct Typed<A: Algorithm>(A::Params);

impl<A: Algorithm> Typed<A> {
    /// With its parameters at their defaults.
    pub fn new() -> Typed<A> {
        Typed(A::Params::default())
    }
}

impl<A: Algorithm> fmt::Debug for Typed<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<A: Algorithm> DynAlgorithm for Typed<A> {
    fn describe(&self) -> About {
        About::for_algorithm::<A>()
    }
    fn specs(&self) -> Vec<ParamSpec> {
        A::Params::specs()
    }
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
        self.0.set(name, value)
    }
    fn get(&self, name: &str) -> Option<Option<Value>> {
        self.0.get(name)
    }
    fn needs(&self) -> Needs {
        A::needs(&self.0)
    }
    fn hears_cnp(&self) -> bool {
        A::hears_cnp(&self.0)
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        Box::new(A::sender(&self.0, flow))
    }
    fn receiver(&self, flow: &FlowInfo) -> Box<dyn Receiver> {
        Box::new(A::receiver(&self.0, flow))
    }
    fn port(&self, port: &PortInfo) -> Option<Box<dyn PortAgent>> {
        A::port(&self.0, port).map(|agent| Box::new(agent) as Box<dyn PortAgent>)
    }
    fn granter(&self, host: &HostInfo) -> Option<Box<dyn Granter>> {
        A::granter(&self.0, host)
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(Typed::<A>(self.0.clone()))
    }
}
