//! The keys of `[workload]`.

use super::{LARGEST, MAX_TIME};
use farloop_net::spec::FlowSpec;
use farloop_units::{Bytes, Delta, ParamSpec, Params, choice, params};

choice! {
    /// The arrival pattern of flows.
    pub enum Arrivals {
        /// One by one, at random.
        Poisson = "poisson",
        /// Every host sends one flow and receives one.
        Permutation = "permutation",
        /// Many to one.
        Incast = "incast",
        /// Every host sends a flow to every other one.
        AllToAll = "all-to-all",
        /// From every rack to every other one that it has circuits to.
        Elephants = "elephants",
        /// Hosts reduce what each of them has, and all get the result.
        AllReduce = "all-reduce",
        /// As a file lists them.
        List = "list",
    }
}

params! {
    /// The key of `[workload]` that decides about the others.
    pub struct ArrivalsKey {
        /// How flows arrive. "poisson": one by one, at random. "permutation", "incast" and "all-to-all": together, in rounds.
        /// "elephants": the same number from every rack to every other rack to which it has circuits. "all-reduce": in the steps
        /// of a collective operation. "list": as a file lists them (the default if the key flows is set). It decides which other
        /// keys there are.
        pattern: Arrivals = Arrivals::Poisson;
    }
}

choice! {
    /// The pairs of hosts that exchange flows.
    pub enum Pairs {
        /// All of them.
        All = "all",
        /// Those inside a datacenter.
        Intra = "intra",
        /// Those across datacenters.
        Cross = "cross",
        /// Those at different switches.
        Racks = "racks",
    }
}

params! {
    /// `[workload]` with any pattern but "elephants", "all-reduce" and "list".
    pub struct RandomFlows {
        /// Its flows are called NAME-1, NAME-2, …; "none" for f1, f2, … by their position among all flows.
        name: Option<String> = None;
        /// Flow sizes: a built-in distribution, a size for all, or a file of two columns (bytes, cumulative probability), relative to the
        /// scenario.
        sizes: String = "websearch".to_string();
        /// Which pairs of hosts exchange flows: "all" of them, those inside a datacenter ("intra"), those across ("cross"), or those at
        /// different switches ("racks").
        between: Pairs = Pairs::All;
        /// The hosts that take part, by name: "*" matches any characters, "?" any one.
        hosts: String = "*".to_string();
        /// First time at which flows arrive.
        start: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
        /// Time from which no more flows arrive; "none" for the end of the run.
        stop: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_TIME);
        /// The congestion control of its flows; "none" for [algorithm].name.
        algorithm: Option<String> = None;
        /// Data class: 0 goes before 1; each has its own queues and PFC.
        class: u8 = 0, in 0 => FlowSpec::CLASSES - 1;
        /// Elephants: their data takes circuits, where switches schedule them ([circuits].scheduling).
        elephant: bool = false;
    }
}

params! {
    /// `[workload]` with `pattern = "poisson"`.
    pub struct PoissonKeys {
        /// Mean load of the sending hosts' links, in payload, as a fraction of their rate.
        load: f64 = 0.3, in 0.0001 => 1.0;
        /// Which of the hosts send, by name; the others only receive.
        from: String = "*".to_string();
        /// Share of the flows, and on average of their bytes, that goes across datacenters: intra : cross = 5 : 1 is 0.1667. "none" to
        /// choose among all pairs of hosts with equal probability.
        cross_share: Option<f64> = None, in Some(0.0) => Some(1.0);
    }
}

params! {
    /// `[workload]` with `pattern = "permutation"`, `"incast"` or `"all-to-all"`.
    pub struct RoundKeys {
        /// From the start of one round to the start of the next; "none" for a single round.
        interval: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(MAX_TIME);
        /// Each flow starts at a random time within this from the start of its round.
        spread: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
    }
}

params! {
    /// `[workload]` with `pattern = "incast"`.
    pub struct IncastKeys {
        /// Flows of a round, from different hosts; where there are fewer hosts, some send several.
        senders: u32 = 16, in 1 => 1_000_000;
        /// The host that receives; "none" to draw one for each round.
        receiver: Option<String> = None;
    }
}

choice! {
    /// When elephants start.
    pub enum Phase {
        /// With the first day of their circuit.
        Day = "day",
        /// At random in a week.
        Week = "week",
        /// Together.
        None = "none",
    }
}

