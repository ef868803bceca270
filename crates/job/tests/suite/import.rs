//! `farloop import-job`: counts, conversions and refusals.

use farloop_job::JobError;
use farloop_job::collectives::{Algorithm, Choice};
use farloop_job::formats::{Format, NO_OPTIONS, Options};
use farloop_job::import::{Request, choice, import, network};
use farloop_job::memory::MemoryLimit;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};

fn request(file: &str) -> Request {
    Request {
        limit: MemoryLimit::NONE,
        files: vec![file.to_string()],
        format: None,
        options: NO_OPTIONS,
        choice: Choice::Fixed(Algorithm::Ring),
        ranks_per: (u32::MAX, 1),
        network: Some(network("5us", "400Gbps", None, None, ("0ns", "0ns", "none")).unwrap()),
        out: None,
        expanded: false,
    }
}

fn open(path: &str) -> io::Result<Box<dyn Write>> {
    Ok(Box::new(File::create(path)?))
}

fn done(request: &Request) -> Result<Value, JobError> {
    import(request, &mut open, &mut |_, _, _| true)
}

const RING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/loggopsim/ring-8-1m.goal");
const PLAN: &str = "model = \"llama3-8b\"\nlayers = 4\ntensor = 2\ndata = 2\nmicrobatches = 2\n";

#[test]
fn a_job_goes_through_all_formats_and_stays_the_same() {
    let folder = std::env::temp_dir().join(format!("farloop-import-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let first = done(&Request { out: Some((path("a.goal"), Format::Goal)), ..request(RING) }).unwrap();
    let ideal = &first["ideal"];
    let seconds = ideal["iteration_s"].as_f64().unwrap();
    assert!((seconds / (1e-6 + 14.0 * (5e-6 + 1e6 / 50e9)) - 1.0).abs() < 1e-4, "{seconds}");
    assert_eq!(
        (first["ranks"].as_u64(), first["sends"].as_u64(), first["sent_bytes"].as_u64()),
        (Some(8), Some(112), Some(112_000_000))
    );
    let second = done(&Request { out: Some((path("a.bin"), Format::GoalBinary)), ..request(&path("a.goal")) }).unwrap();
    let third = done(&Request { out: Some((path("c"), Format::Chakra)), ..request(&path("a.bin")) }).unwrap();
    let written: Vec<String> =
        third["written"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().into()).collect();
    assert_eq!(written.len(), 8);
    let fourth = done(&Request { files: written, ..request("") }).unwrap();
    for later in [&second, &third, &fourth] {
        assert_eq!((&later["ideal"], &later["dependencies"]), (ideal, &first["dependencies"]));
    }
    assert_eq!(fourth["format"], "chakra");
    // What cannot be written is named.
    let refused = done(&Request { out: Some((path("x.txt"), Format::Aicb)), ..request(RING) }).unwrap_err().to_string();
    assert!(refused.contains("cannot be written as aicb"), "{refused}");
    let refused =
        done(&Request { out: Some(("/nowhere/x".into(), Format::Goal)), ..request(RING) }).unwrap_err().to_string();
    assert_eq!(refused, "/nowhere/x: cannot be written: No such file or directory");
    // A plan's collectives stay what they are in Chakra, and become messages in GOAL.
    std::fs::write(folder.join("p.toml"), PLAN).unwrap();
    let plan = done(&Request { out: Some((path("p"), Format::Chakra)), ..request(&path("p.toml")) }).unwrap();
    let files: Vec<String> = (0..4).map(|r| path(&format!("p.{r}.et"))).collect();
    let groups = std::fs::read_to_string(folder.join("p.groups.json")).unwrap();
    let options = Options { groups: Some(("p.groups.json".into(), groups)), ..NO_OPTIONS };
    let back = done(&Request { files, options, ..request("") }).unwrap();
    let counted = |summary: &Value| summary["collectives"][0]["count"].as_u64();
    assert_eq!((counted(&plan), counted(&back)), (Some(4 * 4 * 2 * 2 + 6 * 2), counted(&plan)));
    assert_eq!(back["ideal"]["iteration_s"], plan["ideal"]["iteration_s"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn stopping_is_reported_and_settings_are_refused_by_name() {
    assert!(
        import(&request(RING), &mut open, &mut |_, _, _| false).is_ok_and(|t| t["ranks"] == 8),
        "too small to be asked"
    );
    let large = std::env::temp_dir().join(format!("farloop-large-{}.goal", std::process::id()));
    let lines: String = (0..20_000).map(|i| format!("l{i}: calc 1\n")).collect();
    std::fs::write(&large, format!("num_ranks 1\nrank 0 {{\n{lines}}}\n")).unwrap();
    let stopped = import(&request(large.to_str().unwrap()), &mut open, &mut |_, _, _| false).unwrap_err();
    std::fs::remove_file(&large).unwrap();
    assert!(stopped.cancelled);
    let none = ("0ns", "0ns", "none");
    let of = |made: Result<_, JobError>| made.map(|_: ()| ()).unwrap_err().to_string();
    assert!(of(network("5", "1Gbps", None, None, none).map(|_| ())).starts_with("latency: "));
    assert!(of(network("5us", "1", None, None, none).map(|_| ())).starts_with("rate: "));
    assert!(
        of(network("5us", "1Gbps", Some((0, "1ms", "1Gbps")), None, none).map(|_| ())).starts_with("ranks_per_site: 0")
    );
    assert!(of(network("5us", "1Gbps", None, None, ("0ns", "0ns", "some")).map(|_| ())).starts_with("eager: "));
    let star = choice("star", farloop_units::Rate::from_gbps(1), farloop_units::Rate::from_gbps(1)).map(|_| ());
    assert_eq!(of(star), "collectives: \"star\": expected nccl, ring, doubling, tree, direct, hierarchical");
}

/// A file on a disk that has no room.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(28))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_whatever_its_format() {
    let traces = std::env::temp_dir().join(format!("farloop-full-{}", std::process::id()));
    let base = traces.to_str().unwrap();
    let files = done(&Request { out: Some((base.into(), Format::Chakra)), ..request(RING) }).unwrap();
    let files: Vec<String> =
        (files["written"].as_array().unwrap().iter()).map(|f| f.as_str().unwrap().into()).collect();
    for (to, source, name) in [
        (Format::Goal, vec![RING.to_string()], "x"),
        (Format::GoalBinary, vec![RING.to_string()], "x"),
        (Format::Chakra, vec![RING.to_string()], "x.0.et"),
        (Format::Chakra, files.clone(), "x.0.et"),
    ] {
        let asked = Request { files: source, out: Some(("x".into(), to)), network: None, ..request("") };
        let refused = import(&asked, &mut |_| Ok(Box::new(Full)), &mut |_, _, _| true).unwrap_err().to_string();
        assert_eq!(refused, format!("{name}: cannot be written: No space left on device"));
    }
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_refused_before_it_is_opened() {
    for (file, says) in [("/dev/zero", "is not a regular file"), ("/", "is a directory"), ("/nowhere", "No such file")]
    {
        let refused = done(&request(file)).unwrap_err().to_string();
        assert!(refused.starts_with(file) && refused.contains(says), "{refused}");
    }
}
