//! Bad input: every message names file, line, key, what is wrong and what would be accepted.

mod agents;
mod corpus;
mod events;
mod figures;
mod networks;
mod transports;
mod workloads;

use farloop_scenario::{Diagnostic, parse, read};

/// The text with the default network, if it says nothing of one; at the end, where it moves no line.
fn with_network(text: &str) -> String {
    let said = text.lines().any(|line| line.starts_with("network") || line.starts_with("[network"));
    if said { text.to_string() } else { format!("{text}\n[network]\n") }
}

/// Parses and builds.
fn diagnose(text: &str, overrides: &[(&str, &str)]) -> Diagnostic {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    match parse(&with_network(text), "bad.toml", &overrides).and_then(|s| s.build().map(|_| ())) {
        Ok(()) => panic!("accepted:\n{text}"),
        Err(diagnostic) => diagnostic,
    }
}

/// `bad` written after a beginning of three lines that is fine by itself; line numbers in expectations count from there.
fn check(bad: &str, expected: &[&str]) {
    let text = format!("[algorithm]\nname = \"fixed\"\nfixed.rate = \"1Gbps\"\n{bad}");
    let diagnostic = diagnose(&text, &[]);
    let message = diagnostic.to_string();
    for part in expected {
        assert!(message.contains(part), "no {part:?} in the message\n  {message}\nof\n{text}");
    }
    assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
}

#[test]
fn a_network_is_not_taken_for_granted() {
    let refused = |text: &str| parse(text, "bad.toml", &[]).expect_err("refused").to_string();
    let text = format!("algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n{FLOW}");
    let message = refused(&text);
    assert!(
        message.contains("network: missing; expected [network] with a topology: \"dumbbell\", \"fat-tree\""),
        "{message}"
    );
    assert!(message.contains("import-graphml"), "{message}");
    assert!(parse(&format!("{text}[network]\n"), "good.toml", &[]).is_ok());
    let overrides = [("network.topology".to_string(), "dumbbell".to_string())];
    assert!(parse(&text, "good.toml", &overrides).is_ok());
    assert!(refused("").contains("run.duration"));
}

const FLOW: &str = "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n";

