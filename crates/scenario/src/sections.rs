//! The keys of every section of a scenario, with defaults, ranges and documentation: the one place from which reading,
//! `resolved()` and the editor schema come.

mod agent;
mod circuits;
mod coding;
mod events;
mod hosts;
mod job;
mod lcmp;
mod link_pfc;
mod one_or_more;
mod start;
mod transport;
mod workload;

pub use agent::*;
pub use circuits::*;
pub use coding::*;
pub use events::*;
pub use hosts::*;
pub use job::*;
pub use lcmp::*;
pub use link_pfc::*;
pub use one_or_more::*;
pub use start::*;
pub use transport::*;
pub use workload::*;

use farloop_net::spec::{
    DisciplineSpec, Ecmp, EcnAt, EcnSpec, FlowSpec, LcmpSpec, NodeKind, PfcSpec, PhantomSpec, QueueLimit, SwitchSpec,
    TrimSpec, XoffSpec,
};
use farloop_units::{Bytes, Delta, Kind, ParamSpec, ParamType, Params, Rate, Value, Words, choice, params};

/// Longest time that a scenario may name: simulated durations, starts and stops.
pub const MAX_TIME: Delta = Delta::from_secs(3600);
pub(crate) const MAX_DELAY: Delta = Delta::from_secs(10);
pub(crate) const SLOWEST: Rate = Rate::from_bps(1000);
pub(crate) const FASTEST: Rate = Rate::from_gbps(10_000);
/// Largest size that a scenario may name.
pub const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000);

params! {
    /// The top level.
    pub struct Top {
        /// What the scenario shows, in a few words.
        title: String = String::new();
        /// Where the scenario comes from: a paper and its figure, or a description.
        source: String = String::new();
    }
}

params! {
    /// `[run]`: how long, and with which randomness.
    pub struct Run {
        /// Simulated time. The run ends earlier if no events are left.
        duration: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_TIME);
        /// Seed of all random streams, and of the hash that spreads flows over equal paths: the same seed gives the same bytes.
        seed: u64 = 1;
        /// Which variation runs. 0: the scenario unchanged. k: the k-th variation, which only reorders events at the same
        /// picosecond and delays each flow's start by less than a full packet takes at its source. Numbers that change between
        /// variations are fragile: artefacts of ties.
        jitter: u32 = 0, in 0 => 1_000_000;
        /// What is simulated. "packets": every packet. "fluid": rates and fluid queues, driven by the algorithms' own code: much faster,
        /// with an error, and without some features, which are refused. "max-min": max-min fair rates and the empty network's delay, a
        /// baseline to compare the others with.
        gear: GearChoice = GearChoice::Packets;
        /// With `gear = "fluid"`: two more runs, which take about three times as long as the first, bound its error. false leaves them out.
        fluid_error: bool = true;
    }
}

choice! {
    /// The simulator that runs a scenario.
    pub enum GearChoice {
        /// Packet by packet.
        Packets = "packets",
        /// Fluid queues and the algorithms' own code.
        Fluid = "fluid",
        /// Max-min fair rates.
        MaxMin = "max-min",
    }
}

choice! {
    /// The chooser among equally short paths.
    pub enum EcmpChoice {
        /// The flow.
        Flow = "flow",
        /// The packet.
        Packet = "packet",
        /// The flow, and ACKs take their data's links back.
        Symmetric = "symmetric",
        /// The queues.
        Adaptive = "adaptive",
        /// The flow, among the fastest links.
        Ucmp = "ucmp",
        /// Delay, rate and queue.
        Lcmp = "lcmp",
        /// The sender.
        Source = "source",
    }
}

choice! {
    /// The queue whose length marks a packet.
    pub enum EcnAtChoice {
        /// The one that it finds.
        Arrival = "arrival",
        /// The one that it leaves behind.
        Departure = "departure",
        /// None of packets.
        Phantom = "phantom",
    }
}

choice! {
    /// The order of the data that waits at a port.
    pub enum DisciplineChoice {
        /// First in, first out.
        Fifo = "fifo",
        /// Deficit round robin over flows.
        Drr = "drr",
    }
}

