//! `[[job]]`: jobs in scenarios, and what is refused.

use farloop_cc::Catalog;
use farloop_job::formats::chakra::schema::{Attribute, GlobalMetadata, Node, Value, kind};
use farloop_job::generate::{Model, Slot, one_f_one_b};
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{MemoryLimit, RunError, parse, parse_within, run};
use prost::Message;
use std::path::PathBuf;

const SMALL: &str = r#"
run.duration = "10s"
algorithm.name = "dcqcn"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
[[job]]
name = "a"
model = "llama3-8b"
layers = 4
tensor = 2
pipeline = 2
data = 2
microbatches = 2
scale = 64
ranks_per_host = 2
hosts = "*"
placement = "striped"
iterations = 2
"#;

/// The numbers of a column, without those that are absent.
fn integers(table: &Table, name: &str) -> Vec<i64> {
    match &table.iter().find(|column| column.0 == name).expect("a column").1 {
        Column::I64(numbers) => numbers.clone(),
        Column::OptionalI64(numbers) => numbers.iter().copied().flatten().collect(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_job_runs_and_its_times_add_up() {
    let outcome = run(SMALL, "small.toml", &[], &mut |_| true).expect("it runs");
    let (iterations, ranks) = (&outcome.tables.iterations, &outcome.tables.ranks);
    assert_eq!(integers(iterations, "time_ps").len(), 2, "both are over");
    let [begin, end] = ["begin_ps", "end_ps"].map(|name| integers(ranks, name));
    let times = ["computing_ps", "communication_ps", "waiting_ps"].map(|name| integers(ranks, name));
    assert_eq!(begin.len(), 2 * 8);
    for row in 0..begin.len() {
        assert_eq!(times.iter().map(|column| column[row]).sum::<i64>(), end[row] - begin[row]);
    }
}

#[test]
fn what_no_job_can_be_is_refused_with_its_line_and_key() {
    let refused = |from: &str, to: &str| {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL);
        match parse(&text, "small.toml", &[]).and_then(|scenario| scenario.build().map(drop)) {
            Err(d) => d.to_string(),
            Ok(()) => panic!("{to} is accepted"),
        }
    };
    for (from, to, says) in [
        ("llama3-8b", "llama9", "job.a.model"),
        ("data = 2", "data = 64", "job.a.hosts"),
        ("hosts = \"*\"", "hosts = \"nobody\"", "job.a.hosts"),
        ("layers = 4", "layers = 5", "job.a.layers: 5 are no multiple"),
        ("name = \"a\"", "name = \"a\"\nfile = \"x.goal\"", "job.a.model"),
        ("iterations = 2", "iterations = 0", "job.a.iterations"),
        ("scale = 64", "sclae = 64", "job.a.sclae"),
    ] {
        let line = refused(from, to);
        assert!(line.starts_with("small.toml:") && line.contains(says), "{to}: {line}");
    }
}

#[test]
fn a_job_above_the_limit_is_refused_at_its_line_before_it_is_made() {
    let within = |text: &str, limit: Option<u64>| {
        let limit = MemoryLimit(limit);
        let scenario = parse_within(text, "small.toml", &[], &Catalog::builtin(), limit, &mut || true)?;
        scenario.build_while(&mut || true).map(drop)
    };
    let refused = |text: &str| match within(text, Some(4_000_000_000)) {
        Err(RunError::Scenario(diagnostic)) => diagnostic.to_string(),
        other => panic!("{}", if other.is_ok() { "is accepted" } else { "is cancelled" }),
    };
    // Petabytes: nothing of the kind is allocated, or the test would not end.
    let large = SMALL.replace("data = 2", "data = 4096").replace("microbatches = 2", "microbatches = 4096");
    let large = large.replace("layers = 4", "layers = 1024\ninner_steps = 10000");
    let line = refused(&large);
    assert!(line.starts_with("small.toml:12: job.a.model: the job may take "), "{line}");
    assert!(line.contains("there are 4.0 GB for it in all: ") && line.contains("--force-memory"), "{line}");
    // Also what only a case makes large.
    let case = "[figure]\nid = \"a/b\"\ntitle = \"t\"\n[[case]]\nname = \"large\"\nset = { \"job.a.data\" = 4096, \
                \"job.a.microbatches\" = 4096, \"job.a.inner_steps\" = 10000 }\n";
    let line = refused(&format!("{SMALL}{case}"));
    assert!(line.contains("the job may take ") && line.contains("case \"large\""), "{line}");
    assert!(within(SMALL, Some(4_000_000_000)).is_ok() && within(SMALL, None).is_ok());
}

fn refusal(text: &str, file: &str) -> String {
    match run(text, file, &[], &mut |_| true) {
        Err(RunError::Scenario(diagnostic)) => diagnostic.to_string(),
        other => panic!("{text}: {}", if other.is_ok() { "is accepted" } else { "is cancelled" }),
    }
}

#[test]
fn tcp_is_refused_at_its_key() {
    let text = SMALL.replace("dcqcn\"", "cubic\"\ntransport.kind = \"tcp\"");
    let refused = refusal(&text, "small.toml");
    let expected = "small.toml:4: transport.kind: \"tcp\" does not carry the messages of a [[job]]; expected \"rdma\" or \"multipath\"";
    assert_eq!(refused, expected);
}

/// Two sites, joined by links of a delay.
fn sites(hosts: u32, delay: &str, job: &str) -> String {
    format!(
        r#"
run.duration = "3000s"
algorithm.name = "fixed"
record.interval = "none"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 1
leaves = 1
hosts_per_leaf = {hosts}
rate = "100Gbps"
fabric_rate = "400Gbps"
host_delay = "1us"
link_delay = "1us"
wan_rate = "400Gbps"
wan_delay = "{delay}"
[[job]]
name = "a"
memory_bandwidth = 1e16
{job}
"#
    )
}

/// Seconds of the job's iterations.
fn iterations(text: &str) -> Vec<f64> {
    let outcome = run(text, "sites.toml", &[], &mut |_| true).expect("it runs");
    integers(&outcome.tables.iterations, "time_ps").into_iter().map(|time| time as f64 / 1e12).collect()
}

/// When a 1F1B pipeline ends whose messages from a stage to the next one, and back, take `ways`: each pass begins when the one before
/// it on its stage and the one that it needs are over.
fn pipeline(microbatches: u32, forward: f64, ways: &[f64]) -> f64 {
    let stages = ways.len() as u32 + 1;
    let orders: Vec<Vec<Slot>> = (0..stages).map(|stage| one_f_one_b(stages, stage, microbatches)).collect();
    let mut ends: Vec<Vec<f64>> = vec![Vec::new(); stages as usize];
    let of = |ends: &[Vec<f64>], stage: usize, forward: bool, microbatch: u32| {
        let at = orders[stage].iter().position(|s| s.forward == forward && s.microbatch == microbatch)?;
        ends[stage].get(at).copied()
    };
    while ends.iter().zip(&orders).any(|(ends, order)| ends.len() < order.len()) {
        for stage in 0..stages as usize {
            let Some(slot) = orders[stage].get(ends[stage].len()) else { continue };
            let needed = match slot.forward {
                true if stage == 0 => Some(0.0),
                true => of(&ends, stage - 1, true, slot.microbatch).map(|end| end + ways[stage - 1]),
                false if stage + 1 == stages as usize => Some(0.0),
                false => of(&ends, stage + 1, false, slot.microbatch).map(|end| end + ways[stage]),
            };
            let Some(needed) = needed else { continue };
            let before = ends[stage].last().copied().unwrap_or(0.0);
            ends[stage].push(f64::max(before, needed) + if slot.forward { forward } else { 2.0 * forward });
        }
    }
    ends.iter().flatten().fold(0.0, |a, b| f64::max(a, *b))
}

#[test]
fn a_pipeline_over_two_sites_has_its_bubble_and_its_latencies() {
    // So many layers that the logits of the last stage are less than 0.5 % of it.
    let job = "model = \"llama3-70b\"\nlayers = 1024\npipeline = 4\nmicrobatches = 8\ntokens = 512";
    let shape = Model::Llama3Medium.shape();
    let forward = (256 * shape.layer_operations(512) * 512) as f64 / 4e14;
    // What a message takes: its bytes and headers at the slowest link, ways, and its last packet at the other links.
    let (rate, payload, wire): (f64, f64, f64) = (100e9 / 8.0, 1460.0, 1538.0);
    let bytes = 512.0 * 8192.0 * 2.0;
    let way = |links: f64, others: f64| {
        links * 1e-6 + (bytes + (bytes / payload).ceil() * (wire - payload)) / rate + wire / rate * others
    };
    let mut bubbles = Vec::new();
    for share in [0.0, 0.01, 0.3, 2.0] {
        let delay = share * forward;
        let text = sites(2, &format!("{}us", (delay * 1e6).round()), job);
        let got = iterations(&text)[0];
        let across = way(6.0, 1.0 + 5.0 / 4.0) + delay;
        let expected = pipeline(8, forward, &[way(2.0, 1.0), across, way(2.0, 1.0)]);
        assert!((got / expected - 1.0).abs() < 0.01, "{share}: {got} {expected}");
        bubbles.push(1.0 - 8.0 * 3.0 * forward / got);
    }
    assert!((bubbles[0] - 3.0 / 11.0).abs() < 0.01, "{bubbles:?}");
}

#[test]
fn diloco_over_two_sites_takes_its_closed_form() {
    let job = "model = \"llama3-8b\"\nlayers = 8\ntokens = 512\nmicrobatches = 1\noverlap = false\ndata = 8\nreplicas = 2\n\
               outermost = \"data\"\ninner_steps = 4\nscale = 256\niterations = 2";
    let times = iterations(&sites(4, "10ms", job));
    let shape = Model::Llama3Small.shape();
    let layers = 8;
    let operations = layers * shape.layer_operations(512) + shape.logit_operations();
    let compute = 3.0 * (operations * 512) as f64 / 4e14;
    let parameters = (layers * shape.layer() + shape.embedding()) as f64;
    // A host sends data, and ACKs for what it gets: of 1460 bytes of payload 1538 and 102 on the wire.
    let rate = 100e9 / 8.0 * 1460.0 / (1538.0 + 102.0);
    let bytes = parameters * 4.0 / 256.0;
    let ring = |members: f64, ways: f64| 2.0 * (members - 1.0) / members * bytes / rate + ways;
    // A ring of each layer and of both ends of the model; its six ways are inside of a site.
    let inner = ring(4.0, (layers as f64 + 2.0) * 6.0 * 2e-6);
    // The last part goes over 14 ways in turn, of which at most four are between the sites.
    let outer = ring(8.0, 10.0 * 2e-6 + 4.0 * (10e-3 + 6e-6));
    let expected = 4.0 * (compute + inner) + outer;
    for got in times {
        assert!((got / expected - 1.0).abs() < 0.02, "{got} {expected}");
    }
}

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("farloop-scenario-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).expect("written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Computes 4e12 operations without a duration, loads 10 GB, then all-reduces 1 MB in the group "0".
fn trace() -> Vec<u8> {
    trace_of(3)
}

/// The first `count` of these operations.
fn trace_of(count: usize) -> Vec<u8> {
    let node = |id: u64, kind: i32, attributes: &[(&str, Value)]| {
        let attr = attributes.iter().map(|(name, value)| Attribute::new(name, value.clone())).collect();
        Node { id, kind, name: format!("n{id}"), attr, data_deps: (1..id).collect(), ..Node::default() }
    };
    let (gpu, group) = (("is_cpu_op", Value::Bool(false)), ("pg_name", Value::Text("0".into())));
    let size = ("comm_size", Value::Int64(1_000_000));
    let nodes = [
        node(1, kind::COMP, &[("num_ops", Value::Int64(4_000_000_000_000))]),
        node(2, kind::MEM_LOAD, &[("tensor_size", Value::Int64(10_000_000_000))]),
        node(3, kind::COMM_COLL, &[gpu, ("comm_type", Value::Int64(0)), size, group]),
    ];
    let mut bytes = GlobalMetadata { version: "1".into(), attr: Vec::new() }.encode_length_delimited_to_vec();
    nodes[..count].iter().for_each(|n| bytes.extend(n.encode_length_delimited_to_vec()));
    bytes
}

#[test]
fn traces_get_hosts_and_groups_from_their_keys() {
    let folder = Folder::new("traces");
    for rank in 0..4 {
        folder.write(&format!("t.{rank}.et"), &trace());
    }
    folder.write("less.1.et", &trace_of(1));
    folder.write("groups.json", b"{\"0\": [0, 1, 2, 3]}");
    folder.write("broken.json", b"{\"0\":\n [0, 1,, 2]}");
    folder.write("list.json", b"[[0, 1]]");
    folder.write("few.json", b"{\"1\": [0, 1]}");
    folder.write("x.goal", b"num_ranks 1\n\nrank 0 {\nl1: calc 10\n}\n");
    let file = folder.0.join("traces.toml").display().to_string();
    let text = |keys: &str| {
        let files = "file = [\"t.0.et\", \"t.1.et\", \"t.2.et\", \"t.3.et\"]";
        sites(2, "1ms", &format!("{files}\n{keys}"))
    };
    let all = "flops = 2e14\ngroups = \"groups.json\"";
    let ranks = run(&text(all), &file, &[], &mut |_| true).expect("it runs").tables.ranks;
    // 4e12 operations at 2e14 a second, and 10 GB at 1e16 a second.
    assert_eq!(integers(&ranks, "computing_ps"), [20_001_000_000; 4]);
    let line = |text: &str, key: &str| 1 + text.lines().position(|l| l.starts_with(key)).expect("it is there");
    let goal = "file = \"x.goal\"";
    for (text, key, says) in [
        (
            text("groups = \"groups.json\""),
            "file",
            "t.0.et: node 1: has num_ops and no duration; expected --flops, or flops of the [[job]]",
        ),
        (
            text("flops = 1e14").replace("t.1.et", "less.1.et"),
            "file",
            "rank 0: all-reduce is collective 0 of group 0, which rank 1 does not do; expected groups as well, where Chakra traces do not \
             have the ranks of their groups",
        ),
        (text("groups = \"nobody.json\"\nflops = 1e14"), "groups", "nobody.json: cannot be read: No such file"),
        (
            text("groups = \"broken.json\"\nflops = 1e14"),
            "groups",
            "broken.json:2: is no JSON: expected value; expected",
        ),
        (text("groups = \"list.json\"\nflops = 1e14"), "groups", "list.json: expected an object of groups"),
        (text("groups = \"few.json\"\nflops = 1e14"), "file", "node 3: its group 0 is not in the file of groups"),
        (text("groups = 3\nflops = 1e14"), "groups", "3"),
        (text("flops = 0.0"), "flops", "outside the accepted range; expected 1000000.0 to 1e18"),
        (sites(2, "1ms", goal), "memory_bandwidth", "is for Chakra traces, but file is goal"),
        (
            sites(2, "1ms", goal).replace("memory_bandwidth = 1e16", "groups = \"groups.json\""),
            "groups",
            "is for Chakra",
        ),
        (sites(2, "1ms", "groups = \"groups.json\""), "groups", "are of Chakra traces, but no file has any"),
        (sites(2, "1ms", "file = \"nobody.goal\""), "file", "nobody.goal: cannot be read: No such file"),
    ] {
        let refused = refusal(&text, &file);
        let place = format!("{file}:{}: job.a.{key}: ", line(&text, key));
        assert!(refused.starts_with(&place) && refused.contains(says), "{refused}\n{place}\n{says}");
        assert!(refused.lines().count() == 1 && refused.matches("expected a job").count() < 2, "{refused}");
    }
}
