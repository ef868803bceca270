//! A scenario: all its sections, read and checked one by one.

use crate::algorithms::{self, AlgorithmSettings};
use crate::build::{self, Built};
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::figure::{self, Case, Claim, Figure, LocatedCase};
use crate::hosts;
use crate::network::{self, Network};
use crate::reader::Section;
use crate::run::RunError;
use crate::sections::*;
use crate::switch_override::{self, SwitchOverride};
use crate::transport::{self, Endpoint};
use crate::workload::{self, Workload};
use farloop_units::Params;
use std::io::Read;
use std::path::Path;

/// Reads the text of a scenario file; the diagnostic says why that is not possible and what to do.
pub fn read(path: &Path) -> Result<String, Diagnostic> {
    let file = path.display().to_string();
    let fail = |problem: String, expected: &str| Diagnostic::of_file(&file, problem, expected);
    if path.is_dir() {
        return Err(fail("is a directory".into(), "expected a scenario file, such as fig09.toml"));
    }
    let bytes = bytes(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => fail("no such file".into(), "expected the path of a scenario file"),
        _ => fail(format!("cannot be read: {e}"), "expected a readable scenario file"),
    })?;
    text(bytes).map_err(|line| Diagnostic {
        line,
        ..fail("is not UTF-8 text".into(), "expected a TOML file; save it as UTF-8")
    })
}

/// Most bytes that a file may have: more is no scenario and no flow list, but perhaps a device without end.
const LARGEST_FILE: u64 = 1 << 28;

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(std::io::Error::other(format!("it has more than {LARGEST_FILE} bytes")));
    }
    Ok(bytes)
}

/// `bytes` as text, else the line that is not UTF-8.
fn text(bytes: Vec<u8>) -> Result<String, u32> {
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        before.iter().filter(|b| **b == b'\n').count() as u32 + 1
    })
}

/// Reads a scenario. `file` is its name in messages, and the place from which relative paths start; `overrides` are dotted keys
/// with the text of their values (`--set key=value`), applied in order before anything is checked.
///
/// Every case of a figure is validated here, so a file that loads has no case that fails later.
pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Scenario, Diagnostic> {
    parse_while(text, file, overrides, &mut || true).map_err(RunError::diagnostic)
}

/// As [`parse`]; stops where `go_on` answers `false`.
pub fn parse_while(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Scenario, RunError> {
    let mut document = Document::parse(text, file)?;
    for (i, (key, value)) in overrides.iter().enumerate() {
        document.set(key, value, i + 1)?;
    }
    let (scenario, cases) = Scenario::from_document(document)?;
    for case in &cases {
        scenario.check_case(case, go_on)?;
    }
    Ok(scenario)
}

/// Dotted keys with the text of their values, as `--set key=value` gives them.
pub type Overrides = Vec<(String, String)>;

/// A scenario, with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The top level.
    pub top: Top,
    /// `[run]`.
    pub run: Run,
    /// `[network]`, `[[node]]` and `[[link]]`.
    pub network: Network,
    /// `[switch]`.
    pub switch: Switch,
    /// `[wan_switch]`.
    pub wan_switch: WanSwitch,
    /// Every `[[switch_override]]`, in the order in which they apply.
    pub switch_overrides: Vec<SwitchOverride>,
    /// `[transport]`.
    pub transport: Transport,
    /// The keys of `[transport]` that its `kind` decides about.
    pub endpoint: Endpoint,
    /// `[algorithm]`.
    pub algorithm: AlgorithmKey,
    /// Every `[[flow]]`, with its name filled in.
    pub flows: Vec<Flow>,
    /// `[workload]` or every `[[workload]]`.
    pub workloads: Vec<Workload>,
    /// `[record]`.
    pub record: Record,
    /// `[figure]`.
    pub figure: Option<Figure>,
    /// Every `[[case]]`; a figure without any has one that sets nothing.
    pub cases: Vec<Case>,
    /// Every `[[claim]]`.
    pub claims: Vec<Claim>,
    pub(crate) algorithm_settings: AlgorithmSettings,
    document: Document,
}