#[test]
fn keys_and_values() {
    let run = "[run]\nduration = \"1ms\"\n";
    let cases: &[(&str, &[&str])] = &[
        // Not TOML at all.
        ("[run\n", &["bad.toml:4", "not valid TOML"]),
        ("[run]\nduration = \"1ms\"\nduration = \"2ms\"\n", &["bad.toml:6", "duplicate key"]),
        // Unknown names.
        (
            "[run]\nduration = \"1ms\"\nsead = 3\n",
            &["bad.toml:6: run.sead: unknown key; did you mean \"seed\"?", "accepted keys: duration, seed"],
        ),
        ("[rum]\nduration = \"1ms\"\n", &["bad.toml:4: rum: unknown key; did you mean \"run\"?", "workload"]),
        (
            "[run]\nduration = \"1ms\"\n[network]\nbottelneck_rate = \"1Gbps\"\n",
            &["bad.toml:7: network.bottelneck_rate: unknown key", "did you mean \"bottleneck_rate\"?"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\npods = 4\n",
            &["bad.toml:7: network.pods: is no key of topology \"dumbbell\"", "link_delay"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\ntopology = \"dumbell\"\n",
            &["bad.toml:7: network.topology: \"dumbell\" is not accepted; did you mean \"dumbbell\"?", "\"fat-tree\""],
        ),
        (
            "[run]\nduration = \"1ms\"\n[algorithm.fixd]\n",
            &["bad.toml:6: algorithm.fixd: unknown key; did you mean \"fixed\"?"],
        ),
        (
            "fixed.cwmd = \"1kB\"\n[run]\nduration = \"1ms\"\n",
            &["bad.toml:4: algorithm.fixed.cwmd: unknown key; did you mean \"cwnd\"?"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[[node]]\nname = \"a\"\n",
            &["bad.toml:6: node", "not used by topology \"dumbbell\"", "\"links\""],
        ),
        // Wrong types and units.
        (
            "[run]\nduration = 2\n",
            &["bad.toml:5: run.duration: 2 is a whole number; expected a time with its unit", "\"25ms\""],
        ),
        (
            "[run]\nduration = \"2\"\n",
            &["bad.toml:5: run.duration: \"2\" has no unit; expected a time", "ps, ns, us, ms or s"],
        ),
        ("[run]\nduration = \"-2s\"\n", &["bad.toml:5: run.duration: \"-2s\" is negative"]),
        (
            "[run]\nduration = \"0s\"\n",
            &["bad.toml:5: run.duration: \"0s\" is outside the accepted range; expected 1ps to 3600s"],
        ),
        ("[run]\nduration = \"2h\"\n", &["bad.toml:5: run.duration: \"2h\" has the unknown unit \"h\""]),
        ("[run]\nduration = \"7200s\"\n", &["run.duration: \"7200s\" is outside", "3600s"]),
        ("[run]\nduration = \"99999999999999999999s\"\n", &["run.duration: \"99999999999999999999s\" is too large"]),
        ("[run]\nduration = 2024-01-01\n", &["bad.toml:5: run.duration: is a date", "expected a time with its unit"]),
        ("[run]\nduration = [\"1s\"]\n", &["bad.toml:5: run.duration: [\"1s\"] is a list"]),
        ("[run]\nseed = -1\nduration = \"1ms\"\n", &["bad.toml:5: run.seed: -1 is outside 0 to"]),
        ("[run]\nseed = 1\n", &["bad.toml:4: run.duration: missing; expected a time with its unit"]),
        (
            "[switch]\nint = \"yes\"\n[run]\nduration = \"1ms\"\n",
            &["bad.toml:5: switch.int: \"yes\" is a text; expected true or false"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\nrate = \"0Gbps\"\n",
            &["bad.toml:7: network.rate: \"0Gbps\" is outside the accepted range; expected 1kbps to 10000Gbps"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\nwan_loss = 1.5\n",
            &["bad.toml:7: network.wan_loss: 1.5 is outside the accepted range; expected 0.0 to 1.0"],
        ),
        ("[run]\nduration = \"1ms\"\n[switch]\npmax = nan\n", &["bad.toml:7: switch.pmax: NaN is not finite"]),
        (
            "fixed.cwnd = \"0B\"\n[run]\nduration = \"1ms\"\n",
            &["bad.toml:4: algorithm.fixed.cwnd: \"0B\" is outside the accepted range"],
        ),
        ("[algorithm.fixed]\ncwnd = \"1kB\"\n", &["bad.toml:4", "not valid TOML"]),
    ];
    for (bad, expected) in cases {
        check(bad, expected);
    }
    let message = |text: &str| diagnose(text, &[]).to_string();
    assert_eq!(message("\nrun = 5\n"), "bad.toml:2: run: is a whole number; expected a table: [run]");
    let text = "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\nflow = 5\n";
    assert_eq!(message(text), "bad.toml:3: flow: is a whole number; expected tables: [[flow]]");
    check(
        &format!("{run}[switch]\nkmin = \"2MB\"\n"),
        &["bad.toml:7: switch.kmin: kmin = \"2MB\" is above kmax = \"900kB\""],
    );
    check(
        &format!("{run}[transport]\nkind = \"udp\"\n"),
        &["transport.kind: \"udp\" is not accepted", "\"rdma\", \"tcp\""],
    );
}

#[test]
fn overrides_are_checked_like_the_file() {
    let text = format!("algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n{FLOW}");
    let message = |key: &str, value: &str| diagnose(&text, &[(key, value)]).to_string();
    assert!(
        message("network.bottelneck_rate", "1Gbps")
            .starts_with("--set: network.bottelneck_rate: unknown key; did you mean \"bottleneck_rate\"?")
    );
    assert!(message("run.duration", "5").starts_with("--set: run.duration: 5 is a whole number; expected a time"));
    assert!(
        message("run.duration", "5 parsecs").starts_with("--set: run.duration: \"5 parsecs\" has the unknown unit")
    );
    assert!(
        message("flow.f7.start", "1ms").starts_with("--set: flow.f7.start: there is no [[flow]] with the name \"f7\"")
    );
    let text_with_load =
        "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n[[workload]]\nname = \"web\"\nload = 0.3\n".to_string();
    assert_eq!(
        diagnose(&text_with_load, &[("workload.load", "0.5")]).to_string(),
        "--set: workload.load: the scenario calls its [[workload]] tables by name; write workload.web.load (names: \"web\")"
    );
    assert!(message("algorithm.name", "dqcqn").contains("did you mean \"dcqcn\"?"));
    assert!(message("nonsense", "1").starts_with("--set: nonsense: unknown key"));
    assert!(message("flow.f1.to", "nowhere").starts_with("--set: flow.f1.to: there is no node \"nowhere\""));
    assert!(message("algorithm.name", "gaer").starts_with("--set: algorithm.name: there is no algorithm \"gaer\""));
}

#[test]
fn files_that_cannot_be_read() {
    let directory = std::env::temp_dir().join(format!("farloop-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let latin1 = directory.join("latin1.toml");
    std::fs::write(&latin1, b"title = \"x\"\nsource = \"caf\xe9\"\n").expect("written");
    let problem = |path: &std::path::Path| read(path).expect_err("refused").to_string();
    assert!(problem(&directory).contains("is a directory; expected a scenario file"));
    assert!(problem(&directory.join("absent.toml")).contains("absent.toml:1: no such file"));
    assert!(problem(&latin1).contains("latin1.toml:2: is not UTF-8 text"));
    std::fs::remove_dir_all(&directory).expect("removed");
}