/// The keys that both kinds of switches have.
pub(crate) trait SwitchKeys: Params {
    /// `kmin` and `kmax`.
    fn thresholds(&self) -> (Bytes, Bytes);
    /// A key that is set and has no effect, why it has none, and what is expected.
    fn idle_key(&self) -> Option<(&'static str, &'static str, &'static str)>;
    /// The network model's specification of the switch, where the largest packet takes `packet` on the wire.
    fn spec(&self, packet: Bytes) -> SwitchSpec;
}

const IDLE_QUANTUM: &str = "has no effect without discipline = \"drr\"";
const IDLE_LIMIT_RATE: &str = "has no effect without queue_limit";
const IDLE_ALPHA_RATE: &str = "has no effect with a fixed xoff";
const IDLE_KEPT_MARK: &str = "has no effect without trim";
const IDLE_LAST_HOP: &str = "has no effect without ecn = true";
const IDLE_PHANTOM: &str = "has no effect without ecn_at = \"phantom\"";

/// The two kinds of switches have the same keys and other defaults.
macro_rules! switch_section {
    ($(#[$meta:meta])* $name:ident, buffer: $buffer:expr, pfc: $pfc:expr, ecn: $ecn:expr, int: $int:expr, agents: $agents:expr) => {
        params! {
            $(#[$meta])*
            pub struct $name {
                /// Packet buffer of each switch, shared by all its ports, PFC headroom included.
                buffer: Bytes = $buffer, in Bytes::new(1000) => LARGEST;
                /// Dynamic threshold of lossy classes: a queue may hold alpha times the free shared buffer.
                alpha: f64 = 1.0, in 0.001 => 1024.0;
                /// Longest data queue of each port, in bytes on the wire: lossy packets beyond it are dropped. "none" for the share of the
                /// buffer alone.
                queue_limit: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
                /// The port rate to which queue_limit applies; at ports of another rate it scales in proportion. "none" for the same
                /// bytes at every port.
                queue_limit_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
                /// Longest data queue of each port, in packets; "none" for the share of the buffer alone.
                queue_limit_packets: Option<u32> = None, in Some(1) => Some(1_000_000_000);
                /// Trim packets that find no room: size of a trimmed packet as an IP packet (uet-htsim: 64B; SAI: 128B). It goes
                /// before all data, and tells the receiver what is missing. Packets beyond queue_limit are trimmed by whichever link they
                /// came. "none" to drop them. Needs transport.kind = "multipath".
                trim: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(9000));
                /// A trimmed packet keeps its Congestion Experienced mark, and its NACK echoes it: after a trim of the last hop the sender
                /// blames its path for the mark (Ultra Ethernet 1.0, §3.6.16). false: the mark is cleared. Needs trim.
                trim_keeps_mark: bool = false;
                /// Priority flow control for data (IEEE 802.1Qbb): pause the neighbour instead of dropping.
                pfc: bool = $pfc;
                /// Xoff threshold of an ingress port as a fraction of the free shared buffer (0.11: HPCC, SIGCOMM 2019,
                /// §5.1).
                xoff_alpha: f64 = 0.11, in 0.001 => 1024.0;
                /// The port rate up to which xoff_alpha applies; at a faster ingress port it is larger in proportion, up to 1 (HPCC's
                /// simulator). "none" for the same fraction at every port.
                xoff_alpha_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
                /// Fixed Xoff threshold of an ingress port; "none" for the dynamic one of xoff_alpha.
                xoff: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
                /// A paused neighbour resumes when its bytes have fallen this far below the threshold.
                hysteresis: Bytes = Bytes::new(3000), in Bytes::ZERO => LARGEST;
                /// Buffer reserved at each ingress port for the packets that still arrive after it has sent a pause; "none" to compute it
                /// from the link.
                headroom: Option<Bytes> = None, in Some(Bytes::ZERO) => Some(LARGEST);
                /// ECN marking of data packets (RFC 3168).
                ecn: bool = $ecn;
                /// No packet is marked at or below this queue. The default is DCTCP's step for 100 Gbps (Gear, §IV-A).
                kmin: Bytes = Bytes::new(900_000), in Bytes::ZERO => LARGEST;
                /// Every packet is marked above this queue; equal to kmin for a step.
                kmax: Bytes = Bytes::new(900_000), in Bytes::ZERO => LARGEST;
                /// Marking probability just below kmax.
                pmax: f64 = 1.0, in 0.0 => 1.0;
                /// The port rate to which kmin and kmax apply; at ports of another rate both scale in proportion. "none" for the
                /// same bytes at every port.
                ecn_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
                /// Which queue length marks a waiting packet. "arrival": the queue that it finds (DCTCP, SIGCOMM 2010, §3.1).
                /// "departure": the queue that it leaves behind, as in the published simulators of DCQCN and HPCC
                /// (docs/network-model.md). "phantom": a queue of no packets that drains more slowly than the port (Uno, SC 2025); it marks
                /// packets that do not wait, too.
                ecn_at: EcnAtChoice = EcnAtChoice::Arrival;
                /// Drop a TCP packet that is not ECN-capable where an ECN-capable one would be marked, as RED and WRED do (RFC 3168 §5).
                /// Needs ecn = true, pfc = false and ecn_at = "arrival".
                ecn_drops_others: bool = false;
                /// Mark at ports to hosts, too. false: only at ports to other switches (Ultra Ethernet 1.0, §3.6.14, where receivers grant
                /// credit). Needs ecn = true.
                ecn_last_hop: bool = true;
                /// With ecn_at = "phantom": the part of the port's rate at which that queue drains; "none" for 0.95 (Uno: 0.95 or 0.9).
                phantom_drain: Option<f64> = None, in Some(0.01) => Some(1.0);
                /// With ecn_at = "phantom": that queue is never longer; "none" for kmax and a packet (Uno: 22.4 MB, and marks from 2 % to
                /// 60 % of that).
                phantom_size: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
                /// How a switch chooses among equally short paths. "flow": all packets of a flow take one path; with transport.kind =
                /// "multipath" all with the same entropy value, so that the sender chooses. "packet": the switch sprays packets over all
                /// paths, so they arrive out of order. "symmetric": one path for a flow, with ACKs on the same links as their data.
                /// "adaptive": each packet goes by the port with the least data waiting (adaptive routing). "source": the entropy value
                /// itself names the port (source routing, as MRC over SRv6): its lower eight bits at a switch with hosts, the upper ones
                /// at others, modulo the number of ports. Needs transport.kind = "multipath". "ucmp": one path for a flow, among the
                /// fastest links. "lcmp": one path for a flow, by delay, rate and queue of the links (LCMP, EuroSys 2026), as [lcmp] says.
                ecmp: EcmpChoice = EcmpChoice::Flow;
                /// Order of the waiting data at a port, class by class. "fifo": first in, first out. "drr": deficit round robin,
                /// where flows with waiting packets take turns (Shreedhar and Varghese, SIGCOMM 1995).
                discipline: DisciplineChoice = DisciplineChoice::Fifo;
                /// With discipline = "drr": bytes on the wire that a flow may send in its turn; "none" for a full packet.
                quantum: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
                /// Per-flow queues of a port, for each class, where an algorithm separates flows (MLCC at DCI switches); flows
                /// beyond this number share one queue.
                flow_queues: u32 = 4096, in 0 => 1_000_000;
                /// Stamp in-band telemetry on data packets.
                int: bool = $int;
                /// Let an algorithm run its own code at the ports, such as QCN's sampling (a port agent).
                agents: bool = $agents;
            }
        }

        impl SwitchKeys for $name {
            fn thresholds(&self) -> (Bytes, Bytes) {
                (self.kmin, self.kmax)
            }
            fn idle_key(&self) -> Option<(&'static str, &'static str, &'static str)> {
                let turns = "expected discipline = \"drr\", or no quantum";
                let phantom = "expected ecn_at = \"phantom\", or none of its keys";
                let limit = "expected a queue_limit, or no queue_limit_rate";
                let alpha = "expected xoff = \"none\", or no xoff_alpha_rate";
                let no_phantom = self.ecn_at != EcnAtChoice::Phantom;
                let keys = [
                    ("queue_limit_rate", self.queue_limit_rate.is_some() && self.queue_limit.is_none(), limit),
                    ("xoff_alpha_rate", self.xoff_alpha_rate.is_some() && self.xoff.is_some(), alpha),
                    ("quantum", self.quantum.is_some() && self.discipline != DisciplineChoice::Drr, turns),
                    ("phantom_drain", self.phantom_drain.is_some() && no_phantom, phantom),
                    ("phantom_size", self.phantom_size.is_some() && no_phantom, phantom),
                    ("trim_keeps_mark", self.trim_keeps_mark && self.trim.is_none(), "expected a trim, or trim_keeps_mark = false"),
                    ("ecn_last_hop", !self.ecn_last_hop && !self.ecn, "expected ecn = true, or no ecn_last_hop"),
                ];
                if self.ecn_drops_others {
                    let wrong = match (self.ecn, self.pfc, self.ecn_at) {
                        (false, ..) => Some(("has no effect without ecn = true", "expected ecn = true, or ecn_drops_others = false")),
                        (_, true, _) => Some(("drops what pfc = true keeps", "expected pfc = false, or ecn_drops_others = false")),
                        (_, _, EcnAtChoice::Arrival) => None,
                        _ => Some(("drops packets on arrival", "expected ecn_at = \"arrival\", or ecn_drops_others = false")),
                    };
                    if let Some((problem, expected)) = wrong {
                        return Some(("ecn_drops_others", problem, expected));
                    }
                }
                let (key, _, expected) = keys.into_iter().find(|(_, idle, _)| *idle)?;
                let problem = match key {
                    "quantum" => IDLE_QUANTUM,
                    "queue_limit_rate" => IDLE_LIMIT_RATE,
                    "xoff_alpha_rate" => IDLE_ALPHA_RATE,
                    "trim_keeps_mark" => IDLE_KEPT_MARK,
                    "ecn_last_hop" => IDLE_LAST_HOP,
                    _ => IDLE_PHANTOM,
                };
                Some((key, problem, expected))
            }
            fn spec(&self, packet: Bytes) -> SwitchSpec {
                let xoff = self.xoff.map_or(XoffSpec::Dynamic(self.xoff_alpha), XoffSpec::Static);
                SwitchSpec {
                    buffer: self.buffer,
                    alpha: self.alpha,
                    queue_limit: QueueLimit {
                        bytes: self.queue_limit,
                        packets: self.queue_limit_packets,
                        rate: self.queue_limit_rate,
                    },
                    pfc: self.pfc.then_some(PfcSpec {
                        xoff,
                        alpha_rate: self.xoff_alpha_rate,
                        hysteresis: self.hysteresis,
                        headroom: self.headroom,
                    }),
                    ecn: self.ecn.then_some(EcnSpec {
                        kmin: self.kmin,
                        kmax: self.kmax,
                        pmax: self.pmax,
                        rate: self.ecn_rate,
                        drops_others: self.ecn_drops_others,
                        last_hop: self.ecn_last_hop,
                        at: match self.ecn_at {
                            EcnAtChoice::Arrival => EcnAt::Arrival,
                            EcnAtChoice::Departure => EcnAt::Departure,
                            EcnAtChoice::Phantom => EcnAt::Phantom(PhantomSpec {
                                drain_ppm: (self.phantom_drain.unwrap_or(0.95) * 1e6) as u32,
                                size: self.phantom_size.unwrap_or(self.kmax + packet),
                            }),
                        },
                    }),
                    discipline: match self.discipline {
                        DisciplineChoice::Fifo => DisciplineSpec::Fifo,
                        DisciplineChoice::Drr => {
                            DisciplineSpec::DeficitRoundRobin { quantum: self.quantum.unwrap_or(packet) }
                        }
                    },
                    ecmp: match self.ecmp {
                        // The same as Ecmp::Flow for transports without entropy values.
                        EcmpChoice::Flow => Ecmp::Entropy,
                        EcmpChoice::Packet => Ecmp::Packet,
                        EcmpChoice::Symmetric => Ecmp::Symmetric,
                        EcmpChoice::Adaptive => Ecmp::Adaptive,
                        EcmpChoice::Ucmp => Ecmp::Ucmp,
                        // Settled with [lcmp], for all switches at once.
                        EcmpChoice::Lcmp => Ecmp::Lcmp(LcmpSpec::default()),
                        EcmpChoice::Source => Ecmp::Source,
                    },
                    flow_queues: self.flow_queues,
                    scheduling: None,
                    elephants: None,
                    int: self.int,
                    agents: self.agents,
                    trim: self.trim.map(|size| TrimSpec { size, keeps_mark: self.trim_keeps_mark }),
                }
            }
        }
    };
}
switch_section!(
    /// `[switch]`: the switches of datacenters. All of them stamp, mark and pause unless told otherwise.
    Switch, buffer: Bytes::new(10_000_000), pfc: true, ecn: true, int: true, agents: true
);
switch_section!(
    /// `[wan_switch]`: the routers of the wide-area network. Deep buffers, no help for congestion control.
    WanSwitch, buffer: Bytes::new(200_000_000), pfc: false, ecn: false, int: false, agents: false
);

/// The keys of `[[switch_override]]`: the pattern, then those of `[switch]`, of which only the written ones count.
pub fn switch_override_specs() -> Vec<ParamSpec> {
    let pattern = ParamSpec {
        name: "match".into(),
        doc: "The switches and routers that it configures, by name: \"*\" matches any characters, \"?\" any one."
            .into(),
        kind: Kind::Text,
        optional: false,
        default: None,
        range: String::new(),
        unit: "".into(),
        source: "".into(),
    };
    let unset = |spec| ParamSpec { default: None, ..spec };
    [pattern].into_iter().chain(Switch::specs().into_iter().map(unset)).collect()
}

params! {
    /// `[algorithm]`: which one runs. Its parameters are in `[algorithm.NAME]`.
    pub struct AlgorithmKey {
        /// The congestion control of all flows that do not name their own. "A/B": A of flows inside a datacenter, B of flows across. Any
        /// key that names an algorithm takes such a pair.
        name: String = "gear".to_string();
        /// The congestion control of those of them that stay inside a datacenter; "none" for that of name.
        intra: Option<String> = None;
        /// The congestion control of those of them that cross datacenters; "none" for that of name.
        cross: Option<String> = None;
        /// The switches whose ports get an algorithm's port agents, such as Annulus' or PCN's. "all": all that take agents
        /// ([switch].agents). "tor": those of them with hosts. A list: those whose names match it; "*" matches any characters,
        /// "?" any one.
        agents: AgentPlaces = AgentPlaces::All;
    }
}

/// Where port agents live, among the switches that take them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentPlaces {
    /// At all of them.
    All,
    /// At those with a host at one of their links.
    Tor,
    /// At those whose names match one of these.
    Named(Vec<String>),
}

impl ParamType for AgentPlaces {
    const KIND: Kind = Kind::TextList(Words::Declared(&["all", "tor"]));
    fn from_value(value: &Value) -> Result<AgentPlaces, String> {
        match value {
            Value::List(names) if names.is_empty() => {
                Err("[] leaves no switch; expected a list of switches, \"all\" or \"tor\"".into())
            }
            Value::List(names) => Ok(AgentPlaces::Named(names.clone())),
            Value::Text(t) if t == "all" => Ok(AgentPlaces::All),
            Value::Text(t) if t == "tor" => Ok(AgentPlaces::Tor),
            other => Err(format!("{other} is not accepted; expected a list of switches, \"all\" or \"tor\"")),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(match self {
            AgentPlaces::All => Value::Text("all".into()),
            AgentPlaces::Tor => Value::Text("tor".into()),
            AgentPlaces::Named(names) => Value::List(names.clone()),
        })
    }
}

params! {
    /// `[[flow]]`: one flow, or `count` equal ones.
    pub struct Flow {
        /// Unique name; "none" for f1, f2, … by position.
        name: Option<String> = None;
        /// Source host.
        from: Option<String> = None;
        /// Destination host.
        to: Option<String> = None;
        /// When it starts.
        start: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
        /// When its application stops; "none" to continue until all data is sent or the run ends.
        stop: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_TIME);
        /// Payload to send; "none" to send until stop or the end of the run.
        size: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
        /// Rate to start at; "none" for the rate of the source's link.
        initial_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// Window to start with; "none" for the algorithm's own.
        initial_cwnd: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
        /// Its congestion control; "none" for [algorithm].name.
        algorithm: Option<String> = None;
        /// Data class: 0 goes before 1; each has its own queues and PFC.
        class: u8 = 0, in 0 => FlowSpec::CLASSES - 1;
        /// Mark the flow as an elephant: its data takes circuits, where switches schedule them ([circuits].scheduling).
        elephant: bool = false;
        /// Flows that must be over before this one begins (never before start): names of flows or of groups of flows (a name with
        /// count, a workload's), with an optional delay, such as ["request", "other+10us"]. A flow to this one's source is over
        /// when its last byte has arrived; a flow from it is over when that byte is acknowledged.
        after: Option<Vec<String>> = None;
        /// The NIC port that carries it at both ends, from 1, where hosts have several (a plane or a rail); "none" for the one that
        /// hosts.bond chooses.
        port: Option<u8> = None, in Some(1) => Some(NodeKind::MAX_PORTS as u8);
        /// The nodes that its packets pass, whatever the shortest paths are: names from its source to its destination, both included; of
        /// several links between two nodes the first, or with "NAME#2" the second to NAME. "none": the routes decide.
        path: Option<Vec<String>> = None;
        /// With path: the same for its acknowledgements and signals, from the destination to the source; "none" for the links of path back.
        ack_path: Option<Vec<String>> = None;
        /// How many equal flows; more than one are called NAME-1, NAME-2, ….
        count: u32 = 1, in 1 => 100_000;
    }
}

/// The flows or ports that get time series.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// Those that are most often needed, and never too many.
    Auto,
    /// All of them.
    All,
    /// None.
    None,
    /// These.
    Named(Vec<String>),
}

