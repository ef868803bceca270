//! A scenario: all its sections, read and checked one by one.

use crate::agent::{self, AgentSection};
use crate::algorithms::{self, AlgorithmSettings};
use crate::cases::read_cases;
use crate::circuits::{self, CircuitSettings};
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::error::RunError;
use crate::events;
use crate::figure::{self, Case, Claim, Figure, LocatedCase, Overrides};
use crate::files;
use crate::flow;
use crate::host_presets;
use crate::job::{self, JobSection};
use crate::network;
use crate::reader::Section;
use crate::sections::*;
use crate::switch::{self, SwitchOverride};
use crate::topology::NetworkKeys;
use crate::transport::{self, EndpointKeys};
use crate::workload::{self, Workload};
use farloop_cc::Catalog;
use farloop_job::memory::MemoryLimit;
use farloop_units::{Bytes, Time};
use std::path::Path;

/// A scenario, with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The top level.
    pub top: Top,
    /// `[run]`.
    pub run: Run,
    /// `[network]`, `[[node]]` and `[[link]]`.
    pub network: NetworkKeys,
    /// `[switch]`.
    pub switch: Switch,
    /// `[wan_switch]`.
    pub wan_switch: WanSwitch,
    /// Every `[[switch_override]]`, in the order in which they apply.
    pub switch_overrides: Vec<SwitchOverride>,
    /// `[lcmp]`; `None` where no switch chooses paths by it.
    pub lcmp: Option<LcmpKeys>,
    /// `[circuits]` and every `[[circuit_slot]]`; `None` without circuit switches.
    pub circuits: Option<CircuitSettings>,
    /// Every `[[detour]]`, with the name by which messages and overrides call it: "switch->destination".
    pub detours: Vec<(String, DetourKeys)>,
    /// Keys of `[network]` about routes.
    pub routing: RoutingKeys,
    /// Every `[[event]]`.
    pub events: Vec<EventKeys>,
    /// Every `[[agent]]`.
    pub agents: Vec<AgentSection>,
    /// `[hosts]`.
    pub hosts: HostKeys,
    /// `[transport]`.
    pub transport: Transport,
    /// The keys of `[transport]` that its `kind` decides about.
    pub endpoint: EndpointKeys,
    /// `[algorithm]`.
    pub algorithm: AlgorithmKey,
    /// Every `[[flow]]`, with its name filled in.
    pub flows: Vec<Flow>,
    /// `[workload]` or every `[[workload]]`.
    pub workloads: Vec<Workload>,
    /// Every `[[job]]`.
    pub jobs: Vec<JobSection>,
    /// `[record]`.
    pub record: Record,
    /// `[figure]`.
    pub figure: Option<Figure>,
    /// Every `[[case]]`; a figure without any has one that sets nothing.
    pub cases: Vec<Case>,
    /// Every `[[claim]]`.
    pub claims: Vec<Claim>,
    /// Limit of its jobs' memory.
    pub(crate) memory_limit: MemoryLimit,
    pub(crate) algorithm_settings: AlgorithmSettings,
    pub(crate) document: Document,
}

impl Scenario {
    /// The cases of the figure: the name of each case, its overrides (as for [`crate::parse`]), its algorithms. A scenario
    /// without a figure and without cases is one case called "main".
    pub fn cases(&self) -> Vec<(String, Overrides, Vec<String>)> {
        if self.cases.is_empty() {
            return vec![("main".to_string(), Vec::new(), vec![self.algorithm.name.clone()])];
        }
        let own = |case: &Case| {
            let algorithms = match &case.algorithms[..] {
                [] => vec![self.algorithm.name.clone()],
                named => named.to_vec(),
            };
            (case.name.clone(), case.set.clone(), algorithms)
        };
        self.cases.iter().map(own).collect()
    }

