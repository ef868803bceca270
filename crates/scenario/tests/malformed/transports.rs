//! `[transport]`, `[switch]` and what algorithms need of them.

use super::{check, diagnose};

#[test]
fn transports() {
    let run = "[run]\nduration = \"1ms\"\n[transport]\n";
    let tcp = "kind = \"tcp\"\n";
    let cases: &[(String, &[&str])] = &[
        (
            format!("{tcp}rto_intra = \"1ms\"\n"),
            &["bad.toml:8: transport.rto_intra: is no key of kind \"tcp\"; accepted keys: kind, mtu", "min_rto"],
        ),
        (
            "recovery = \"sack\"\n".into(),
            &["bad.toml:7: transport.recovery: is no key of kind \"rdma\"; accepted keys: kind, mtu", "rto_cross"],
        ),
        (format!("{tcp}min_rt = \"1ms\"\n"), &["transport.min_rt: unknown key; did you mean \"min_rto\"?"]),
        (
            format!("{tcp}recovery = \"tahoe\"\n"),
            &["bad.toml:8: transport.recovery: \"tahoe\" is not accepted", "\"newreno\", \"sack\", \"rack\""],
        ),
        (format!("{tcp}delayed_ack = \"1s\"\n"), &["transport.delayed_ack: \"1s\" is outside", "1us to 500ms"]),
        (format!("{tcp}max_retries = 0\n"), &["transport.max_retries: 0 is outside", "1 to 255"]),
        (format!("{tcp}handshake = 1\n"), &["transport.handshake: 1 is a whole number; expected true or false"]),
        (format!("{tcp}receive_window = \"2GB\"\n"), &["transport.receive_window: \"2GB\" is outside", "1kB to 1GB"]),
        (format!("{tcp}pacing = \"fq\"\n"), &["transport.pacing: \"fq\" is not accepted", "\"none\", \"linux\""]),
        (
            format!("{tcp}receive_window = \"1kB\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n"),
            &["bad.toml:8: transport.receive_window: 1kB hold no packet of 1460 bytes"],
        ),
    ];
    for (bad, expected) in cases {
        check(&format!("{run}{bad}"), expected);
    }
    let entry = "kind = \"multipath\"\nentry_times = true\n";
    let flow = "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n";
    for (bad, expected) in [
        (format!("{entry}{flow}"), ["bad.toml:8: transport.entry_times: without entry_pacing", "entry_pacing = true"]),
        (
            format!("{entry}entry_pacing = true\n{flow}"),
            ["transport.entry_times: overtaken packets", "overtaken = \"none\""],
        ),
        (
            format!("{entry}entry_pacing = true\novertaken = \"none\"\n[switch]\ntrim = \"64B\"\n{flow}"),
            ["transport.entry_times: trimmed packets", "expected trim = \"none\""],
        ),
    ] {
        check(&format!("{run}{bad}"), &expected);
    }
    let many = "kind = \"multipath\"\n";
    let cases: &[(String, &[&str])] = &[
        (
            format!("{many}paths = \"rep\"\n"),
            &["bad.toml:8: transport.paths: \"rep\" is not accepted; did you mean \"reps\"?", "\"oblivious\""],
        ),
        (
            format!("{many}rto_intra = \"1ms\"\n"),
            &["bad.toml:8: transport.rto_intra: is no key of kind \"multipath\"", "ack_bytes"],
        ),
        (
            "paths = \"reps\"\n".into(),
            &["bad.toml:7: transport.paths: is no key of kind \"rdma\"; accepted keys: kind, mtu"],
        ),
        (format!("{many}rto = \"0us\"\n"), &["transport.rto: \"0us\" is outside the accepted range", "1us to 60s"]),
        (
            format!("{many}preset = \"uec\"\n"),
            &["bad.toml:8: transport.preset: \"uec\" is not accepted", "\"none\", \"mrc\""],
        ),
        (
            format!("{many}preset = \"mrc\"\ncoding = \"8+2\"\n{flow}"),
            &[
                "bad.toml:9: transport.coding: blocks are not repaired by the SACKs of paths = \"mrc\"; expected \"none\", or other paths",
            ],
        ),
        (
            format!("{many}paths = \"mrc\"\nentry_times = true\n{flow}"),
            &[
                "bad.toml:9: transport.entry_times: probes of paths = \"mrc\" find losses by the times at which packets left",
            ],
        ),
        (
            format!("{many}[transport.mrc]\npenalty = 128\n"),
            &["bad.toml:9: transport.mrc.penalty: 128 is outside the accepted range; expected 0 to 127"],
        ),
        (
            format!("{many}[transport.mrc]\nev = 3\n"),
            &["bad.toml:9: transport.mrc.ev: unknown key; did you mean \"evs\"?"],
        ),
        (
            format!("[switch]\necmp = \"source\"\n{flow}"),
            &[
                "bad.toml:8: switch.ecmp: switch \"left\" goes by entropy values, which only multipath endpoints have",
                "expected transport.kind = \"multipath\", or another ecmp",
            ],
        ),
        (format!("{many}[transport.reps]\nbuffers = 3\n"), &["transport.reps.buffers: unknown key"]),
        (format!("{many}[transport.rep]\npaths = 3\n"), &["transport.rep: unknown key; did you mean \"reps\"?"]),
        (
            format!("[switch]\ntrim = \"64B\"\n{flow}"),
            &[
                "bad.toml:8: switch.trim: the switch \"left\" trims packets, but only multipath endpoints understand that",
                "expected trim = \"none\" there",
            ],
        ),
        (
            format!("{many}control_priority = false\n[switch]\ntrim = \"64B\"\n{flow}"),
            &["switch.trim: the switch \"left\" trims packets, but nothing goes before data without control_priority"],
        ),
    ];
    for (bad, expected) in cases {
        check(&format!("{run}{bad}"), expected);
    }
    let fabric = "[network]\ntopology = \"spine-leaf\"\n[[flow]]\nfrom = \"h1\"\nto = \"h9\"\n";
    let across = "[network]\ntopology = \"datacenters\"\n[[workload]]\n[switch]\necmp = \"symmetric\"\n[wan_switch]\necmp = \"symmetric\"\n";
    let needing = |name: &str, network: &str, expected: &[&str]| {
        let text = format!("[run]\nduration = \"1ms\"\n[transport]\n{many}[algorithm]\nname = \"{name}\"\n{network}");
        let message = diagnose(&text, &[]).to_string();
        for part in expected {
            assert!(message.contains(part), "no {part:?} in the message\n  {message}\nof\n{text}");
        }
    };
    needing(
        "hpcc",
        fabric,
        &[
            "transport.paths: the algorithm \"hpcc\" compares telemetry of the same port",
            "expected paths = \"single\", or an algorithm without telemetry",
        ],
    );
    needing(
        "mlcc",
        across,
        &[
            "bad.toml:4: transport.kind: the algorithm \"mlcc\" has",
            "a multipath transport sends each packet its own way",
        ],
    );
    check(
        &format!("[run]\nduration = \"1ms\"\n[switch]\nphantom_drain = 0.9\n{flow}"),
        &[
            "bad.toml:7: switch.phantom_drain: has no effect without ecn_at = \"phantom\"; expected ecn_at = \"phantom\", or none",
        ],
    );
    check(
        &format!("[run]\nduration = \"1ms\"\n[switch]\nqueue_limit_rate = \"100Gbps\"\n{flow}"),
        &[
            "bad.toml:7: switch.queue_limit_rate: has no effect without queue_limit; expected a queue_limit, or no queue_limit_rate",
        ],
    );
    for (key, problem) in [
        (
            "trim_keeps_mark = true",
            "trim_keeps_mark: has no effect without trim; expected a trim, or trim_keeps_mark = false",
        ),
        (
            "ecn_last_hop = false\necn = false",
            "ecn_last_hop: has no effect without ecn = true; expected ecn = true, or no ecn_last_hop",
        ),
    ] {
        check(
            &format!("[run]\nduration = \"1ms\"\n[switch]\n{key}\n{flow}"),
            &[&format!("bad.toml:7: switch.{problem}")],
        );
    }
    for (keys, problem) in [
        ("ecn = false", "has no effect without ecn = true; expected ecn = true, or"),
        ("pfc = true", "drops what pfc = true keeps; expected pfc = false, or"),
        ("pfc = false\necn_at = \"departure\"", "drops packets on arrival; expected ecn_at = \"arrival\", or"),
    ] {
        check(
            &format!("[run]\nduration = \"1ms\"\n[switch]\necn_drops_others = true\n{keys}\n{flow}"),
            &[&format!("bad.toml:7: switch.ecn_drops_others: {problem} ecn_drops_others = false")],
        );
    }
}
