//! The algorithms that come with farloop. Adding one takes a file here and two lines below: its module, and its entry in `registry!`.
//!
//! The registry makes [`Catalog::builtin`](crate::Catalog::builtin), and everything that lists or builds algorithms asks a catalog: the
//! command line, scenarios, the editor schema, `farloop explain`, property tests over all algorithms.

#[macro_use]
mod registry;

pub mod annulus;
pub mod avoidance;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod flight;
pub mod gear;
pub mod gear_plus;
pub mod gemini;
pub mod highspeed;
pub mod hpcc;
pub mod htcp;
pub mod hybla;
pub mod hystart;
pub mod icc;
pub mod illinois;
pub mod ledbat;
pub mod mlcc;
pub mod nscc;
pub mod nscc_rccc;
pub mod pcn;
pub mod poseidon;
pub mod powertcp;
pub mod rccc;
pub mod reno;
pub mod scalable;
pub mod smartt;
pub mod swift;
pub mod timely;
pub mod uno;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod window;
pub mod yeah;

use crate::api::*;
use crate::credit::{Granter, HostInfo};
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
    Bbr3 = bbr3::Bbr3,
    Dctcp = dctcp::Dctcp,
    Gemini = gemini::Gemini,
    Hpcc = hpcc::Hpcc,
    Timely = timely::Timely,
    Dcqcn = dcqcn::Dcqcn,
    Annulus = annulus::Annulus,
    Vegas = vegas::Vegas,
    Gear = gear::Gear,
    GearPlus = gear_plus::GearPlus,
    Poseidon = poseidon::Poseidon,
    PowerTcp = powertcp::PowerTcp,
    ThetaPowerTcp = powertcp::ThetaPowerTcp,
    Swift = swift::Swift,
    Pcn = pcn::Pcn,
    Mlcc = mlcc::Mlcc,
    Bic = bic::Bic,
    HighSpeed = highspeed::HighSpeed,
    HTcp = htcp::HTcp,
    Hybla = hybla::Hybla,
    Illinois = illinois::Illinois,
    Ledbat = ledbat::Ledbat,
    Scalable = scalable::Scalable,
    Veno = veno::Veno,
    Westwood = westwood::Westwood,
    Yeah = yeah::Yeah,
    Icc = icc::Icc,
    Nscc = nscc::Nscc,
    Rccc = rccc::Rccc,
    NsccRccc = nscc_rccc::NsccRccc,
    Smartt = smartt::Smartt,
    Uno = uno::Uno,
}
