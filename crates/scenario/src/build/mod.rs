//! From a scenario to the simulator's specification. Checks the rules that only the whole network shows.
//!
//! The steps, in this order: nodes and links of the topology, slots of circuit switches (`circuits`), settings of single switches
//! (`switches`), the places of agents (`agents`), facts about hosts for flows (`hosts`), their NIC ports (`nics`), their clocks
//! (`phases`), flows (`traffic`), the needs of algorithms (`needs`), the record (`record`), the consequences of circuits
//! (`circuit_facts`), detours (`detours`), changes of links (`link_events`).
//!
//! Flows are those of the scenario and of files (`flow_list`), then those that are drawn (`random`, `elephants`) or follow from each other
//! (`collectives`, `follows`); some have paths of their own (`pinned_flows`). The rules of the network model are in `farloop_net`;
//! `error_mapping` finds the keys that break them.

mod agents;
mod circuit_facts;
mod circuits;
mod collectives;
mod detours;
mod elephants;
mod error_mapping;
mod flow_list;
mod flow_table;
mod follows;
mod hosts;
mod jobs;
mod link_events;
mod needs;
mod nics;
mod phases;
mod pinned_flows;
mod random;
mod record;
mod switches;
mod traffic;

pub use circuit_facts::{CircuitFacts, Demand};
pub(crate) use error_mapping::of_paths;
pub use link_events::EventFact;

use crate::diagnostic::Diagnostic;
use crate::error::RunError;
use crate::scenario::Scenario;
use crate::topology::{Layout, Problem, Switches};
use crate::transport;
use farloop_net::result::Gear;
use farloop_net::spec::{LinkEvents, LinkSpec, NetworkSpec, NodeId, NodeKind, PfcSpec, SwitchSpec, XoffSpec};
use farloop_net::{BuildError, check_links};
use farloop_units::Delta;
use hosts::Hosts;
use std::collections::BTreeSet;
use std::ops::Range;
use switches::setting_path;

/// The result of [`Scenario::build`]: the specification, and the names behind its indices.
#[derive(Clone, Debug)]
pub struct Built {
    /// The network for the simulator.
    pub spec: NetworkSpec,
    /// The simulator that is to run it.
    pub gear: Gear,
    /// Names of [`NetworkSpec::flows`].
    pub flow_names: Vec<String>,
    /// Names that mean several of [`NetworkSpec::flows`]: each `[[flow]]` with all that its `count` makes of it, each
    /// workload with a name.
    pub flow_groups: Vec<(String, Range<u32>)>,
    /// Names of [`NetworkSpec::nodes`].
    pub node_names: Vec<String>,
    /// Names of [`NetworkSpec::algorithms`], presets by their own names.
    pub algorithm_names: Vec<String>,
    /// Those of [`NetworkSpec::nodes`] that are routers of the wide-area network.
    pub routers: BTreeSet<NodeId>,
    /// Facts about its circuits, where it has any.
    pub circuits: Option<CircuitFacts>,
    /// Shortest time of an iteration, by job.
    pub(crate) shortest_iterations: Vec<Delta>,
    /// Changes of its links.
    pub events: Vec<EventFact>,
    /// Warnings: settings that can be simulated but are most likely a mistake.
    pub notes: Vec<String>,
}

impl Scenario {
    /// Checks the scenario as a whole and makes the simulator's specification.
    pub fn build(&self) -> Result<Built, Diagnostic> {
        self.build_while(&mut || true).map_err(RunError::diagnostic)
    }

