//! Maps errors of the network model to messages about the scenario's keys. The rules are in `farloop_net`; this module
//! finds the key that breaks one.

use super::circuits;
use super::link_events;
use super::switches::setting_path;
use crate::diagnostic::Diagnostic;
use crate::error::RunError;
use crate::scenario::Scenario;
use crate::topology::{Layout, RateKey};
use crate::transport::EndpointKeys;
use farloop_net::spec::{NodeId, NodeKind};
use farloop_net::{BuildError, CircuitPart};
use farloop_units::Bytes;

/// Maps an error of [`farloop_net::spec::NetworkSpec::check`] about `layout`, with the algorithms of these names.
pub(crate) fn of_network(
    scenario: &Scenario,
    layout: &Layout,
    algorithms: &[String],
    error: &BuildError,
) -> Diagnostic {
    match error {
        BuildError::HostLinks { host, links } => {
            let problem = format!("the host has {links} links");
            let expected =
                format!("expected 1 to {} links of a host, each for a NIC port of its own", NodeKind::MAX_PORTS);
            scenario.diagnostic_at(&["node", host], problem, expected)
        }
        BuildError::IntRate { link, switch, rate } => {
            let link = &layout.links[*link];
            let ends = [link.spec.a, link.spec.b].map(|end| layout.nodes[end as usize].name.as_str());
            let peer = if ends[0] == switch { ends[1] } else { ends[0] };
            let problem = format!("telemetry cannot carry the rate {rate} of the port {switch}->{peer}");
            let expected = "expected at most three significant digits, such as \"12.5Gbps\", or switch.int = false";
            scenario.diagnostic_at(&link.rate_key.path(), problem, expected)
        }
        BuildError::BufferTooSmall { switch, buffer, headroom, packet } => {
            of_buffer(scenario, layout, switch, *buffer, *headroom, *packet)
        }
        BuildError::NoPayload { algorithm, mtu, headers } => {
            let name = &algorithms[*algorithm];
            let problem =
                format!("{mtu} leave no room for payload: headers take {headers} with the algorithm \"{name}\"");
            scenario.diagnostic_at(&["transport", "mtu"], problem, "expected a larger mtu or a smaller header")
        }
        BuildError::PacketTooLong { size } => {
            let expected = format!("expected at most {} bytes on the wire: a smaller mtu or framing", u16::MAX);
            scenario.diagnostic_at(&["transport", "mtu"], format!("a packet would take {size} on the wire"), expected)
        }
        BuildError::Tcp { mss, error } => {
            let problem = match (&scenario.endpoint, error.setting) {
                (EndpointKeys::Tcp(tcp), "receive_window") => {
                    format!("{} hold no packet of {} bytes", tcp.receive_window, mss.get())
                }
                _ => format!("packets have {mss} of payload"),
            };
            scenario.diagnostic_at(&["transport", error.setting], problem, format!("expected {}", error.expected))
        }
        BuildError::TwoAgents { algorithms: both, .. } => {
            let [first, other] = both.map(|i| &algorithms[i]);
            let problem = format!("\"{first}\" and \"{other}\" both want an agent at the switches' ports");
            scenario.diagnostic_at(&["algorithm", "name"], problem, "expected one such algorithm per scenario")
        }
        BuildError::Agent { agent, problem, expected } if *agent < scenario.agents.len() => {
            scenario.diagnostic_at(&["agent", &scenario.agents[*agent].name], problem.as_str(), expected.as_str())
        }
        BuildError::TwoDisciplines { switch, algorithm } => {
            of_disciplines(scenario, layout, switch, &algorithms[*algorithm])
        }
        BuildError::Circuit { circuit, part, problem } => of_circuit(scenario, layout, circuit, part, problem),
        BuildError::Scheduling { switch, setting, problem } => {
            of_scheduling(scenario, layout, switch, *setting, problem)
        }
        BuildError::Trim { switch, problem } => {
            let path = setting_path(scenario, layout, node_of(layout, switch), "trim");
            scenario.diagnostic_at(
                &path,
                format!("the switch \"{switch}\" {problem}"),
                "expected trim = \"none\" there",
            )
        }
        BuildError::LinkPfc { link, setting, problem, expected } => {
            let path = link_key(&layout.links[*link].rate_key, setting);
            scenario.diagnostic_at(&path, problem.as_str(), expected.as_str())
        }
        BuildError::LinkEvent { event, setting, problem, expected } => {
            let origin = link_events::happening(scenario, layout).ok().and_then(|all| all.origins.get(*event).copied());
            let number = origin.map_or(0, |origin| origin + 1).to_string();
            scenario.diagnostic_at(&["event", &number, setting], problem.as_str(), expected.as_str())
        }
        BuildError::Detour { detour, problem } if *detour < scenario.detours.len() => {
            let path = ["detour", scenario.detours[*detour].0.as_str(), "next"];
            scenario.diagnostic_at(
                &path,
                format!("it {problem}"),
                "expected another neighbour, or circuits.scheduling = \"none\"",
            )
        }
        // Errors that no topology causes, and those that a scenario's own checks find earlier.
        BuildError::BadLink { .. }
        | BuildError::ZeroRate { .. }
        | BuildError::NoMemory { .. }
        | BuildError::ClockOffset { .. }
        | BuildError::TooLarge { .. }
        | BuildError::Detour { .. }
        | BuildError::Agent { .. }
        | BuildError::Path { .. }
        | BuildError::Circle { .. }
        | BuildError::Flow { .. }
        | BuildError::Job { .. }
        | BuildError::Record { .. }
        | BuildError::Cancelled => scenario.diagnostic_at(&["network"], error.to_string(), ""),
    }
}