impl Scenario {
    /// The whole scenario as JSON in the shape of the file: every key with its value, quantities as text, "none" for what is not
    /// set. Written as TOML it is the same scenario again.
    pub fn resolved(&self) -> serde_json::Value {
        crate::resolved::resolved(self)
    }

    /// Checks the scenario as a whole and makes what the simulator runs.
    pub fn build(&self) -> Result<Built, Diagnostic> {
        self.build_while(&mut || true).map_err(RunError::diagnostic)
    }

    /// As [`Scenario::build`]; stops where `go_on` answers `false`.
    pub fn build_while(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Built, RunError> {
        build::build(self, true, go_on)
    }

    /// What to run for the figure: the name of each case, its overrides (as for [`parse`]), its algorithms. A scenario without
    /// a figure and without cases is one case called "main".
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
            .chain(self.workloads.iter().filter_map(|w| w.random()?.algorithm.as_deref()))
            .chain(self.figure.iter().flat_map(|f| &f.algorithms).map(String::as_str))
            .chain(self.cases.iter().flat_map(|c| &c.algorithms).map(String::as_str));
        for name in all {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_string());
            }
        }
        names
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
        let fail = |problem: &str| self.at(path, format!("the file {shown} {problem}"), expected);
        // A pipe without a writer would never end, nor would a device.
        match std::fs::metadata(&file) {
            Ok(of) if of.is_dir() => return Err(fail("is a directory")),
            Ok(of) if !of.is_file() => return Err(fail("is not a regular file")),
            _ => {}
        }
        let bytes = bytes(&file).map_err(|e| fail(&format!("cannot be read: {e}")))?;
        match text(bytes) {
            Ok(text) => Ok((shown, text)),
            Err(line) => {
                Err(Diagnostic { line, ..Diagnostic::of_file(&shown, "is not UTF-8 text", expected.to_string()) })
            }
        }
    }

    /// A diagnostic about the key at `path`.
    pub(crate) fn at(&self, path: &[&str], problem: impl Into<String>, expected: impl Into<String>) -> Diagnostic {
        self.document.diagnostic(self.document.place_of(path), &path.join("."), problem, expected)
    }

    fn from_document(document: Document) -> Result<(Scenario, Vec<LocatedCase>), Diagnostic> {
        let root = Section::root(&document);
        let top = root.read::<Top>(&[], SECTIONS)?;
        let run = root.section("run")?.read::<Run>(&["duration"], &[])?;
        let network = network::read(&root)?;
        let switch = read_switch::<Switch>(&root, "switch", |s| (s.kmin, s.kmax))?;
        let wan_switch = read_switch::<WanSwitch>(&root, "wan_switch", |s| (s.kmin, s.kmax))?;
        let switch_overrides = switch_override::read(&root)?;
        let (transport, endpoint) = transport::read(&root)?;
        let (algorithm, algorithm_settings) = AlgorithmSettings::read(&root, hosts::name(endpoint.preset()))?;
        let algorithm_section = root.section("algorithm")?;
        let place =
            algorithm_section.table.and_then(|t| t.get("name")).map_or(algorithm_section.place, |e| e.item.place);
        algorithms::check_name(&algorithm_section, place, "name", &algorithm.name)?;
        let flows = read_flows(&root)?;
        let workloads = workload::read(&root)?;
        let record = root.section("record")?.read::<Record>(&[], &[])?;
        let figure = figure::read_figure(&root)?;
        let cases = figure::read_cases(&root, figure.as_ref())?;
        if let Some(section) = figure.as_ref().map(|_| root.section("figure")).transpose()? {
            let written = figure.iter().flat_map(|f| &f.algorithms);
            for name in written {
                let place = section.table.and_then(|t| t.get("algorithms")).map_or(section.place, |e| e.item.place);
                algorithms::check_name(&section, place, "algorithms", name)?;
            }
        }
        for (case, (_, section)) in cases.iter().zip(root.sections("case")?) {
            algorithms::check_names(&section, "algorithms", &case.case.algorithms, &case.algorithms)?;
        }
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
            transport,
            endpoint,
            algorithm,
            flows,
            workloads,
            record,
            figure,
            cases: cases.iter().map(|c| c.case.clone()).collect(),
            claims,
            algorithm_settings,
            document,
        };
        Ok((scenario, cases))
    }

    /// Applies a case and checks the outcome with each of its algorithms, without drawing a random workload.
    fn check_case(&self, case: &LocatedCase, go_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
        let mut document = self.document.clone();
        for (key, item) in &case.set {
            document.put(key, item.clone()).map_err(|d| in_case(d, case))?;
        }
        let mut check = |document: Document| {
            if !go_on() {
                return Err(RunError::Cancelled);
            }
            let outcome = Scenario::from_document(document)
                .map_err(RunError::from)
                .and_then(|(scenario, _)| build::build(&scenario, false, go_on).map(drop));
            outcome.map_err(|e| match e {
                RunError::Scenario(d) => in_case(*d, case).into(),
                RunError::Cancelled => RunError::Cancelled,
            })
        };
        if case.algorithms.is_empty() {
            return check(document);
        }
        for algorithm in &case.algorithms {
            let mut document = document.clone();
            document.put("algorithm.name", algorithm.clone())?;
            check(document)?;
        }
        Ok(())
    }
}

