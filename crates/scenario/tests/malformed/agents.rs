//! Agents that a network has at its switches.

use super::check;

#[test]
fn agents_of_the_network() {
    let flows = "[workload]\nsizes = \"websearch\"\nload = 0.1\n";
    let start = format!("[run]\nduration = \"1ms\"\n[network]\ntopology = \"datacenters\"\n{flows}");
    let cases: &[(&str, &str)] = &[
        ("", "agent.1.name: missing; expected one of \"themis\""),
        ("name = \"themes\"\n", "agent.themes.name: \"themes\" is not accepted; did you mean \"themis\"?"),
        ("name = \"themis\"\nintervall = \"5us\"\n", "agent.themis.intervall: unknown key; did you mean \"interval\"?"),
        ("name = \"themis\"\ninterval = \"5\"\n", "agent.themis.interval: "),
        ("name = \"themis\"\ntoward = \"out\"\n", "agent.themis.toward: \"out\" is not accepted"),
        (
            "name = \"themis\"\nat = []\n",
            "agent.themis.at: [] leaves no switch; expected a list of switches, or \"border\"",
        ),
        ("name = \"themis\"\nat = \"tor\"\n", "agent.themis.at: \"tor\" is not accepted"),
        ("name = \"themis\"\nat = [\"dc9*\"]\n", "agent.themis.at: no switch is called \"dc9*\""),
        ("name = \"themis\"\n[[agent]]\nname = \"themis\"\n", "agent.themis.name: two agents are called \"themis\""),
        (
            "name = \"themis\"\n",
            "agent.themis: it sends congestion notification packets, which \"fixed\" does not hear; expected",
        ),
    ];
    for (own, expected) in cases {
        check(&format!("{start}[[agent]]\n{own}"), &[expected]);
    }
    let inside = "[run]\nduration = \"1ms\"\n[network]\ntopology = \"spine-leaf\"\n[[agent]]\nname = \"themis\"\n";
    check(&format!("{inside}{flows}"), &["agent.themis.at: no switch of a datacenter has a link to a switch outside"]);
}