/// An algorithm with a queue for each flow meets another discipline at a switch.
fn of_disciplines(scenario: &Scenario, layout: &Layout, switch: &str, algorithm: &str) -> Diagnostic {
    let problem = format!(
        "the algorithm \"{algorithm}\" keeps each flow in a queue of its own at the ports of switch \"{switch}\""
    );
    let path = setting_path(scenario, layout, node_of(layout, switch), "discipline");
    scenario.diagnostic_at(&path, problem, "expected discipline = \"fifo\" there")
}

/// The path of a key of a link's PFC, where this key sets its rate.
fn link_key<'k>(rate_key: &'k RateKey, setting: &'k str) -> Vec<&'k str> {
    match (rate_key, setting) {
        (RateKey::Link(name), _) => vec!["link", name, setting],
        (RateKey::Network(_), "pfc") => vec!["network", "wan_pfc"],
        (RateKey::Network(_), "headroom") => vec!["network", "wan_headroom"],
        (RateKey::Network(_), _) => vec!["network", "wan_pfc_slot"],
    }
}

/// A switch whose buffer cannot hold the headroom of its ports.
fn of_buffer(
    scenario: &Scenario,
    layout: &Layout,
    switch: &str,
    buffer: Bytes,
    headroom: u128,
    packet: Bytes,
) -> Diagnostic {
    let setting = |key| setting_path(scenario, layout, node_of(layout, switch), key);
    let reserved = round_up_bytes(headroom);
    let problem = format!(
        "the buffer of {buffer} is too small for switch \"{switch}\": PFC reserves {reserved} of headroom for packets that \
         arrive after a pause, more the longer a link"
    );
    let expected = format!(
        "expected at least {} (headroom and two packets of {packet}), shorter links, or {} = false",
        round_up_bytes(headroom + 2 * u128::from(packet.get())),
        setting("pfc").join(".")
    );
    scenario.diagnostic_at(&setting("buffer"), problem, expected)
}

/// A circuit switch that cannot be as the scenario says.
fn of_circuit(scenario: &Scenario, layout: &Layout, circuit: &str, part: &CircuitPart, problem: &str) -> Diagnostic {
    let whole = format!("circuit switch \"{circuit}\": {problem}");
    match part {
        CircuitPart::Slot(slot) => circuits::at_slot(scenario, layout, node_of(layout, circuit), *slot, whole),
        CircuitPart::Link(link) => {
            let path = layout.links[*link].rate_key.path();
            let path = if path[0] == "link" { &path[..2] } else { &path[..] };
            scenario.diagnostic_at(path, whole, "expected one link to each of several packet switches, all of one rate")
        }
        CircuitPart::Cycle => scenario.diagnostic_at(&["circuits"], whole, "expected slots, fewer or longer ones"),
    }
}

