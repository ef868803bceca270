//! `icc`: switch ports that judge their own congestion and write the verdict into passing ACKs; sources that compute their rate from it at
//! once.
//!
//! Source: Wang et al., "Congestion Control Using In-Network Telemetry for Lossless Datacenters", CMC 75(1), 2023: Fig. 7 and Algorithm 1.
//! Equation numbers are those of `spec/icc.md`.
//!
//! The model in five lines:
//! - every 5 µs a port takes its queue, how it changed, how busy the link was, and how many flows it serves;
//! - a queue that stands or grows on a busy link is reported at once, everything else every 15 µs;
//! - a report is a header field of 16 bytes that the port writes into all ACKs that come back through it;
//! - a queue that grows: as much as fits before it reaches Q_d; one that falls: the link's rate less what empties it in a round trip;
//! - no queue: towards line rate, the nearer the less the link is used.
//!
//! ```text
//!   data ----> [queue] ----> link        every 5 µs: queue, rate of change, utilisation, flows   ---> report
//!   source <---- ACK + report <---- ACK enters by the same port                                        |
//!   source: V = f(report), one step per report                           <----------------------------+
//! ```
//!
//! The paper's bounds on V are at least C/n wherever there is a queue, which then never goes (`bounds = "printed"`). The default's follow
//! from what the paper says that they are for. All else is as printed.

mod params;
mod port;
mod sender;
mod verdict;

pub use params::{IccBounds, IccIncrease, IccParams, IccReports};
pub use port::IccPort;
pub use sender::IccSender;
pub use verdict::Verdict;

use crate::api::*;
/// ICC: see the header of this file.
pub struct Icc;

impl Algorithm for Icc {
    const NAME: &'static str = "icc";
    const SUMMARY: &'static str = "rates from the verdicts that switch ports write into passing ACKs";
    const SOURCE: &'static str = "Wang et al., CMC 75(1), 2023";
    const NEEDS: Needs =
        Needs { port_agent: true, symmetric: true, fields: 1, header_bytes: Verdict::BYTES, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "ports write into the ACKs of their own flows";
    const LISTED: Listed = Listed::AcrossDatacenters("ICC");
    type Params = IccParams;
    type Sender = IccSender;
    type Receiver = EchoReceiver;
    type Port = IccPort;

    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "icc-drain",
            summary: "ICC whose bounds empty the queue in a round trip",
            settings: &[("bounds", "drain", "what the preset is for")],
        },
        Preset {
            name: "icc-fair",
            summary: "ICC whose rates grow by equal shares of what is free",
            settings: &[("increase", "fair", "what the preset is for")],
        },
        Preset {
            name: "icc-printed",
            summary: "ICC with the bounds that its paper prints",
            settings: &[("bounds", "printed", "ICC: Equations 2 and 3")],
        },
    ];

    fn sender(params: &IccParams, flow: &FlowInfo) -> IccSender {
        IccSender::new(params, flow)
    }
    fn receiver(_: &IccParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
    fn port(params: &IccParams, port: &PortInfo) -> Option<IccPort> {
        Some(IccPort::new(params, port))
    }
}
