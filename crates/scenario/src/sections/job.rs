//! The keys of `[[job]]`, beside those of its plan ([`farloop_job::generate::Plan`]).

use super::*;
use farloop_net::spec::FlowSpec;
use farloop_units::{Delta, ParamSpec, Params, Rate, choice, params};

choice! {
    /// The rule that assigns hosts to ranks.
    pub enum Placement {
        /// Hosts one after the other.
        Packed = "packed",
        /// Hosts of the sites in turn.
        Striped = "striped",
    }
}

choice! {
    /// By which messages collectives are done.
    pub enum JobCollectives {
        /// As NCCL chooses.
        Nccl = "nccl",
        /// Rings.
        Ring = "ring",
        /// Recursive halving and doubling.
        Doubling = "doubling",
        /// Trees.
        Tree = "tree",
        /// Each to each.
        Direct = "direct",
        /// Inside of sites, across them, inside again.
        Hierarchical = "hierarchical",
    }
}

choice! {
    /// The rule by which messages of a job get the NIC port that they use.
    pub enum JobPortChoice {
        /// That of all flows.
        Bond = "bond",
        /// By the rank that sends.
        Rank = "rank",
        /// By the interface that the job's file names.
        File = "file",
    }
}

params! {
    /// `[[job]]`: a training job. The table has the keys of plans (docs/jobs.md), too, unless `file` has the job.
    pub struct JobKeys {
        /// Its name; "none" for job-1, job-2, … by its position. Paths and random numbers of its messages come from it.
        name: Option<String> = None;
        /// A trace or a plan in a format of `farloop import-job`, relative to the scenario; a list where the format has a file for each
        /// rank. "none" for the keys of a plan in this table.
        file: Option<OneOrMore> = None;
        /// The groups of Chakra traces: a JSON file, relative to the scenario, with lists of ranks by name. "none" for the groups that the
        /// traces tell of.
        groups: Option<String> = None;
        /// The hosts, by name, or a list of names: "*" matches any characters, "?" any one.
        hosts: OneOrMore = OneOrMore(vec!["*".to_string()]);
        /// Which host each rank gets. "packed": one host after the other, in the order of hosts, ranks_per_host to each. "striped": the
        /// same with the hosts of the datacenters in turn.
        placement: Placement = Placement::Packed;
        /// Ranks of a host, which its scale-up domain joins.
        ranks_per_host: u32 = 1, in 1 => 1024;
        /// When its ranks begin.
        start: Delta = Delta::ZERO, in Delta::ZERO => MAX_TIME;
        /// How often each rank runs its program.
        iterations: u32 = 1, in 1 => 1_000_000;
        /// By which messages collectives are done.
        collectives: JobCollectives = JobCollectives::Ring;
        /// The congestion control of its messages between hosts; "none" for [algorithm].name.
        algorithm: Option<String> = None;
        /// Data class: 0 goes before 1; each has its own queues and PFC.
        class: u8 = 0, in 0 => FlowSpec::CLASSES - 1;
        /// Which NIC port its messages use at both ends, where hosts have several. "bond": as hosts.bond chooses for each pair of ranks.
        /// "rank": by the rank that sends: the first rank of a host by its first port, the second by its second. "file": by the interface
        /// that the job's file names for the message (nic of GOAL), with a queue pair for each. "none": "file" where the file names
        /// any but the first, else "bond".
        port: Option<JobPortChoice> = None;
        /// Rate of a rank's interface to the scale-up domain of its host, each way (NVLink of an H100: 450 GB/s).
        domain_rate: Rate = Rate::from_gbps(3600), in SLOWEST => Rate::from_gbps(1_000_000);
        /// Latency of the scale-up domain.
        domain_latency: Delta = Delta::from_us(1), in Delta::ZERO => MAX_DELAY;
        /// What the rates, buffers and thresholds of the scenario were divided by (`farloop scale`). Where it is `scale`, communication
        /// takes as long as with all bytes.
        network_scale: u64 = 1, in 1 => 1024;
    }
}

/// All keys of `[[job]]`.
pub fn job_specs() -> Vec<ParamSpec> {
    JobKeys::specs().into_iter().chain(farloop_job::generate::Plan::specs()).collect()
}
