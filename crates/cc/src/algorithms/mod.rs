//! The algorithms that come with farloop. Adding one takes a file here and two lines below: its module, and its entry in `registry!`.
//!
//! The registry makes [`Catalog::builtin`](crate::Catalog::builtin), and everything that lists or builds algorithms asks a catalog: the command
//! line, scenarios, the editor schema, `farloop explain`, property tests over all algorithms.

#[macro_use]
mod registry;

pub mod annulus;
pub mod bbr;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod gear;
pub mod gemini;
pub mod hpcc;
pub mod hystart;
pub mod mlcc;
pub mod pcn;
pub mod poseidon;
pub mod powertcp;
pub mod reno;
pub mod swift;
pub mod timely;
pub mod vegas;
pub mod window;

use crate::api::*;
use crate::dynamic::{About, DynAlgorithm};
use crate::int::IntRecord;
use farloop_units::{Bytes, ParamError, ParamSpec, Params, Rate, Value};

/// Per-flow sender state that lives inline. Larger senders box what they seldom touch, so that flows of the others stay small.
pub const MAX_SENDER_BYTES: usize = 256;

registry! {
    Fixed = fixed::Fixed,
    Reno = reno::Reno,
    Cubic = cubic::Cubic,
    Bbr = bbr::Bbr,
    Dctcp = dctcp::Dctcp,
    Gemini = gemini::Gemini,
    Hpcc = hpcc::Hpcc,
    Timely = timely::Timely,
    Dcqcn = dcqcn::Dcqcn,
    Annulus = annulus::Annulus,
    Vegas = vegas::Vegas,
    Gear = gear::Gear,
    Poseidon = poseidon::Poseidon,
    PowerTcp = powertcp::PowerTcp,
    ThetaPowerTcp = powertcp::ThetaPowerTcp,
    Swift = swift::Swift,
    Pcn = pcn::Pcn,
    Mlcc = mlcc::Mlcc,
}
