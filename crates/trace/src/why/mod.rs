//! Where the time of flows went: a critical path through the events of a flow's packets, whose parts add up to its completion time.
//!
//! While a simulation runs, it reports to [`Journals`] each packet of the flows that they watch (data and its ACKs): when
//! it comes to a port, begins to leave it, arrives at the next node; and the work of the ports while it waited. Each of
//! these is an *event* with the earlier events that it had to wait for, each with a time that had to pass in between
//! (*edge*): a packet arrives after its serialisation and propagation, leaves a port after it came and after the flow's
//! packet before it, leaves its source after the ACK that opened the window and after the pacing gap.
//!
//! Of the edges of an event the journal keeps the one that would decide if nobody else were on the network: had no rival's packet been
//! served and no port been paused. So the path is the one that is left when all rivals are gone, and what the flow waited along it is what
//! their going gains where windows are fixed. With the edge that did decide, it also keeps what it needs to say what happened meanwhile.
//! (A critical path by the edges that did decide follows a queue back through the packets ahead, and so blames propagation on
//! rivals: between two packets of a window that both wait in one queue no propagation is left.)
//!
//! From the flow's last event the walk ([`Journals::answer`]) goes back along these edges to its start. Each step is an interval of time
//! with a cause; together they are all intervals from start to end, without gap and without a remainder.
//!
//! A queue pair, whose flow is a stream of messages, is watched for some of them ([`Wanted`]): from when a message was handed over, or a
//! later time, until its last byte is there. Its events before and between them are forgotten.

mod event;
mod journal;
mod journals;
mod messages;
mod port_log;
mod queue_pair;
mod walk;

pub use event::{Ends, Kind, Passing, Source, Turn};
pub use journals::Journals;
pub use messages::{Explained, Wanted};

use farloop_units::{Delta, Time};
use std::collections::BTreeMap;

/// The activity on which time was spent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// Bits of the flow's packets were put on the link.
    Serialisation,
    /// A packet was on the link.
    Propagation,
    /// A packet waited while others were served; at the source's port, the NIC.
    Queue,
    /// Its class was paused by priority flow control.
    Pause,
    /// The port was idle: its discipline or circuit held the packet back.
    Hold,
    /// The pacing rate did not allow the next packet.
    Pacing,
    /// Segmentation offload: the host waited until the windows had room for a whole chunk, and so used less of them.
    Offload,
    /// A packet was sent again: from the first time to the second.
    Recovery,
    /// A timer of the flow's algorithm ran, from the event at the source before it.
    Timer,
    /// The receiving host granted credit: from the last packet of the flow that it got.
    Credit,
    /// The receiver waited before it answered.
    Receiver,
    /// The packet waited until its host, which stalled, went on.
    Stall,
    /// Delay noise of a host.
    Noise,
    /// From the last acknowledgement of a flow that did not finish to the end of the run.
    Unfinished,
}

impl Why {
    /// All of them.
    pub const ALL: [Why; 14] = [
        Why::Serialisation,
        Why::Propagation,
        Why::Queue,
        Why::Pause,
        Why::Hold,
        Why::Pacing,
        Why::Offload,
        Why::Recovery,
        Why::Timer,
        Why::Credit,
        Why::Receiver,
        Why::Stall,
        Why::Noise,
        Why::Unfinished,
    ];

    /// In words, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Why::Serialisation => "serialisation",
            Why::Propagation => "propagation",
            Why::Queue => "queue",
            Why::Pause => "pause",
            Why::Hold => "hold",
            Why::Pacing => "pacing",
            Why::Offload => "segmentation offload",
            Why::Recovery => "recovery",
            Why::Timer => "algorithm's timer",
            Why::Credit => "credit",
            Why::Receiver => "receiver",
            Why::Stall => "host stall",
            Why::Noise => "delay noise",
            Why::Unfinished => "unfinished",
        }
    }
}

