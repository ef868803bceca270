//! Path choosers: which entropy value each packet of a multipath flow carries.
//!
//! Switches that hash the entropy value ([`Entropy`]) choose among equal-cost paths by it, so a sender that changes it changes the path,
//! and one that keeps it keeps the path. A chooser is pure: it sees entropy values come back with the fate of their
//! packets, never the network. One chooser is one file here, and two lines below: its module, and its entry in `choosers!`.
//!
//! ```
//! use farloop_cc::paths::{PathChooser, PathCtx, PathFeedback, PathInfo, chooser};
//! use farloop_engine::RandomStream;
//! use farloop_units::{Bytes, Delta, Time, Value};
//!
//! let mut params = chooser("reps").unwrap();
//! params.set("paths", &Value::Int(8)).unwrap();
//! let mut random = RandomStream::new(1, "paths", 0);
//! let info = PathInfo { base_rtt: Delta::from_us(12), bdp_packets: 144, mss: Bytes::new(4096), planes: 1 };
//! let mut reps = params.start(&info, &mut random);
//!
//! // An entropy value that came back without a mark is used again.
//! let mut ctx = PathCtx { now: Time::ZERO, cwnd: Bytes::MAX, in_flight: Bytes::new(0), random: &mut random };
//! let first = reps.next(&mut ctx);
//! reps.feedback(&mut ctx, first, PathFeedback::Good);
//! assert_eq!(reps.next(&mut ctx), first);
//! ```

#[macro_use]
mod registry;

pub mod bitmap;
pub mod flowlet;
pub mod mixed;
pub mod mrc;
pub mod oblivious;
pub mod plb;
pub mod random;
pub mod reps;
pub mod single;
pub mod subflows;
#[cfg(test)]
mod tests;

use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Kind, ParamError, ParamSpec, ParamType, Params, Time, Value};

choosers! {
    Single = single::Single,
    Oblivious = oblivious::Oblivious,
    Bitmap = bitmap::Bitmap,
    Reps = reps::Reps,
    Mixed = mixed::Mixed,
    Plb = plb::Plb,
    Flowlet = flowlet::Flowlet,
    Subflows = subflows::Subflows,
    Random = random::Random,
    Mrc = mrc::Mrc,
}

/// An entropy value: 16 bits of header that switches hash (Ultra Ethernet 1.0, §3.5; the UDP source port of RoCEv2 does the same).
pub type Entropy = u16;

/// The fate of a packet with an entropy value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFeedback {
    /// It was acknowledged without a mark.
    Good,
    /// It was acknowledged with a Congestion Experienced mark.
    Ecn,
    /// It was trimmed, or its receiver requested it again.
    Nack,
    /// Its retransmission timer fired, or acknowledgements of later packets showed it to be lost.
    Timeout,
}

/// The flow of a chooser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathInfo {
    /// Round-trip time of a full-size packet and its ACK in the empty network.
    pub base_rtt: Delta,
    /// Bandwidth-delay product in full-size packets, at least 1.
    pub bdp_packets: u32,
    /// Payload of a full-size packet.
    pub mss: Bytes,
    /// Number of planes that the flow has, each with a chooser of its own.
    pub planes: u32,
}

/// Clock, window and randomness for one call of a chooser.
pub struct PathCtx<'a> {
    /// The simulated time.
    pub now: Time,
    /// The congestion window in payload bytes ([`Bytes::MAX`]: no limit).
    pub cwnd: Bytes,
    /// Payload bytes in flight.
    pub in_flight: Bytes,
    /// The random stream of the flow's host.
    pub random: &'a mut RandomStream,
}

/// Chooses the path of each packet of one flow.
pub trait PathChooser: Send {
    /// The entropy value of the packet that leaves now.
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy;
    /// Reports the fate of a packet with this entropy value. Under ACK coalescing only the packet that an ACK answers
    /// is reported.
    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback);
}

/// One kind of chooser: its state for a flow, its parameters, where it comes from.
pub trait Chooser: 'static {
    /// Its name in scenarios and on the command line: lower case.
    const NAME: &'static str;
    /// One line: what it is.
    const SUMMARY: &'static str;
    /// Where it is specified.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: Params + PartialEq;
    /// Its state for one flow.
    type State: PathChooser + 'static;

    /// The chooser of a flow that starts now; `random` is the stream of the flow's host.
    fn start(params: &Self::Params, info: &PathInfo, random: &mut RandomStream) -> Self::State;
}

/// Most state of a chooser that lives inline in [`AnyChooser`]; what is larger is boxed.
pub const MAX_CHOOSER_BYTES: usize = 64;

/// The description of a chooser.
#[derive(Clone, PartialEq, Debug)]
pub struct ChooserInfo {
    /// Its name.
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its parameters with defaults.
    pub params: Vec<ParamSpec>,
}

/// Every chooser, in registry order.
pub fn choosers() -> impl Iterator<Item = ChooserInfo> {
    prototypes().into_iter().map(|params| params.info())
}

/// The parameters of the chooser `name`, at their defaults; `None` for an unknown name.
pub fn chooser(name: &str) -> Option<ChooserParams> {
    prototypes().into_iter().find(|params| params.info().name == name)
}

/// Number of entropy values that a flow uses: a power of two from 1 to 32,768, so that a mask cuts a number down to
/// one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PathCount(u32);

impl PathCount {
    /// The fewest.
    pub const MIN: PathCount = PathCount(1);
    /// The most.
    pub const MAX: PathCount = PathCount(1 << 15);

    /// `count` entropy values; `None` unless it is a power of two from 1 to 32,768.
    pub const fn new(count: u32) -> Option<PathCount> {
        if count.is_power_of_two() && count <= Self::MAX.0 { Some(PathCount(count)) } else { None }
    }
    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl ParamType for PathCount {
    const KIND: Kind = Kind::Integer;
    fn from_value(value: &Value) -> Result<Self, String> {
        let count = match value {
            Value::Int(i) => u32::try_from(*i).ok().and_then(PathCount::new),
            _ => None,
        };
        count.ok_or_else(|| format!("{value} is no power of two; expected one from 1 to {}, such as 64", Self::MAX.0))
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Int(i64::from(self.0)))
    }
}

/// The entropy values of a flow: those whose upper bits are the flow's own, drawn when it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntropySet {
    mask: u16,
    upper: u16,
}

impl EntropySet {
    /// `count` values.
    fn new(count: PathCount, random: &mut RandomStream) -> EntropySet {
        let mask = (count.get() - 1) as u16;
        EntropySet { mask, upper: random.bits() as u16 & !mask }
    }
    /// Number of values.
    fn len(self) -> usize {
        usize::from(self.mask) + 1
    }
    /// The value of a number, of which the lower bits count.
    fn value(self, number: u16) -> Entropy {
        self.upper | (number & self.mask)
    }
    /// The number of a value.
    fn index(self, entropy: Entropy) -> usize {
        usize::from(entropy & self.mask)
    }
    /// Any of them.
    fn any(self, random: &mut RandomStream) -> Entropy {
        self.value(random.below(self.len() as u64) as u16)
    }
    /// Another than `entropy`, where there is one.
    fn other(self, entropy: Entropy, random: &mut RandomStream) -> Entropy {
        let step = 1 + random.below(u64::from(self.mask)) as u16;
        self.value(entropy.wrapping_add(step))
    }
}