/// Words that mean a selection, and therefore cannot be names.
pub const SELECTION_WORDS: &[&str] = &["auto", "all", "none"];

impl ParamType for Selection {
    const KIND: Kind = Kind::TextList(Words::Declared(&["auto", "all", "*", "none"]));
    fn from_value(value: &Value) -> Result<Selection, String> {
        match value {
            Value::List(names) => Ok(Selection::Named(names.clone())),
            Value::Text(t) if t == "auto" => Ok(Selection::Auto),
            Value::Text(t) if t == "all" || t == "*" => Ok(Selection::All),
            Value::Text(t) if t == "none" => Ok(Selection::None),
            other => Err(format!(
                "{other} is not accepted; expected a list of names, \"auto\", \"all\" (or \"*\") or \"none\""
            )),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(match self {
            Selection::Auto => Value::Text("auto".into()),
            Selection::All => Value::Text("all".into()),
            Selection::None => Value::Text("none".into()),
            Selection::Named(names) => Value::List(names.clone()),
        })
    }
}

params! {
    /// `[record]`: which time series are kept.
    pub struct Record {
        /// Sampling interval of flows and ports; "none" for no series of them.
        interval: Option<Delta> = Some(Delta::from_ms(1)), in Some(Delta::from_ns(1)) => Some(MAX_TIME);
        /// Flows with series, by name: "*" matches any characters, "?" any one. "auto": all flows where there are at most 64,
        /// otherwise none.
        flows: Selection = Selection::Auto;
        /// Egress ports with series, written "left->right"; in "leaf1->*" the "*" matches any characters, "?" any one. "*" or
        /// "all": all of them. "auto": the ports where the topology can be congested, at most 64, and the worst ports of the run
        /// by mean queue, longest queue, drops and time paused (docs/outputs.md).
        ports: Selection = Selection::Auto;
        /// Switches that schedule circuits and whose queues get series, by name. farloop takes sixteen samples in a slot, in the
        /// last whole week of the run, or in the whole run if it has none. "auto": the first of them.
        queues: Selection = Selection::Auto;
    }
}