/// Every section but the top level's own keys.
pub(crate) const SECTIONS: &[&str] = &[
    "run",
    "network",
    "node",
    "link",
    "switch",
    "wan_switch",
    "switch_override",
    "transport",
    "algorithm",
    "flow",
    "workload",
    "record",
    "figure",
    "case",
    "claim",
];

/// Says in which case a problem appeared.
fn in_case(diagnostic: Diagnostic, case: &LocatedCase) -> Diagnostic {
    Diagnostic { problem: format!("{} (in case \"{}\")", diagnostic.problem, case.case.name), ..diagnostic }
}

fn read_switch<P: Params>(
    root: &Section<'_>,
    name: &str,
    thresholds: impl Fn(&P) -> (farloop_units::Bytes, farloop_units::Bytes),
) -> Result<P, Diagnostic> {
    let section = root.section(name)?;
    let keys: P = section.read(&[], &[])?;
    let (kmin, kmax) = thresholds(&keys);
    if kmin > kmax {
        let key = if section.table.is_some_and(|t| t.get("kmin").is_some()) { "kmin" } else { "kmax" };
        let problem = format!("kmin = \"{kmin}\" is above kmax = \"{kmax}\"");
        return Err(section.diagnostic(key, problem, "expected kmin at most kmax; set both"));
    }
    Ok(keys)
}

fn read_flows(root: &Section<'_>) -> Result<Vec<Flow>, Diagnostic> {
    let mut flows = Vec::new();
    for (name, section) in root.sections("flow")? {
        let mut flow: Flow = section.read(&["from", "to"], &[])?;
        build::check_name(&section, "name", &name)?;
        if let Some((problem, expected)) = stop_problem(&flow) {
            return Err(section.diagnostic("stop", problem, expected));
        }
        if let Some(algorithm) = &flow.algorithm {
            let place = section.table.and_then(|t| t.get("algorithm")).map_or(section.place, |e| e.item.place);
            algorithms::check_name(&section, place, "algorithm", algorithm)?;
        }
        flow.name = Some(name);
        flows.push(flow);
    }
    Ok(flows)
}

/// What is wrong with the end of a flow, and what would be right.
pub(crate) fn stop_problem(flow: &Flow) -> Option<(String, &'static str)> {
    let early = flow.stop.is_some_and(|stop| stop <= flow.start);
    early.then(|| {
        (format!("the flow stops before it starts, at \"{}\"", flow.start), "expected a later time, or \"none\"")
    })
}
