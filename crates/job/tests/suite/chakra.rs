//! Chakra traces: in and out, what they leave out, and what is refused.

use farloop_job::Missing;
use farloop_job::formats::chakra::schema::{Attribute, GlobalMetadata, IoInfo, Node, Value, kind};
use farloop_job::formats::{Format, NO_OPTIONS, Options, chakra, read, read_within};
use farloop_job::ideal::{Network, run};
use farloop_job::memory::{Budget, MemoryLimit, of_job};
use farloop_job::validate::check_programs;
use farloop_job::{Collective, Job, Work};
use farloop_units::{Delta, Rate};
use prost::Message;
use std::path::PathBuf;

/// A folder of a test, which goes with it.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("farloop-job-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(super) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn trace(nodes: &[Node]) -> Vec<u8> {
    let metadata = GlobalMetadata { version: "1".into(), attr: vec![] };
    let mut bytes = metadata.encode_length_delimited_to_vec();
    nodes.iter().for_each(|n| bytes.extend(n.encode_length_delimited_to_vec()));
    bytes
}

fn node(id: u64, kind: i32, deps: &[u64], attributes: &[(&str, Value)]) -> Node {
    let attr = attributes.iter().map(|(name, value)| Attribute::new(name, value.clone())).collect();
    Node { id, name: format!("n{id}"), kind, data_deps: deps.to_vec(), attr, ..Node::default() }
}

fn timed(micros: u64, node: Node) -> Node {
    Node { duration_micros: micros, ..node }
}

fn job(files: &[String], options: &Options) -> Result<Job, String> {
    read(files, Format::Chakra, options, &mut |_, _| true).map_err(|e| e.to_string())
}

const STREAM: &str = "stream";

#[test]
fn kernels_of_a_stream_follow_one_another() {
    let folder = Folder::new("streams");
    let kernel = |id, start: u64| {
        let made = node(id, kind::COMP, &[1], &[(STREAM, Value::Int64(7))]);
        timed(10, Node { start_time_micros: start, ..made })
    };
    // Listed in another order than they began in; no dependency says so (mlcommons/chakra#215).
    let nodes = [
        timed(1, node(1, kind::COMP, &[], &[("is_cpu_op", Value::Bool(true))])),
        kernel(4, 30),
        kernel(3, 20),
        kernel(2, 10),
    ];
    let job = job(&[folder.file("a.0.et", &trace(&nodes))], &NO_OPTIONS).unwrap();
    assert_eq!(
        job.notes,
        ["2 of 2 neighbours on GPU streams had no direct dependency that keeps their order; it is kept"]
    );
    let waits = job.programs[0].dependencies();
    // Positions: 0 is node 1, 1 is node 4, 2 is node 3, 3 is node 2.
    assert_eq!(waits, [(1, 0, false), (1, 2, false), (2, 0, false), (2, 3, false), (3, 0, false)]);
    let outcome = run(&job, &Network::alpha_beta(Delta::ZERO, Rate::MAX), 1, false, &mut |_, _| true).unwrap();
    assert_eq!(outcome.end.since(farloop_units::Time::ZERO), Delta::from_us(31));
}

#[test]
fn an_order_that_dependencies_contradict_is_refused() {
    let folder = Folder::new("contradiction");
    let kernel = |id, deps: &[u64], start: u64| Node {
        start_time_micros: start,
        ..node(id, kind::COMP, deps, &[(STREAM, Value::Int64(7))])
    };
    let file = folder.file("a.0.et", &trace(&[kernel(1, &[2], 10), kernel(2, &[], 20)]));
    let error = job(std::slice::from_ref(&file), &NO_OPTIONS).unwrap_err();
    assert_eq!(error, format!("{file}: node 1: waits for node 2, which began later on the same stream"));
}

#[test]
fn absent_nodes_are_counted_reported_and_kept() {
    let folder = Folder::new("absent");
    let nodes = [timed(5, node(1, kind::COMP, &[99], &[])), timed(5, node(2, kind::COMP, &[1, 98], &[]))];
    let file = folder.file("a.0.et", &trace(&nodes));
    let first = job(std::slice::from_ref(&file), &NO_OPTIONS).unwrap();
    assert_eq!(
        first.notes,
        ["2 of 3 dependencies name nodes that the trace has not; they are kept and hold nothing up"]
    );
    assert_eq!(first.programs[0].absent, [(0, 99), (1, 98)]);
    let mut written = Vec::new();
    chakra::write_rank(&first, 0, &mut written).unwrap();
    let second = job(&[folder.file("b.0.et", &written)], &NO_OPTIONS).unwrap();
    assert!(second.same_as(&first) && second.programs[0].absent == first.programs[0].absent);
    // Node by node nothing at all changes.
    let whole = trace(&nodes);
    let mut copied = Vec::new();
    chakra::copy(&mut &whole[..], "a", whole.len() as u64, &mut copied, &mut |_, _| true).unwrap();
    assert_eq!(copied, whole);
}