params! {
    /// `[workload]` with `pattern = "elephants"`.
    pub struct ElephantKeys {
        /// Its flows are called NAME-FROM-TO-1, NAME-FROM-TO-2, … by the switches of their racks; "none" for f1, f2, … by their position
        /// among all flows.
        name: Option<String> = None;
        /// Flows from each rack to each other rack to which it has circuits. They take the racks' hosts in turn. The default:
        /// AccelToR, §IV-B.
        per_pair: u32 = 80, in 1 => 100_000;
        /// Flow sizes: "unbounded", or as in other patterns.
        sizes: String = "unbounded".to_string();
        /// How many sizes to draw for each pair; the flows get the largest of them. "none" for as many as there are flows.
        drawn: Option<u32> = None, in Some(1) => Some(10_000_000);
        /// The hosts that take part, by name: "*" matches any characters, "?" any one.
        hosts: String = "*".to_string();
        /// Flows start from then on.
        start: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
        /// When each flow starts: with the first "day" of its circuit, at random within a "week" (one cycle of the circuits), or at once
        /// ("none").
        phase: Phase = Phase::Day;
        /// The congestion control of its flows; "none" for [algorithm].name.
        algorithm: Option<String> = None;
        /// Data class: 0 goes before 1; each has its own queues and PFC.
        class: u8 = 0, in 0 => FlowSpec::CLASSES - 1;
    }
}

choice! {
    /// The algorithm of an all-reduce.
    pub enum Collective {
        /// Around a ring, twice.
        Ring = "ring",
        /// With a partner in each step, twice as far away as the one before.
        RecursiveDoubling = "recursive-doubling",
        /// Around a ring in each datacenter, then across, then around the rings again.
        Hierarchical = "hierarchical",
    }
}

params! {
    /// `[workload]` with `pattern = "all-reduce"`.
    pub struct AllReduceKeys {
        /// Its flows are called NAME-1-1, NAME-1-2, … by round and position in it, all those of a round NAME-1; "none" for
        /// all-reduce-1, all-reduce-2, … in the place of NAME, by the position among workloads of this pattern.
        name: Option<String> = None;
        /// "ring": N hosts pass on an Nth of their data in each of 2(N-1) steps. "recursive-doubling": each host sends all of it
        /// to a partner, log2 N times. "hierarchical": a ring's first N-1 steps in each datacenter, then a ring across
        /// datacenters with each host's result, then the other N-1 steps.
        collective: Collective = Collective::Ring;
        /// The hosts that take part, by name, in the order of the network: "*" matches any characters, "?" any one.
        hosts: String = "*".to_string();
        /// Data that each host contributes.
        size: Bytes = Bytes::new(10_000_000), in Bytes::new(1) => LARGEST;
        /// Number of operations, one after the other: a host begins when it has the result of the one before.
        rounds: u32 = 1, in 1 => 100_000;
        /// Time that each host computes between one round's result and its next round.
        compute: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
        /// When the first round begins.
        start: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
        /// The congestion control of its flows; "none" for [algorithm].name.
        algorithm: Option<String> = None;
        /// Data class: 0 goes before 1; each has its own queues and PFC.
        class: u8 = 0, in 0 => FlowSpec::CLASSES - 1;
    }
}

params! {
    /// `[workload]` with `pattern = "list"`.
    pub struct ListKeys {
        /// CSV file, relative to the scenario: a row of column names, which are keys of [[flow]], then one row for each flow.
        flows: Option<String> = None;
    }
}

/// The word of each pattern, and all keys but `pattern`.
pub fn workload_alternatives() -> Vec<(&'static str, Vec<ParamSpec>)> {
    let random = |own: Vec<ParamSpec>| RandomFlows::specs().into_iter().chain(own).collect::<Vec<_>>();
    let incast = || RoundKeys::specs().into_iter().chain(IncastKeys::specs()).collect();
    vec![
        ("poisson", random(PoissonKeys::specs())),
        ("permutation", random(RoundKeys::specs())),
        ("incast", random(incast())),
        ("all-to-all", random(RoundKeys::specs())),
        ("elephants", ElephantKeys::specs()),
        ("all-reduce", AllReduceKeys::specs()),
        ("list", ListKeys::specs()),
    ]
}
