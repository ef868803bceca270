//! Sizes, times and numbers beyond what fits: an error at their line, byte or node, in every format.

use farloop_job::collectives::{Algorithm, Choice};
use farloop_job::formats::chakra::schema::{Attribute, GlobalMetadata, Node, Value, kind};
use farloop_job::formats::{Format, NO_OPTIONS, Options, detect, goal_binary};
use farloop_job::import::{Request, import, network};
use farloop_job::job::{MAX_BYTES, MAX_COMPUTING};
use farloop_job::{Group, Job, ProgramBuilder, Work};
use farloop_units::Delta;
use prost::Message;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

static FILES: AtomicU32 = AtomicU32::new(0);

/// A file of a test, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(end: &str, bytes: &[u8]) -> Scratch {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("farloop-limits-{}-{number}{end}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    fn name(&self) -> String {
        self.0.to_str().unwrap().to_string()
    }

    /// Imports it and gives the refusal behind the name of the file.
    fn refusal(&self, options: Options) -> String {
        let request = Request {
            limit: farloop_job::memory::MemoryLimit::NONE,
            files: vec![self.name()],
            format: None,
            options,
            choice: Choice::Fixed(Algorithm::Ring),
            ranks_per: (u32::MAX, 1),
            network: Some(network("5us", "400Gbps", None, None, ("0ns", "0ns", "none")).unwrap()),
            out: None,
            expanded: false,
        };
        let error = import(&request, &mut |_| unreachable!("nothing is written"), &mut |_, _, _| true)
            .expect_err("refused")
            .to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        error.strip_prefix(&self.name()).unwrap_or(&error).to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn goal(first: &str, second: &str) -> String {
    let text = format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n");
    Scratch::new(".goal", text.as_bytes()).refusal(NO_OPTIONS)
}

#[test]
fn goal_text_names_the_line_where_a_sum_is_too_large() {
    let long = MAX_COMPUTING.as_ps() / 1000;
    assert!(goal(&format!("calc {}", long + 1), "").starts_with(":3: "));
    let sum = goal(&format!("a: calc {long}\nb: calc 1"), "");
    assert!(sum.starts_with(":4: the rank computes for more than 107 days up to here"), "{sum}");
    let apart = goal(&format!("calc {long} cpu 0\ncalc {long} cpu 1"), "");
    assert!(apart.starts_with(":4: the rank computes"), "{apart}");
    let large = goal(&format!("send {}b to 1", MAX_BYTES + 1), &format!("recv {}b from 0", MAX_BYTES + 1));
    assert!(
        large.starts_with(":3: ") && large.contains("is too large; expected at most 4611686018427387904"),
        "{large}"
    );
    let half = MAX_BYTES / 2 + 1;
    let many = goal(
        &format!("send {half}b to 1 tag 0\nsend {half}b to 1 tag 1"),
        &format!("recv {half}b from 0 tag 0\nrecv {half}b from 0 tag 1"),
    );
    assert!(many.starts_with(":4: the job sends more than 4611686018427387904 bytes up to here"), "{many}");
    // No sum of one rank: three ranks' worth of 100 days one after the other.
    let chain = "num_ranks 3\nrank 0 {\na: calc 8640000000000000\nb: send 1b to 1\nb requires a\n}\n\
        rank 1 {\nr: recv 1b from 0\na: calc 8640000000000000\na requires r\nb: send 1b to 2\nb requires a\n}\n\
        rank 2 {\nr: recv 1b from 1\na: calc 8640000000000000\na requires r\n}\n";
    let end = Scratch::new(".goal", chain.as_bytes()).refusal(NO_OPTIONS);
    assert!(end.starts_with(":16: it ends more than 213 days after the job's start"), "{end}");
}

#[test]
fn a_message_that_lasts_too_long_is_named() {
    let size = MAX_BYTES;
    let said =
        goal(&format!("l: calc 100\ns: send {size}b to 1 tag 4\ns requires l"), &format!("recv {size}b from 0 tag 4"));
    assert!(said.starts_with(":4: it ends more than 213 days after the job's start; expected"), "{said}");
}

#[test]
fn goal_binary_names_the_byte() {
    let written = |work: Work, at: usize, to: u64| {
        let mut builder = ProgramBuilder::new();
        builder.add(work, 0, 0, &[]);
        let mut bytes = Vec::new();
        goal_binary::write(&Job::new("x", vec![builder.finish()]), &mut bytes).unwrap();
        // Header, table of one rank, counts, one root; then the node, whose size stands behind needs, type and peer.
        let node = 14 + 16 + 8 + 4;
        bytes[node + at..node + at + 8].copy_from_slice(&to.to_le_bytes());
        Scratch::new(".bin", &bytes).refusal(NO_OPTIONS)
    };
    let compute = written(Work::Compute(Delta::from_ns(1)), 9, MAX_COMPUTING.as_ps() / 1000 + 1);
    assert!(compute.starts_with(": byte 42: a computation of"), "{compute}");
    let send = written(Work::Send { to: 0, tag: 0, bytes: 1 }, 9, u64::MAX);
    assert!(send.starts_with(": byte 42: 18446744073709551615 bytes; expected at most"), "{send}");
    let receive = written(Work::Receive { from: 0, tag: 0, bytes: 1 }, 9, u64::MAX);
    assert!(receive.starts_with(": byte 42: 18446744073709551615 bytes; expected at most"), "{receive}");
}

fn chakra(nodes: &[Node], options: Options) -> String {
    let metadata = GlobalMetadata { version: "1".into(), attr: vec![] };
    let mut bytes = metadata.encode_length_delimited_to_vec();
    nodes.iter().for_each(|n| bytes.extend(n.encode_length_delimited_to_vec()));
    Scratch::new(".0.et", &bytes).refusal(options)
}

fn node(id: u64, kind: i32, attributes: &[(&str, Value)]) -> Node {
    let attr = attributes.iter().map(|(name, value)| Attribute::new(name, value.clone())).collect();
    Node { id, name: format!("n{id}"), kind, attr, ..Node::default() }
}

#[test]
fn chakra_names_the_node() {
    let longest = MAX_COMPUTING.as_ps() / 1_000_000;
    let timed = |id, micros| Node { duration_micros: micros, ..node(id, kind::COMP, &[]) };
    let said = chakra(&[timed(1, longest + 1)], NO_OPTIONS);
    assert!(said.starts_with(": node 1: duration_micros"), "{said}");
    let said = chakra(&[timed(1, longest), timed(7, longest)], NO_OPTIONS);
    assert!(said.starts_with(": node 7: rank 0: the rank computes for more than 107 days"), "{said}");
    for (value, reason) in [(Value::Uint64(u64::MAX), "is too long"), (Value::Int64(-1), "is negative")] {
        let said = chakra(&[node(3, kind::COMP, &[("duration_picos", value)])], NO_OPTIONS);
        assert!(said.starts_with(": node 3: duration_picos") && said.contains(reason), "{said}");
    }
    let slow = Options { flops: Some(1.0), ..NO_OPTIONS };
    let said = chakra(&[node(4, kind::COMP, &[("num_ops", Value::Uint64(u64::MAX))])], slow);
    assert!(said.starts_with(": node 4: 1.845e19 s by num_ops") && said.contains("is too long"), "{said}");
    let gather = [("comm_type", Value::Int64(2)), ("comm_size", Value::Int64(1 << 61))];
    let said = chakra(&[node(5, kind::COMM_COLL, &gather)], Options { ranks: Some(4), ..NO_OPTIONS });
    assert!(said.starts_with(": node 5: comm_size 2305843009213693952 of each of 4 ranks"), "{said}");
}

#[test]
fn the_last_stream_of_a_chakra_trace_is_one() {
    let traced = [node(1, kind::COMP, &[("processor", Value::Uint32(65_535))])];
    let metadata = GlobalMetadata { version: "1".into(), attr: vec![] };
    let mut bytes = metadata.encode_length_delimited_to_vec();
    traced.iter().for_each(|n| bytes.extend(n.encode_length_delimited_to_vec()));
    let file = Scratch::new(".0.et", &bytes);
    let job = farloop_job::formats::read(&[file.name()], Format::Chakra, &NO_OPTIONS, &mut |_, _| true).unwrap();
    assert_eq!((job.programs[0].streams(), farloop_job::survey::survey(&job).streams), (65_536, 1));
}

fn aicb(header: &str, layer: &str) -> String {
    let text = format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {header}\n2\nfirst -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n{layer}\n");
    Scratch::new(".txt", text.as_bytes()).refusal(NO_OPTIONS)
}

#[test]
fn aicb_names_the_line() {
    let long = MAX_COMPUTING.as_ps() / 1000;
    let said = aicb("model_parallel_NPU_group: 2", &format!("b -1 {} NONE 0 1 NONE 0 1 NONE 0 1", long + 1));
    assert!(said.starts_with(":4: ") && said.contains("is too large; expected nanoseconds"), "{said}");
    let said = aicb("model_parallel_NPU_group: 2", &format!("b -1 {long} NONE 0 1 NONE 0 1 NONE 0 1"));
    assert!(said.starts_with(":4: the rank computes for more than"), "{said}");
    let said = aicb("model_parallel_NPU_group: 4", &format!("b -1 1 ALLREDUCE {MAX_BYTES} 1 NONE 0 1 NONE 0 1"));
    assert!(said.starts_with(":4: the job sends more than"), "{said}");
    // 8192 x 524289 is 8192 in 32 bits.
    for header in [
        "model_parallel_NPU_group: 8192 ep: 1 pp: 524289 all_gpus: 8192",
        "model_parallel_NPU_group: 65536 ep: 65536 pp: 1 all_gpus: 65536",
        "model_parallel_NPU_group: 65536 ep: 1 pp: 65536 all_gpus: 65536",
    ] {
        let said = aicb(header, "b -1 1 NONE 0 1 NONE 0 1 NONE 0 1");
        assert!(said.starts_with(":1: ") && said.contains("are no multiple of tensor"), "{said}");
    }
    let options = Options { ranks: Some(1 << 22), ..NO_OPTIONS };
    let text = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
    let said = Scratch::new(".txt", text.as_bytes()).refusal(options);
    assert!(said.starts_with(":1: ranks 4194304: expected 1 to 1048576"), "{said}");
}

#[test]
fn plans_are_read_whole_or_not_at_all() {
    let mut text = "layers = 4\n".to_string();
    text.push_str(&"#".repeat(1 << 20));
    text.push_str("\ntensor = 0\n");
    let said = Scratch::new(".toml", text.as_bytes()).refusal(NO_OPTIONS);
    assert!(said.starts_with(": is longer than 1048576 bytes; expected the keys of a plan"), "{said}");
    let slow =
        "model = \"llama3-405b\"\nsequences = 1024\ntokens = 1048576\nflops = 1e6\nlayers = 1\nmicrobatches = 1\n";
    let said = Scratch::new(".toml", slow.as_bytes()).refusal(NO_OPTIONS);
    assert!(said.contains("rank 0: the rank computes for more than 107 days"), "{said}");
}

#[test]
fn json_is_refused_with_what_makes_a_trace_of_it() {
    for text in ["{\"workload_graph\": []}", " \n{\n\"schema\": \"1.1.1\"}", "[1]", "\u{feff}{\"name\": \"\u{e9}\"}"] {
        let file = Scratch::new(".json", text.as_bytes());
        for error in [
            detect(&file.name()).unwrap_err(),
            farloop_job::formats::read(&[file.name()], Format::Chakra, &NO_OPTIONS, &mut |_, _| true).unwrap_err(),
        ] {
            let said = error.to_string();
            assert!(said.contains("is JSON; expected Chakra's protobuf traces (.et)"), "{said}");
        }
    }
    // The length of a first message may be the same byte.
    let metadata = GlobalMetadata { version: "v".repeat(121), attr: vec![] };
    let bytes = metadata.encode_length_delimited_to_vec();
    assert_eq!((bytes[0], bytes.len()), (b'{', 124));
    let mut trace = bytes;
    trace.extend(node(1, kind::COMP, &[]).encode_length_delimited_to_vec());
    assert_eq!(detect(&Scratch::new(".et", &trace).name()).unwrap(), Format::Chakra);
}

#[test]
fn a_rate_of_zero_is_no_rate() {
    for (rate, site, host, setting) in [
        ("0bps", None, None, "rate"),
        ("1Gbps", Some((1, "1ms", "0Gbps")), None, "site_rate"),
        ("1Gbps", None, Some((2, "1us", "0.0kbps")), "host_rate"),
    ] {
        let error = network("5us", rate, site, host, ("0ns", "0ns", "none")).unwrap_err().to_string();
        assert!(error.starts_with(setting) && error.contains("expected a rate above zero"), "{error}");
    }
}

#[test]
fn ids_beside_the_last_absent_node_do_not_wrap() {
    let mut builder = ProgramBuilder::new();
    let first = builder.add(Work::Compute(Delta::from_ns(1)), 0, 0, &[]);
    builder.add(Work::Compute(Delta::from_ns(1)), 0, 0, &[first]);
    builder.absent(1, u64::MAX);
    builder.absent(1, 0);
    let job = Job::new("x", vec![builder.finish()]);
    let mut bytes = Vec::new();
    farloop_job::formats::chakra::write_rank(&job, 0, &mut bytes).unwrap();
    let file = Scratch::new(".et", &bytes);
    let again = farloop_job::formats::read(&[file.name()], Format::Chakra, &NO_OPTIONS, &mut |_, _| true).unwrap();
    assert_eq!(again.programs[0].absent.iter().map(|a| a.1).collect::<Vec<_>>(), [u64::MAX, 0]);
    assert_eq!(again.programs[0].operations().iter().map(|o| o.place).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn bytes_of_collectives_add_up_over_ranks() {
    let mut job = Job::new("x", Vec::new());
    for _ in 0..4 {
        let mut builder = ProgramBuilder::new();
        let kind = farloop_job::Collective::AllReduce;
        builder.add(Work::Collective { kind, group: 0, bytes: MAX_BYTES / 2 }, 0, 0, &[]);
        job.programs.push(std::sync::Arc::new(builder.finish()));
    }
    job.groups.push(Group { name: "all".into(), ranks: (0..4).collect() });
    let said = farloop_job::validate::check_programs(&job).unwrap_err().to_string();
    assert!(said.contains("rank 2: the job sends more than"), "{said}");
}
