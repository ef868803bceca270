//! `icc`: switch ports that judge their own congestion and write the verdict into passing ACKs; sources that compute their rate from it at once.
//!
//! Source: Wang et al., "Congestion Control Using In-Network Telemetry for Lossless Datacenters", CMC 75(1), 2023: Fig. 7 and Algorithm 1.
//! Equation numbers are those of `spec/icc.md`.
//!
//! The model in five lines:
//! - every 5 µs a port takes its queue, how it changed, how busy the link was, and how many flows it serves;
//! - a queue that stands or grows on a busy link is reported at once, everything else every 15 µs;
//! - a report is a header field of 16 bytes that the port writes into all ACKs that come back through it;
//! - a queue that grows: as much as fits before it reaches Q_d; one that falls: the link's rate less what empties it in a round trip;
//! - no queue: the flow's share of what the link has left.
//!
//! ```text
//!   data ----> [queue] ----> link        every 5 µs: queue, rate of change, utilisation, flows   ---> report
//!   source <---- ACK + report <---- ACK enters by the same port                                        |
//!   source: V = f(report), one step per report                           <----------------------------+
//! ```
//!
//! The paper's bounds on V are above C/n wherever there is a queue, which then never goes (`bounds = "printed"`); its increase takes all flows
//! towards line rate together (`increase = "printed"`). The defaults follow from what the paper says that they are for.

mod port;
mod sender;
mod verdict;

pub use port::IccPort;
pub use sender::IccSender;
pub use verdict::Verdict;

use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::choice! {
    /// What a source sends while there is a queue.
    pub enum IccBounds {
        /// What comes in over the horizon is what goes out, and what the queue may still take.
        Balanced = "balanced",
        /// The queue, as it will stand when the answer is felt, empties in a round trip.
        Drain = "drain",
        /// Equations 2 and 3 of the paper.
        Printed = "printed",
    }
}

farloop_units::choice! {
    /// How the rate grows where there is no queue.
    pub enum IccIncrease {
        /// By an equal share of what the link has left.
        Fair = "fair",
        /// Towards line rate, the nearer the less the link is used: Equation 6 of the paper.
        Printed = "printed",
    }
}

farloop_units::params! {
    /// Parameters of [`Icc`].
    pub struct IccParams {
        /// What sets the rate while there is a queue (ours; the paper's is "printed").
        bounds: IccBounds = IccBounds::Balanced;
        /// How the rate grows where there is none (ours; the paper's is "printed").
        increase: IccIncrease = IccIncrease::Fair;
        /// The queue that must not be exceeded, Q_d, safely below the threshold of PFC: half of it (ours; the default is that of a buffer of 5 MB with
        /// xoff_alpha = 0.11).
        q_d: Bytes = Bytes::new(275_000), in Bytes::new(1) => Bytes::new(1_000_000_000_000);
        /// Over what time a port measures the rate of change of its queue and its utilisation (ICC: 5 µs between the two rates).
        window: Delta = Delta::from_us(5), in Delta::from_ns(100) => Delta::from_ms(10);
        /// With bounds = "balanced": over how many T a queue that does not grow is emptied (ours; 1 as the paper means it).
        emptying: f64 = 2.0, in 0.1 => 100.0;
        /// How often a port reports whatever it sees (ICC: 15 µs).
        interval: Delta = Delta::from_us(15), in Delta::from_ns(100) => Delta::from_ms(10);
        /// Utilisation from which a queue that does not shrink is congestion (ICC: 70 %).
        busy: f64 = 0.7, in 0.0 => 1.0;
        /// The round-trip time T of the bounds, and for how long a port counts a flow after a packet; "none" for the one inside a datacenter, at sources
        /// the flow's own if that is longer.
        rtt: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_secs(10));
        /// The rate never falls below this (ours).
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000);
    }
}

/// ICC: see the header of this file.
pub struct Icc;

impl Algorithm for Icc {
    const NAME: &'static str = "icc";
    const SUMMARY: &'static str = "rates from the verdicts that switch ports write into passing ACKs";
    const SOURCE: &'static str = "Wang et al., CMC 75(1), 2023";
    const NEEDS: Needs =
        Needs { port_agent: true, symmetric: true, fields: 1, header_bytes: Verdict::BYTES, ..Needs::NONE };
    type Params = IccParams;
    type Sender = IccSender;
    type Receiver = EchoReceiver;
    type Port = IccPort;

    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "icc-drain",
            summary: "ICC whose bounds empty the queue in a round trip",
            settings: &[("bounds", "drain")],
        },
        Preset {
            name: "icc-printed",
            summary: "ICC with bounds and increase as its paper prints them",
            settings: &[("bounds", "printed"), ("increase", "printed")],
        },
        Preset {
            name: "icc-printed-bounds",
            summary: "ICC with the bounds that its paper prints",
            settings: &[("bounds", "printed")],
        },
        Preset {
            name: "icc-printed-increase",
            summary: "ICC with the increase that its paper prints",
            settings: &[("increase", "printed")],
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
