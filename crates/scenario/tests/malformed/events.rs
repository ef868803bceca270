//! What cannot happen to links.

use super::{FLOW, check};

/// Events from the 10th line on.
fn fabric(events: &str) -> String {
    let network = "[network]\ntopology = \"spine-leaf\"\nspines = 2\nleaves = 2\n";
    format!("[run]\nduration = \"1ms\"\n{network}{events}[[flow]]\nfrom = \"h1\"\nto = \"h2\"\n")
}

#[test]
fn events_of_links() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spin2\"\nstate = \"down\"\n",
            &[
                "bad.toml:12: event.1.link: there is no link \"leaf1<->spin2\"; did you mean \"leaf1<->spine2\"?",
                "links: \"h1<->leaf1\"",
            ],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1\"\nstate = \"down\"\n",
            &["bad.toml:12: event.1.link: \"leaf1\" is no link", "expected A<->B or A->B"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf9<->*\"\nstate = \"down\"\n",
            &["bad.toml:12: event.1.link: there is no link \"leaf9<->*\""],
        ),
        (
            "[[event]]\nat = \"2ms\"\nlink = \"leaf1<->spine2\"\nstate = \"down\"\n",
            &["bad.toml:11: event.1.at: the run is over at", "run.duration"],
        ),
        ("[[event]]\nlink = \"leaf1<->spine2\"\nstate = \"down\"\n", &["bad.toml:10: event.1.at: missing"]),
        (
            "[[event]]\nat = \"1us\"\nstate = \"down\"\n",
            &["bad.toml:10: event.1.link: missing; expected a text in quotes, or a list"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = []\nstate = \"down\"\n",
            &["bad.toml:12: event.1.link: [] is not accepted; expected a name in quotes"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\n",
            &[
                "bad.toml:12: event.1.link: nothing happens to it; expected state, rate, delay, loss, corruption, lose_data, lose_acks or late_data",
            ],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nstate = \"donw\"\n",
            &["bad.toml:13: event.1.state: \"donw\" is not accepted; did you mean \"down\"?"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nstate = \"up\"\n",
            &["bad.toml:13: event.1.state: leaf1<->spine2 is up at", "expected it to go down before"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->s*\"\nstate = \"down\"\n[[event]]\nat = \"2us\"\nlink = \"spine2<->leaf1\"\nstate = \"down\"\n",
            &["bad.toml:17: event.2.state: leaf1<->spine2 has been down since", "expected it to come up before"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine1\"\nrate = \"1Gbps\"\n[[event]]\nat = \"1us\"\nlink = \"spine1->*\"\nrate = \"2Gbps\"\n",
            &["bad.toml:17: event.2.rate: another event sets this for leaf1<->spine1 at", "expected one of them"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1->spine1\"\nstate = \"down\"\n",
            &["bad.toml:12: event.1.link: a link goes down and comes up in both directions; expected A<->B"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nrate = \"0Gbps\"\n",
            &["bad.toml:13: event.1.rate: \"0Gbps\" is outside the accepted range"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nrate = \"1.2345Gbps\"\n",
            &[
                "bad.toml:13: event.1.rate: telemetry cannot carry the rate 1234.5Mbps of a port of \"leaf1\"",
                "three significant digits",
            ],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nloss = -0.1\n",
            &["bad.toml:13: event.1.loss: -0.1 is outside the accepted range; expected 0.0 to 1.0"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nspeed = \"1Gbps\"\n",
            &[
                "bad.toml:13: event.1.speed: unknown key",
                "accepted keys: at, link, state, rate, delay, loss, corruption, lose_data, lose_acks, late_data, late_by",
            ],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nlose_data = \"9-5\"\n",
            &["bad.toml:13: event.1.lose_data: \"9-5\" is not accepted; expected numbers from 1 and ranges"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nlose_acks = 0\n",
            &["bad.toml:13: event.1.lose_acks: \"0\" is not accepted; expected numbers from 1 and ranges"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nlate_data = \"5\"\n",
            &["bad.toml:13: event.1.late_data: how much later is missing; expected late_by"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nlate_by = \"5us\"\nloss = 0.1\n",
            &["bad.toml:13: event.1.late_by: no packet is late; expected late_data"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nlate_data = \"5\"\nlate_by = \"0s\"\n",
            &["bad.toml:14: event.1.late_by: \"0s\" is outside the accepted range"],
        ),
        (
            "network.detection_time = \"2ms\"\n[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nloss = 0.1\n",
            &["network.detection_time: no link goes down or comes up"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\nstate = \"down\"\n[[detour]]\nswitch = \"leaf1\"\ndestination = \"h2\"\nnext = \"spine2\"\n",
            &["bad.toml:13: event.1.state: routes would change", "no [[detour]]"],
        ),
        (
            "[[event]]\nat = \"1us\"\nlink = \"leaf1<->spine2\"\ndelay = \"10ms\"\n",
            &["switch.buffer: the buffer of 10MB is too small for switch"],
        ),
    ];
    for (events, expected) in cases {
        let text = match events.strip_prefix("network.detection_time = \"2ms\"\n") {
            Some(events) => fabric(events).replace("spines = 2", "spines = 2\ndetection_time = \"2ms\""),
            None => fabric(events),
        };
        check(&text, expected);
    }
}

#[test]
fn events_around_circuits() {
    let hybrid = |event: &str| {
        let network = "[network]\ntopology = \"hybrid\"\nracks = 3\n[switch]\npfc = false\n";
        let flow = FLOW.replace("s1", "r1-h1").replace("d1", "r2-h1");
        format!("[run]\nduration = \"1ms\"\n{network}[[event]]\nat = \"1us\"\n{event}{flow}")
    };
    let circuit = "link = \"tor1<->ocs\"\nloss = 0.1\n";
    check(&hybrid(circuit), &["bad.toml:13: event.1.link: the link leads to the circuit switch \"ocs\"", "[circuits]"]);
    let packets = "link = \"tor1<->eps#2\"\nstate = \"down\"\n";
    check(&hybrid(packets), &["bad.toml:14: event.1.state: the network has circuit switches"]);
}