#[test]
fn control_that_contradicts_data_is_counted() {
    let folder = Folder::new("contradicted");
    let child = Node { ctrl_deps: vec![2], ..timed(5, node(1, kind::COMP, &[], &[])) };
    let parent = timed(5, node(2, kind::COMP, &[1], &[]));
    let made = job(&[folder.file("a.0.et", &trace(&[child, parent]))], &NO_OPTIONS).unwrap();
    assert_eq!(made.notes, ["1 control dependencies contradict other dependencies; they hold nothing up"]);
    assert_eq!(made.programs[0].dependencies(), [(1, 0, false)]);
    let cycle = [node(1, kind::COMP, &[2], &[]), node(2, kind::COMP, &[1], &[])];
    let made = job(&[folder.file("b.0.et", &trace(&cycle))], &NO_OPTIONS).unwrap();
    let error = farloop_job::validate::check(&made, &mut |_, _| true).unwrap_err().to_string();
    assert!(error.contains("operations wait for one another: node"), "{error}");
}

#[test]
fn durations_follow_from_operations_and_memory() {
    let folder = Folder::new("durations");
    let amounts = [("num_ops", Value::Int64(2_000_000)), ("tensor_size", Value::Uint64(1_000_000))];
    let file = folder.file("a.0.et", &trace(&[node(1, kind::COMP, &[], &amounts)]));
    let error = read(std::slice::from_ref(&file), Format::Chakra, &NO_OPTIONS, &mut |_, _| true).unwrap_err();
    assert!(error.to_string().ends_with("node 1: has num_ops and no duration"), "{error}");
    assert_eq!(error.missing, Some(Missing::Flops));
    let duration = |flops, memory_bandwidth| {
        let options = Options { flops: Some(flops), memory_bandwidth, ..NO_OPTIONS };
        job(std::slice::from_ref(&file), &options).unwrap().programs[0].operations()[0].work
    };
    assert_eq!(duration(1e12, None), Work::Compute(Delta::from_us(2)));
    // The roofline: 1 MB at 100 GB/s takes longer.
    assert_eq!(duration(1e12, Some(1e11)), Work::Compute(Delta::from_us(10)));
}

fn pair(bytes: i64) -> [Vec<u8>; 2] {
    let message = |peer, rank: i32| {
        [
            ("comm_size", Value::Int64(bytes)),
            ("comm_tag", Value::Int32(3)),
            (peer, Value::Int32(rank)),
            ("is_cpu_op", Value::Int32(0)),
        ]
    };
    let collective =
        [("comm_type", Value::Int64(2)), ("comm_size", Value::Int64(100)), ("pg_name", Value::Text("0".into()))];
    let first = [node(5, kind::COMM_SEND, &[], &message("comm_dst", 1)), node(6, kind::COMM_COLL, &[5], &collective)];
    let second = [node(5, kind::COMM_RECV, &[], &message("comm_src", 0)), node(6, kind::COMM_COLL, &[5], &collective)];
    [trace(&first), trace(&second)]
}

#[test]
fn messages_collectives_and_groups() {
    let folder = Folder::new("messages");
    let [first, second] = pair(64);
    // In the order of their numbers, whatever the order of the arguments.
    let files = [folder.file("x.1.et", &second), folder.file("x.0.et", &first)];
    let made = job(&files, &NO_OPTIONS).unwrap();
    assert!(made.files[0].ends_with("x.0.et"));
    assert_eq!(made.programs[0].operations()[0].work, Work::Send { to: 1, tag: 3, bytes: 64 });
    // An all-gather's size is what a rank puts in; here it is what all have.
    let gathered = Work::Collective { kind: Collective::AllGather, group: 0, bytes: 200 };
    assert_eq!(made.programs[1].operations()[1].work, gathered);
    let grouped = |text: &str| job(&files, &Options { groups: Some(("g.json".into(), text.into())), ..NO_OPTIONS });
    assert_eq!(grouped("{\"0\": [1, 0]}").unwrap().groups[0].ranks[..], [1, 0]);
    assert_eq!(grouped("{\"0\": [2]}").unwrap_err(), "g.json: group 0: 2: expected ranks of 0 to 1, each once");
    assert!(grouped("[").unwrap_err().starts_with("g.json:1: is no JSON: "));
    assert!(grouped("{\"7\": [0]}").unwrap_err().ends_with("node 6: its group 0 is not in the file of groups"));
}

