//! The keys of `[transport]` with `kind = "tcp"`: each reaches the endpoints, and combinations without a meaning are refused.

use farloop_net::spec::{AccEcnAcks, AccEcnOption, BackoffEnd, EcnFeedback, LinuxPacing, Recovery, RtoFloor, TcpSpec};
use farloop_scenario::{Diagnostic, parse};
use farloop_units::{Bytes, Delta};

/// What the endpoints are set to by `keys`, which begin in line 7.
fn tcp(keys: &str) -> Result<TcpSpec, Diagnostic> {
    let text = format!(
        "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n[transport]\n{keys}kind = \"tcp\"\n[network]\n"
    );
    parse(&text, "tcp.toml", &[]).and_then(|s| s.build()).map(|built| built.spec.transport.tcp)
}

#[test]
fn presets_are_defaults_that_each_key_can_override() {
    let linux = || TcpSpec {
        recovery: Recovery::Rack,
        handshake: true,
        delayed_ack: Some(Delta::from_ms(40)),
        rto_floor: RtoFloor::Variance,
        initial_cwnd: Some(10),
        receive_window: Bytes::new(3_145_728),
        prr: true,
        remember_ssthresh: true,
        segmentation_offload: true,
        ..TcpSpec::default()
    };
    let linux_6 = || TcpSpec {
        remember_ssthresh: false,
        timeout_min: Delta::from_ms(2),
        timer_tick: Delta::from_ms(4),
        timestamp_tick: Delta::from_ms(1),
        ..linux()
    };
    let cases: &[(&str, TcpSpec)] = &[
        ("preset = \"none\"\n", TcpSpec::default()),
        ("preset = \"linux-4.9\"\n", linux()),
        ("preset = \"linux-6\"\n", linux_6()),
        (
            "preset = \"linux-6\"\nrecovery = \"sack\"\ntimestamps = false\ntimer_tick = \"1ms\"\n",
            TcpSpec { recovery: Recovery::Sack, timestamps: false, timer_tick: Delta::from_ms(1), ..linux_6() },
        ),
        ("preset = \"linux-4.9\"\nconnections = \"persistent\"\n", TcpSpec { persistent: true, ..linux() }),
        (
            "handshake = false\npreset = \"linux-4.9\"\nmin_rto = \"10ms\"\nrecovery = \"sack\"\n",
            TcpSpec { handshake: false, min_rto: Delta::from_ms(10), recovery: Recovery::Sack, ..linux() },
        ),
        (
            "preset = \"linux-6\"\necn = \"accecn\"\naccecn_option = \"stripped\"\naccecn_acks = \"linux\"\n",
            TcpSpec {
                ecn: EcnFeedback::AccEcn,
                accecn_option: AccEcnOption::Stripped,
                accecn_acks: AccEcnAcks::Linux,
                ..linux_6()
            },
        ),
        ("ecn = \"classic\"\n", TcpSpec { ecn: EcnFeedback::Classic, ..TcpSpec::default() }),
        ("ecn = \"rfc8257\"\n", TcpSpec { ecn: EcnFeedback::Rfc8257, ..TcpSpec::default() }),
        (
            "ecn = \"accecn\"\naccecn_option = \"off\"\n",
            TcpSpec { ecn: EcnFeedback::AccEcn, accecn_option: AccEcnOption::Off, ..TcpSpec::default() },
        ),
        (
            "preset = \"linux-4.9\"\ndelayed_ack = \"none\"\nprr = false\n",
            TcpSpec { delayed_ack: None, prr: false, ..linux() },
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(&tcp(keys).unwrap_or_else(|e| panic!("{keys}: {e}")), expected, "{keys}");
    }
}

#[test]
fn presets_reach_the_algorithms_below_what_the_scenario_sets() {
    let param = |transport: &str, algorithm: &str, key: &str| {
        let text = format!(
            "algorithm.name = \"cubic-ecn\"\n{algorithm}run.duration = \"1ms\"\nnetwork.topology = \"dumbbell\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n[transport]\nkind = \"tcp\"\n{transport}"
        );
        let resolved = parse(&text, "tcp.toml", &[]).expect("valid").to_json();
        resolved["algorithm"]["cubic-ecn"][key].clone()
    };
    let old = "preset = \"linux-4.9\"\n";
    assert_eq!(param("", "", "hystart"), "none");
    assert_eq!(param(old, "", "hystart"), "linux-4.9");
    assert_eq!(param("preset = \"linux-6\"\n", "", "hystart"), "linux-6");
    assert_eq!((param(old, "", "alpha_one"), param(old, "", "ecn")), (false.into(), true.into()));
    assert_eq!(param(old, "algorithm.cubic.hystart = \"rfc9406\"\n", "hystart"), "rfc9406");
}

#[test]
fn every_setting_of_recovery_and_timers_reaches_the_endpoints() {
    let default = TcpSpec::default;
    let rack = || TcpSpec { recovery: Recovery::Rack, ..default() };
    let cases: &[(&str, TcpSpec)] = &[
        ("", default()),
        ("rto_floor = \"variance\"\n", TcpSpec { rto_floor: RtoFloor::Variance, ..default() }),
        ("backoff_ends = \"any-ack\"\n", TcpSpec { backoff_ends: BackoffEnd::AnyAck, ..default() }),
        ("max_rto = \"60s\"\n", TcpSpec { max_rto: Delta::from_secs(60), ..default() }),
        ("handshake = true\nsyn_retries = 0\n", TcpSpec { handshake: true, syn_retries: 0, ..default() }),
        ("timestamps = false\n", TcpSpec { timestamps: false, ..default() }),
        ("dsack = false\n", TcpSpec { dsack: false, ..default() }),
        ("forget_sack = true\n", TcpSpec { forget_sack: true, ..default() }),
        ("remember_ssthresh = true\n", TcpSpec { remember_ssthresh: true, ..default() }),
        ("segmentation_offload = true\n", TcpSpec { segmentation_offload: true, ..default() }),
        ("connections = \"persistent\"\n", TcpSpec { persistent: true, ..default() }),
        (
            "connections = \"persistent\"\nremember_ssthresh = true\n",
            TcpSpec { persistent: true, remember_ssthresh: true, ..default() },
        ),
        (
            "connections = \"persistent\"\nslow_start_after_idle = false\n",
            TcpSpec { persistent: true, slow_start_after_idle: false, ..default() },
        ),
        (
            "delay_noise_intra = \"17us\"\ndelay_noise_cross = \"58us\"\n",
            TcpSpec { delay_noise_intra: Delta::from_us(17), delay_noise_cross: Delta::from_us(58), ..default() },
        ),
        ("prr = true\n", TcpSpec { prr: true, ..default() }),
        (
            "pacing = \"linux\"\nsegmentation_offload = true\n",
            TcpSpec {
                pacing: Some(LinuxPacing { slow_start: 2.0, otherwise: 1.2 }),
                segmentation_offload: true,
                ..default()
            },
        ),
        ("frto = false\n", TcpSpec { frto: false, ..default() }),
        ("recovery = \"rack\"\n", rack()),
        ("recovery = \"rack\"\ntail_loss_probe = true\ndsack = true\n", rack()),
        ("recovery = \"rack\"\ntail_loss_probe = false\n", TcpSpec { tail_loss_probe: false, ..rack() }),
        ("recovery = \"rack\"\nmax_ack_delay = \"0s\"\n", TcpSpec { max_ack_delay: Delta::ZERO, ..rack() }),
        ("recovery = \"rack\"\nmax_ack_delay = \"none\"\ntail_loss_probe = \"none\"\n", rack()),
        (
            "recovery = \"newreno\"\ndsack = \"none\"\nforget_sack = false\nsyn_retries = \"none\"\n",
            TcpSpec { recovery: Recovery::NewReno, ..default() },
        ),
    ];
    for (keys, expected) in cases {
        match tcp(keys) {
            Ok(spec) => assert_eq!(spec, *expected, "{keys}"),
            Err(diagnostic) => panic!("{diagnostic}\n{keys}"),
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases: &[(&str, &[&str])] = &[
        // Values.
        (
            "rto_floor = \"srtt\"\n",
            &["tcp.toml:7: transport.rto_floor: \"srtt\" is not accepted", "\"total\", \"variance\""],
        ),
        (
            "backoff_ends = \"ack\"\n",
            &["tcp.toml:7: transport.backoff_ends: \"ack\" is not accepted", "\"sample\", \"any-ack\""],
        ),
        ("max_rto = \"0s\"\n", &["tcp.toml:7: transport.max_rto: \"0s\" is outside", "1us to 3600s"]),
        ("max_rto = 60\n", &["transport.max_rto: 60 is a whole number; expected a time with its unit"]),
        ("handshake = true\nsyn_retries = 256\n", &["tcp.toml:8: transport.syn_retries: 256 is outside", "0 to 255"]),
        ("timestamps = 1\n", &["transport.timestamps: 1 is a whole number; expected true or false"]),
        ("dsack = \"yes\"\n", &["transport.dsack: \"yes\"", "true or false"]),
        ("forget_sack = \"no\"\n", &["transport.forget_sack: \"no\" is a text; expected true or false"]),
        ("frto = 0\n", &["transport.frto: 0 is a whole number; expected true or false"]),
        ("recovery = \"rack\"\ntail_loss_probe = 2\n", &["tcp.toml:8: transport.tail_loss_probe: 2", "true or false"]),
        (
            "recovery = \"rack\"\nmax_ack_delay = \"61s\"\n",
            &["transport.max_ack_delay: \"61s\" is outside", "0ps to 60s"],
        ),
        ("tail_loss_probes = true\n", &["transport.tail_loss_probes: unknown key; did you mean \"tail_loss_probe\"?"]),
        ("connections = \"open\"\n", &["transport.connections: \"open\"", "\"per-flow\", \"persistent\""]),
        ("delay_noise_intra = \"2s\"\n", &["tcp.toml:7: transport.delay_noise_intra: \"2s\" is outside", "0ps to 1s"]),
        // Combinations.
        (
            "slow_start_after_idle = true\n",
            &[
                "tcp.toml:7: transport.slow_start_after_idle: no connection is ever idle with connections = \"per-flow\"",
                "expected connections = \"persistent\", or no slow_start_after_idle",
            ],
        ),
        (
            "tail_loss_probe = true\n",
            &[
                "tcp.toml:7: transport.tail_loss_probe: there are no tail loss probes with recovery = \"sack\"",
                "expected recovery = \"rack\", or no tail_loss_probe",
            ],
        ),
        (
            "recovery = \"newreno\"\ntail_loss_probe = false\n",
            &["tcp.toml:8: transport.tail_loss_probe: there are no tail loss probes with recovery = \"newreno\""],
        ),
        (
            "max_ack_delay = \"25ms\"\n",
            &["tcp.toml:7: transport.max_ack_delay: there are no tail loss probes with recovery = \"sack\""],
        ),
        (
            "recovery = \"rack\"\ntail_loss_probe = false\nmax_ack_delay = \"25ms\"\n",
            &[
                "tcp.toml:9: transport.max_ack_delay: there are no tail loss probes with tail_loss_probe = false",
                "expected tail_loss_probe = true, or no max_ack_delay",
            ],
        ),
        (
            "accecn_option = \"off\"\n",
            &[
                "tcp.toml:7: transport.accecn_option: no marks are counted with ecn = \"auto\"; expected ecn = \"accecn\"",
            ],
        ),
        (
            "ecn = \"rfc8257\"\naccecn_acks = \"linux\"\n",
            &["tcp.toml:8: transport.accecn_acks: no marks are counted with ecn = \"rfc8257\"", "or no accecn_acks"],
        ),
        (
            "ecn = \"accurate\"\n",
            &["tcp.toml:7: transport.ecn: \"accurate\"", "\"auto\", \"classic\", \"rfc8257\", \"accecn\""],
        ),
        (
            "quick_acks = 16\n",
            &["tcp.toml:7: transport.quick_acks: no ACK is delayed", "delayed_ack, or no quick_acks"],
        ),
        (
            "timeout_min = \"2ms\"\n",
            &[
                "tcp.toml:7: transport.timeout_min: there are neither tail loss probes nor a reordering timer with recovery = \"sack\"",
                "expected recovery = \"rack\", or no timeout_min",
            ],
        ),
        (
            "timestamps = false\ntimestamp_tick = \"1ms\"\n",
            &[
                "tcp.toml:8: transport.timestamp_tick: there are no timestamps with timestamps = false",
                "expected timestamps = true, or no timestamp_tick",
            ],
        ),
        ("timer_tick = \"2s\"\n", &["transport.timer_tick: \"2s\" is outside", "0ps to 1s"]),
        (
            "recovery = \"newreno\"\ndsack = true\n",
            &["tcp.toml:8: transport.dsack: there are no selective acknowledgements with recovery = \"newreno\""],
        ),
        (
            "recovery = \"newreno\"\nforget_sack = true\n",
            &["tcp.toml:8: transport.forget_sack: there are no selective acknowledgements", "or forget_sack = false"],
        ),
        (
            "syn_retries = 3\n",
            &["tcp.toml:7: transport.syn_retries: no SYN is sent with handshake = false; expected handshake = true"],
        ),
        (
            "max_rto = \"100ms\"\n",
            &["tcp.toml:7: transport.max_rto: max_rto = \"100ms\" is below min_rto = \"200ms\"", "expected at least"],
        ),
        (
            "max_rto = \"500ms\"\n",
            &["tcp.toml:7: transport.max_rto: max_rto = \"500ms\" is below initial_rto = \"1s\""],
        ),
        (
            "preset = \"linux-4.8\"\n",
            &["tcp.toml:7: transport.preset: \"linux-4.8\" is not accepted; did you mean \"linux-4.9\"", "\"linux-6\""],
        ),
        ("preset = \"linux-6\"\nrecovery = \"newreno\"\nforget_sack = true\n", &["tcp.toml:9: transport.forget_sack:"]),
        // Keys of TCP alone.
        ("rto_cross = \"1ms\"\n", &["transport.rto_cross: is no key of kind \"tcp\"", "tail_loss_probe"]),
    ];
    for (keys, expected) in cases {
        let message = tcp(keys).expect_err(keys).to_string();
        for part in *expected {
            assert!(message.contains(part), "no {part:?} in the message\n  {message}\nof\n{keys}");
        }
    }
}