    /// Every algorithm that the scenario names, each once.
    pub(crate) fn algorithm_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let all = (self.algorithm_settings.names())
            .chain([self.algorithm.name.as_str()])
            .chain(self.flows.iter().filter_map(|f| f.algorithm.as_deref()))
            .chain(self.workloads.iter().filter_map(Workload::algorithm))
            .chain(self.jobs.iter().filter_map(|j| j.keys.algorithm.as_deref()))
            .chain(self.figure.iter().flat_map(|f| &f.algorithms).map(String::as_str))
            .chain(self.cases.iter().flat_map(|c| &c.algorithms).map(String::as_str));
        for name in all.flat_map(algorithms::by_scope) {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_string());
            }
        }
        names
    }

    /// When the run ends.
    pub(crate) fn end(&self) -> Time {
        end_of(&self.run)
    }

    /// Bytes of a full packet on the wire.
    pub(crate) fn packet(&self) -> Bytes {
        self.transport.mtu + self.transport.framing
    }

    /// The algorithms and presets that names mean.
    pub fn catalog(&self) -> &Catalog {
        &self.algorithm_settings.catalog
    }

    /// The text of the file that the key at `path` names, relative to the scenario, and its name in messages.
    pub(crate) fn read_neighbour(
        &self,
        path: &[&str],
        name: &str,
        expected: &str,
    ) -> Result<(String, String), Diagnostic> {
        let file = Path::new(self.document.file()).parent().unwrap_or(Path::new("")).join(name);
        let shown = file.display().to_string();
        let fail = |problem: &str| self.diagnostic_at(path, format!("the file {shown} {problem}"), expected);
        // A pipe without a writer would never end, nor would a device.
        match std::fs::metadata(&file) {
            Ok(of) if of.is_dir() => return Err(fail("is a directory")),
            Ok(of) if !of.is_file() => return Err(fail("is not a regular file")),
            _ => {}
        }
        let bytes = files::bytes(&file).map_err(|e| fail(&format!("cannot be read: {e}")))?;
        match files::text(bytes) {
            Ok(text) => Ok((shown, text)),
            Err(line) => {
                Err(Diagnostic { line, ..Diagnostic::of_file(&shown, "is not UTF-8 text", expected.to_string()) })
            }
        }
    }

    /// A diagnostic about the key at `path`.
    pub(crate) fn diagnostic_at(
        &self,
        path: &[&str],
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Diagnostic {
        self.document.diagnostic(self.document.place_of(path), &path.join("."), problem, expected)
    }

    /// Reads every section, one by one; gives also where the cases' overrides were written.
    /// Stops where `go_on` answers `false`.
    pub(crate) fn from_document(
        document: Document,
        catalog: &Catalog,
        memory_limit: MemoryLimit,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(Scenario, Vec<LocatedCase>), RunError> {
        // Networks and flows can be listed by the ten thousand.
        let mut go_on = || if go_on() { Ok(()) } else { Err(RunError::Cancelled) };
        let root = Section::root(&document, catalog);
        let top = root.read::<Top>(&[], SECTIONS)?;
        let run = root.section("run")?.read::<Run>(&["duration"], &[])?;
        let network = network::read(&root)?;
        go_on()?;
        let switch = switch::read::<Switch>(&root, "switch")?;
        let wan_switch = switch::read::<WanSwitch>(&root, "wan_switch")?;
        let switch_overrides = switch::read_overrides(&root)?;
        let lcmp = switch::read_lcmp(&root, &switch, &wan_switch, &switch_overrides)?;
        let circuits = circuits::read(&root, &network)?;
        let detours = network::read_detours(&root)?;
        let (routing, events) = events::read(&root, end_of(&run))?;
        let agents = agent::read(&root)?;
        let hosts = root.section("hosts")?.read::<HostKeys>(&[], &[])?;
        let (transport, endpoint) = transport::read(&root)?;
        let (algorithm, algorithm_settings) = AlgorithmSettings::read(&root, host_presets::name(endpoint.preset()))?;
        let algorithm_section = root.section("algorithm")?;
        let place =
            algorithm_section.table.and_then(|t| t.get("name")).map_or(algorithm_section.place, |e| e.item.place);
        algorithms::check_name(&algorithm_section, place, "name", &algorithm.name)?;
        let flows = flow::read(&root)?;
        go_on()?;
        let workloads = workload::read(&root)?;
        let jobs = job::read(&root)?;
        let record = root.section("record")?.read::<Record>(&[], &[])?;
        let figure = figure::read_figure(&root)?;
        if let Some(section) = figure.as_ref().map(|_| root.section("figure")).transpose()? {
            let written = figure.iter().flat_map(|f| &f.algorithms);
            for name in written {
                let place = section.table.and_then(|t| t.get("algorithms")).map_or(section.place, |e| e.item.place);
                algorithms::check_name(&section, place, "algorithms", name)?;
            }
        }
        let cases = read_cases(&root, figure.as_ref())?;
        let claims = figure::read_claims(&root)?;
        // Last: whatever else is wrong says more than that this is not there.
        network::require(&root)?;
        let scenario = Scenario {
            top,
            run,
            network,
            switch,
            wan_switch,
            switch_overrides,
            lcmp,
            circuits,
            detours,
            routing,
            events,
            agents,
            hosts,
            transport,
            endpoint,
            algorithm,
            flows,
            workloads,
            jobs,
            record,
            figure,
            cases: cases.iter().map(|c| c.case.clone()).collect(),
            claims,
            memory_limit,
            algorithm_settings,
            document,
        };
        Ok((scenario, cases))
    }
}

/// When a run ends.
fn end_of(run: &Run) -> Time {
    Time::ZERO.saturating_add(run.duration.expect("a required key"))
}

/// Every section but the top level's own keys.
const SECTIONS: &[&str] = &[
    "run",
    "network",
    "node",
    "link",
    "switch",
    "wan_switch",
    "switch_override",
    "lcmp",
    "circuits",
    "circuit_slot",
    "detour",
    "event",
    "agent",
    "hosts",
    "transport",
    "algorithm",
    "flow",
    "workload",
    "job",
    "record",
    "figure",
    "template",
    "case",
    "claim",
];