/// A million ranks in one group, of which each does its collective: what looks through the group for each rank would take minutes.
#[test]
fn a_group_of_a_million_ranks_is_looked_through_once() {
    let folder = Folder::new("million");
    let ranks = 1_000_000;
    let attributes =
        [("comm_size", Value::Int64(64)), ("comm_type", Value::Int64(0)), ("pg_name", Value::Text("g".into()))];
    let collective = node(1, kind::COMM_COLL, &[], &attributes);
    let descending: Vec<String> = (0..ranks).rev().map(|rank| rank.to_string()).collect();
    let groups = Some(("g.json".into(), format!("{{\"g\": [{}]}}", descending.join(","))));
    let options = Options { ranks: Some(ranks), groups, ..NO_OPTIONS };
    let made = job(&[folder.file("m.0.et", &trace(&[collective]))], &options).unwrap();
    check_programs(&made).unwrap();
    assert_eq!((made.groups[0].ranks.len(), made.groups[0].ranks[0]), (1_000_000, 999_999));
    let twice = Options { groups: Some(("g.json".into(), "{\"g\": [1, 0, 1]}".into())), ..options };
    let refused = job(&[folder.file("m.0.et", &trace(&[]))], &twice).unwrap_err();
    assert_eq!(refused, "g.json: group g: 1: expected ranks of 0 to 999999, each once");
}

/// 20,000 groups of 100,000 ranks each in 429 kB. Lists of their own would take 8 GB.
#[test]
fn groups_of_all_ranks_share_their_list() {
    let folder = Folder::new("shared");
    let names: Vec<String> = (0..20_000).map(|number| format!("{{\"pg_name\": \"{number}\"}}")).collect();
    let inputs = Some(IoInfo { values: format!("[{}]", names.join(", ")), ..IoInfo::default() });
    let file = folder.file("s.0.et", &trace(&[Node { inputs, ..node(1, kind::METADATA, &[], &[]) }]));
    let options = Options { ranks: Some(100_000), ..NO_OPTIONS };
    let budget = Budget { limit: MemoryLimit(Some(1_000_000_000)), ..Budget::NONE };
    let made = read_within(&[file], Format::Chakra, &options, &budget, &mut |_, _| true).unwrap();
    assert_eq!((made.groups.len(), made.groups[19_999].ranks.len()), (20_000, 100_000));
    assert_eq!(of_job(&made, budget.locate).members, 100_000);
    check_programs(&made).unwrap();
}

#[test]
fn groups_of_pytorch_are_learnt() {
    let folder = Folder::new("pytorch");
    let values = "['[{\"pg_name\": \"0\", \"backend_id\": 8, \"ranks\": [], \"group_size\": 2}, {\"pg_name\": \"1\", \"ranks\": [1]}]']";
    let init = Node {
        inputs: Some(IoInfo { values: values.into(), ..IoInfo::default() }),
        ..node(1, kind::METADATA, &[], &[])
    };
    let made = job(&[folder.file("a.0.et", &trace(&[init]))], &Options { ranks: Some(2), ..NO_OPTIONS }).unwrap();
    assert_eq!(made.ranks(), 2);
    let groups: Vec<_> = made.groups.iter().map(|g| (g.name.as_str(), g.ranks.to_vec())).collect();
    assert_eq!(groups, [("0", vec![0, 1]), ("1", vec![1])]);
}

#[test]
fn broken_traces_are_refused() {
    let folder = Folder::new("broken");
    let [first, _] = pair(64);
    for length in 1..first.len() {
        let file = folder.file("cut.et", &first[..length]);
        // Between two messages a cut cannot be seen; what is left may lack a node.
        if let Err(error) = job(std::slice::from_ref(&file), &NO_OPTIONS) {
            assert!(error.starts_with(&file) && error.lines().count() == 1, "{error}");
        }
    }
    let refused = |nodes: &[Node]| job(&[folder.file("a.0.et", &trace(nodes))], &NO_OPTIONS).unwrap_err();
    assert!(
        refused(&[node(1, kind::COMP, &[], &[]), node(1, kind::COMP, &[], &[])])
            .ends_with("node 1: a second node of this id")
    );
    assert!(refused(&[node(1, 9, &[], &[])]).ends_with("node 1: type 9: expected 0 to 7"));
    assert!(refused(&[node(1, kind::COMM_SEND, &[], &[])]).ends_with("node 1: has no comm_dst"));
    let negative = refused(&[timed(u64::MAX, node(1, kind::COMP, &[], &[]))]);
    assert!(negative.contains("node 1: duration_micros -1: negative"), "{negative}");
    let names = [folder.file("p.0.et", &first), folder.file("p.2.et", &first)];
    assert!(job(&names, &NO_OPTIONS).unwrap_err().ends_with("rank 1 is missing; expected a file for each"));
    let text = job(&[folder.file("a.txt", b"hello, world, this is text")], &NO_OPTIONS).unwrap_err();
    assert!(text.contains("truncated or no Chakra trace"), "{text}");
}
