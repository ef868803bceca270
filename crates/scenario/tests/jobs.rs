//! `[[job]]`: jobs in scenarios, and what is refused.

use farloop_scenario::{parse, run};

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

#[test]
fn a_job_runs_and_its_times_add_up() {
    let outcome = run(SMALL, "small.toml", &[], &mut |_| true).expect("it runs");
    let job = &outcome.jobs[0];
    assert_eq!((&job["name"], &job["ranks"]), (&"a".into(), &8.into()));
    assert_eq!(job["iterations"].as_array().map(Vec::len), Some(2), "both are over");
    for row in job["rank_times"].as_array().expect("ranks") {
        let all: f64 = ["computing_s", "communication_s", "waiting_s"].iter().filter_map(|k| row[k].as_f64()).sum();
        assert!((all / row["time_s"].as_f64().expect("a number") - 1.0).abs() < 1e-9);
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
        ("layers = 4", "layers = 5", "job.a.model"),
        ("name = \"a\"", "name = \"a\"\nfile = \"x.goal\"", "job.a.model"),
        ("iterations = 2", "iterations = 0", "job.a.iterations"),
        ("scale = 64", "sclae = 64", "job.a.sclae"),
    ] {
        let line = refused(from, to);
        assert!(line.starts_with("small.toml:") && line.contains(says), "{to}: {line}");
    }
}