/// A switch that cannot schedule circuits: by one of its settings, or by its links.
fn of_scheduling(
    scenario: &Scenario,
    layout: &Layout,
    switch: &str,
    setting: Option<&'static str>,
    problem: &str,
) -> Diagnostic {
    let whole = format!("switch \"{switch}\" {problem}");
    let Some(setting) = setting else {
        return scenario.diagnostic_at(&["circuits", "scheduling"], whole, "expected one link to a circuit switch");
    };
    let expected = match setting {
        "pfc" => "expected pfc = false there",
        "ecn_at" => "expected ecn_at = \"arrival\" there",
        "discipline" => "expected discipline = \"fifo\" there",
        _ => "expected ecmp = \"flow\" or \"packet\" there",
    };
    scenario.diagnostic_at(&setting_path(scenario, layout, node_of(layout, switch), setting), whole, expected)
}

/// Maps an error that only the finished network can find: flows and their paths. `flow_name` and `node_name` give the names
/// of flows and nodes by index.
pub(crate) fn of_paths<'n>(
    scenario: &Scenario,
    flow_name: impl Fn(usize) -> &'n str,
    node_name: impl Fn(NodeId) -> &'n str,
    error: &BuildError,
) -> RunError {
    match error {
        BuildError::Cancelled => RunError::Cancelled,
        BuildError::Flow { flow, problem } => {
            let name = flow_name(*flow);
            // One of several equal flows is NAME-1, NAME-2, ….
            let group = name.rsplit_once('-').map_or(name, |(group, _)| group);
            let listed = scenario.flows.iter().filter_map(|f| f.name.as_deref()).find(|f| *f == name || *f == group);
            let path = listed.map_or(vec!["workload"], |listed| vec!["flow", listed]);
            scenario.diagnostic_at(&path, format!("the flow \"{name}\" {problem}"), "").into()
        }
        BuildError::Job { job, problem } => {
            let element = scenario.jobs.get(*job).map_or("", |job| &job.element);
            scenario.diagnostic_at(&["job", element], format!("the job {problem}"), "").into()
        }
        BuildError::Circle { flow, between: [from, to], destination } => {
            // A detour to that host is at fault; without one its network has no path.
            let host = node_name(*destination);
            let to_it = scenario.detours.iter().find(|(_, d)| d.destination.as_deref() == Some(host));
            let path = to_it.map_or(vec!["network"], |(name, _)| vec!["detour", name, "next"]);
            let problem = format!(
                "what is bound for \"{host}\" goes round in circles: the flow \"{}\" from \"{from}\" to \"{to}\"",
                flow_name(*flow)
            );
            scenario
                .diagnostic_at(&path, problem, "expected a neighbour from which the way leads on to that host")
                .into()
        }
        other => scenario.diagnostic_at(&["network"], other.to_string(), "").into(),
    }
}

/// The node of this name, which the layout has.
fn node_of(layout: &Layout, name: &str) -> NodeId {
    (0..).zip(&layout.nodes).find(|(_, node)| node.name == name).map_or(0, |(id, _)| id)
}

/// Bytes with a unit, as a scenario may say them: to three digits, and never less.
fn round_up_bytes(bytes: u128) -> String {
    let mut step = 1;
    while bytes.div_ceil(step) >= 1000 {
        step *= 10;
    }
    let digits = bytes.div_ceil(step) * step;
    let (unit, name) = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")]
        .into_iter()
        .find(|(unit, _)| digits >= *unit)
        .unwrap_or((1, "B"));
    let rest = format!("{:03}", digits % unit * 1000 / unit);
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    format!("{}{point}{rest}{name}", digits / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_up_to_three_digits() {
        let cases = [
            (0, "0B"),
            (999, "999B"),
            (1000, "1kB"),
            (1538, "1.54kB"),
            (15_000_000, "15MB"),
            (999_001, "1MB"),
            (10_000_019_132, "10.1GB"),
            (123_400_000_000, "124GB"),
        ];
        for (bytes, rounded) in cases {
            assert_eq!(round_up_bytes(bytes), rounded);
        }
    }
}