/// The source's limit under which the time was spent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Limit {
    /// None: data left as fast as its NIC took it, and this is its way.
    None,
    /// The window was full: the way of the packet, and of the ACK, that opened it.
    Window,
    /// As the window, of one that is smaller than it was before the algorithm cut it for a loss.
    AfterLoss,
    /// Pacing: the gap itself, or the way of the event that raised the rate.
    Rate,
    /// The receiving host had granted no more: the way of the credit, and of the packet that it answered.
    Credit,
    /// As the window, for the receiver's window.
    ReceiveWindow,
    /// As the window, as far as segmentation offload has not used it.
    Offload,
    /// The connection was not open.
    Handshake,
    /// Losses were being repaired.
    Repair,
    /// Of a message: the queue pair still sent earlier messages.
    Earlier,
}

impl Limit {
    /// All of them.
    pub const ALL: [Limit; 10] = [
        Limit::None,
        Limit::Window,
        Limit::AfterLoss,
        Limit::Rate,
        Limit::Credit,
        Limit::ReceiveWindow,
        Limit::Offload,
        Limit::Handshake,
        Limit::Repair,
        Limit::Earlier,
    ];

    /// In words, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Limit::None => "",
            Limit::Window => "window",
            Limit::AfterLoss => "window after losses",
            Limit::Rate => "rate",
            Limit::Credit => "credit",
            Limit::ReceiveWindow => "receive window",
            Limit::Offload => "segmentation offload",
            Limit::Handshake => "handshake",
            Limit::Repair => "recovery",
            Limit::Earlier => "earlier messages",
        }
    }
}

/// The cause of a part of the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Blame {
    /// Its activity.
    pub why: Why,
    /// Under which limit of the source.
    pub limit: Limit,
    /// The egress port, where there is one; of a recovery the one of the loss.
    pub port: Option<u32>,
    /// Of [`Why::Queue`] the flow whose packets were served, the flow itself included; `None` for frames of links.
    pub rival: Option<u32>,
    /// Of [`Why::Pause`] the port where the chain of pauses begins.
    pub root: Option<u32>,
    /// Over multipath endpoints the entropy value of the packet that waited; of a recovery that of the lost one.
    pub entropy: Option<u32>,
}

/// Data that left the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sending {
    /// When.
    pub at: Time,
    /// By which egress port: of a sprayed flow it names the plane.
    pub port: u32,
    /// Its offset.
    pub sequence: u64,
    /// Over multipath endpoints its entropy value.
    pub entropy: Option<u32>,
}

/// Data that left the source again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repair {
    /// The copy that was given up.
    pub before: Sending,
    /// The next one.
    pub again: Sending,
    /// The port where the first one was lost; `None` if it was only late.
    pub lost: Option<u32>,
    /// The state of the entropy value of the first copy as the next one left, where paths have states.
    pub state: Option<&'static str>,
}

/// One interval of a flow's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub until: Time,
    /// Its cause.
    pub blame: Blame,
}

/// Where the time of a flow went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The flow.
    pub flow: u32,
    /// When it began.
    pub start: Time,
    /// When its last byte was acknowledged, or the run ended.
    pub end: Time,
    /// True if its last byte was acknowledged.
    pub finished: bool,
    /// The data packet whose acknowledgement was the last: the end of the path.
    pub last: Option<Sending>,
    /// Data that was sent again, in the order of time.
    pub repairs: Vec<Repair>,
    /// In the order of time, each beginning where the one before ends: from `start` to `end`.
    pub segments: Vec<Segment>,
}

impl Answer {
    /// The time by cause; together exactly from start to end.
    pub fn parts(&self) -> BTreeMap<Blame, Delta> {
        let mut parts = BTreeMap::new();
        for segment in &self.segments {
            *parts.entry(segment.blame).or_insert(Delta::ZERO) += segment.until - segment.from;
        }
        parts
    }
}

#[cfg(test)]
mod tests;