    /// As [`Scenario::build`]; stops where `go_on` answers `false`.
    pub fn build_while(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Built, RunError> {
        build(self, true, go_on)
    }

    /// As [`Scenario::build_while`], but random flows are checked and not drawn.
    pub(crate) fn check_while(&self, go_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
        build(self, false, go_on).map(drop)
    }
}

/// Builds; `generate` draws the random workload, otherwise it is only checked. Stops where `go_on` answers `false`.
fn build(scenario: &Scenario, generate: bool, go_on: &mut dyn FnMut() -> bool) -> Result<Built, RunError> {
    let mut go_on = || if go_on() { Ok(()) } else { Err(RunError::Cancelled) };
    let mut layout = layout(scenario)?;
    go_on()?;
    circuits::apply(scenario, &mut layout)?;
    switches::apply(scenario, &mut layout)?;
    agents::place(scenario, &mut layout)?;
    circuits::schedule(scenario, &mut layout)?;
    go_on()?;
    let links: Vec<LinkSpec> = layout.links.iter().map(|l| l.spec).collect();
    check_links(&layout.nodes, &links).map_err(|e| error_mapping::of_network(scenario, &layout, &[], &e))?;
    check_switches(scenario, &layout)?;
    needs::check_entry_times(scenario, &layout)?;
    let hosts = Hosts::from_layout(&layout);
    nics::check(scenario, &hosts)?;
    let mut traffic = traffic::traffic(scenario, &hosts, generate, &mut || go_on().is_ok())?;
    let (jobs, shortest_iterations) = jobs::jobs(scenario, &hosts, &mut traffic, &mut || go_on().is_ok())?;
    phases::shift_starts(scenario, &hosts, &mut traffic.flows);
    let clock_offsets = phases::clock_offsets(scenario, &hosts)?;
    let algorithms = needs::algorithms(scenario, &layout, &traffic.algorithm_names)?;
    let chosen_agents = agents::chosen(scenario, &layout)?;
    let circuits = circuit_facts::facts(scenario, &layout, &traffic.flows)?;
    let record = record::record(scenario, &layout, &traffic, circuits.as_ref())?;
    let happening = link_events::happening(scenario, &layout)?;
    let mut notes: Vec<String> = circuits.iter().flat_map(CircuitFacts::notes).collect();
    notes.extend(traffic.find_idle_sides(&layout.nodes, &jobs));
    let spec = NetworkSpec {
        links,
        detours: detours::detours(scenario, &layout)?,
        events: LinkEvents {
            events: happening.specs,
            detection: scenario.routing.detection_time.unwrap_or(Delta::MAX),
        },
        transport: transport::spec(&scenario.transport, &scenario.endpoint),
        algorithms,
        agents: chosen_agents,
        flows: traffic.flows,
        follows: traffic.follows,
        paths: traffic.paths,
        jobs,
        intra_rtt: scenario.transport.intra_rtt,
        record,
        end: scenario.end(),
        seed: scenario.run.seed,
        clock_offsets,
        stalls: phases::stalls(scenario)?,
        nic_order: phases::nic_order(scenario),
        bond: nics::bond(scenario),
        tie_order: phases::tie_order(scenario),
        nodes: std::mem::take(&mut layout.nodes),
    };
    go_on()?;
    if let Err(error) = spec.check() {
        layout.nodes = spec.nodes;
        if let BuildError::Path { path, setting, problem, expected } = error {
            return Err(traffic.path_places[path].diagnostic(scenario, setting, problem, expected).into());
        }
        return Err(error_mapping::of_network(scenario, &layout, &traffic.algorithm_names, &error).into());
    }
    let node_names = spec.nodes.iter().map(|n| n.name.clone()).collect();
    Ok(Built {
        spec,
        gear: scenario.run.gear.gear(),
        flow_names: traffic.flow_names,
        flow_groups: traffic.groups.into_iter().map(|group| (group.name, group.flows)).collect(),
        node_names,
        algorithm_names: traffic.algorithm_names,
        routers: layout.routers,
        circuits,
        shortest_iterations,
        events: happening.facts,
        notes,
    })
}

/// Nodes and links of the scenario's topology.
pub(crate) fn layout(scenario: &Scenario) -> Result<Layout, Diagnostic> {
    let switches = Switches {
        datacenter: &scenario.switch,
        wide_area: &scenario.wan_switch,
        packet: scenario.packet(),
        ack: scenario.transport.ack + scenario.transport.framing,
    };
    scenario.network.layout(&switches).map_err(|Problem { path, problem, expected, suggestion }| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        Diagnostic { suggestion, ..scenario.diagnostic_at(&path, problem, expected) }
    })
}

/// Checks rules of scenarios alone: switches without a link, and thresholds that no queue reaches.
fn check_switches(scenario: &Scenario, layout: &Layout) -> Result<(), Diagnostic> {
    let mut linked = vec![false; layout.nodes.len()];
    for end in layout.links.iter().flat_map(|l| [l.spec.a, l.spec.b]) {
        linked[end as usize] = true;
    }
    for ((id, node), linked) in (0..).zip(&layout.nodes).zip(linked) {
        if !linked && !matches!(node.kind, NodeKind::Host) {
            return Err(scenario.diagnostic_at(
                &["node", &node.name],
                "the switch has no link",
                "expected at least one [[link]]",
            ));
        }
        let NodeKind::Switch(switch) = &node.kind else { continue };
        if let SwitchSpec { pfc: Some(PfcSpec { xoff: XoffSpec::Static(xoff), .. }), buffer, .. } = switch
            && xoff > buffer
        {
            let path = setting_path(scenario, layout, id, "xoff");
            let problem = format!("the threshold of {xoff} is above the buffer of {buffer}");
            return Err(scenario.diagnostic_at(&path, problem, "expected less than the buffer"));
        }
    }
    Ok(())
}
