//! The catalog: every algorithm and preset that a name can mean.
//!
//! A catalog is a value. The caller that parses a scenario passes a catalog, and the names in the scenario are looked up
//! there: two programs, two tests or two threads with different plug-ins do not meet. It is cheap to clone.

#[cfg(test)]
mod tests;

use crate::algorithms::{AnyParams, prototypes};
use crate::api::*;
use crate::dynamic::{About, DynAlgorithm, Typed, Variant};
use farloop_units::{Bytes, Delta, Kind, ParamError, ParamSpec, Rate, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The entry of one algorithm or preset in a catalog.
#[derive(Clone, PartialEq, Debug)]
pub struct AlgorithmInfo {
    /// Its name.
    pub name: String,
    /// The algorithm that it is a preset of, if it is one.
    pub preset_of: Option<String>,
    /// One line: what it is.
    pub summary: String,
    /// Where it is specified.
    pub source: String,
    /// Features that the network must offer.
    pub needs: Needs,
    /// The reason for its needs.
    pub needs_reason: String,
    /// The hosts that have it without somebody writing it.
    pub shipped: Option<Shipped>,
    /// Its place in the README.
    pub listed: Listed,
    /// Its parameters with defaults; for a preset, with the preset's values as defaults.
    pub params: Vec<ParamSpec>,
}

/// The hosts that [`Algorithm::HOSTS`] may name: those of `[transport] preset`.
pub const HOSTS: [&str; 2] = ["linux-4.9", "linux-6"];

/// Names that no algorithm can have: keys of `[algorithm]`, and words for no algorithm.
pub const RESERVED: [&str; 5] = ["name", "intra", "cross", "agents", "none"];

/// Most characters of a name.
const MAX_NAME_LENGTH: usize = 60;

/// Every algorithm and preset that a name can mean, in the order of their registration.
///
/// ```
/// use farloop_cc::Catalog;
/// let catalog = Catalog::builtin();
/// assert!(catalog.infos().any(|info| info.name == "dctcp"));
/// assert_eq!(catalog.info("vegas-10").unwrap().preset_of.as_deref(), Some("vegas"));
/// assert!(catalog.lookup("no-such-algorithm").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: Arc<Vec<Entry>>,
}

/// An algorithm or a preset.
#[derive(Clone, Debug)]
struct Entry {
    info: AlgorithmInfo,
    /// At its defaults.
    params: AnyParams,
    /// Parameters that a preset sets.
    settings: Vec<(String, Value)>,
    /// Of an algorithm that is no preset.
    hosts: Vec<Variant>,
}

impl Catalog {
    /// The algorithms that come with farloop.
    pub fn builtin() -> Catalog {
        shared().clone()
    }

    /// Adds an algorithm with its presets. From then on this catalog finds it by its names.
    pub fn register<A: Algorithm>(&mut self) -> Result<(), RegisterError> {
        self.register_dyn(Box::new(Typed::<A>::new()))
    }

    /// Adds an algorithm that was made at run time, with its presets; its parameters are at their defaults.
    pub fn register_dyn(&mut self, algorithm: Box<dyn DynAlgorithm>) -> Result<(), RegisterError> {
        self.add(AnyParams::Dyn(algorithm))
    }

    /// Every algorithm and preset, each algorithm followed by its presets.
    pub fn infos(&self) -> impl Iterator<Item = &AlgorithmInfo> + Clone {
        self.entries.iter().map(|e| &e.info)
    }

    /// The names of all algorithms and presets.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.infos().map(|info| info.name.as_str())
    }

    /// The entry of the algorithm or preset `name`; `None` for an unknown name.
    pub fn info(&self, name: &str) -> Option<&AlgorithmInfo> {
        self.entry(name).map(|e| &e.info)
    }

    /// The parameters of the algorithm or preset `name`, at their defaults; `None` for an unknown name.
    pub fn lookup(&self, name: &str) -> Option<AnyParams> {
        self.entry(name).map(|e| e.params.clone())
    }

    /// The parameters that the preset `name` sets, in its order; empty for an algorithm that is no preset and for an unknown name.
    pub fn preset_settings(&self, name: &str) -> &[(String, Value)] {
        self.entry(name).map_or(&[], |e| &e.settings)
    }

    /// The parameters that the algorithm `base` has on the hosts `host`, one of [`HOSTS`]; empty where they are the defaults.
    pub fn host_settings(&self, base: &str, host: &str) -> &[(String, Value)] {
        let of_host = self.entry(base).and_then(|e| e.hosts.iter().find(|h| h.name == host));
        of_host.map_or(&[], |h| &h.settings)
    }

    /// The parameters of the algorithm `base` on each kind of hosts, with the sources of the values.
    pub fn hosts(&self, base: &str) -> &[Variant] {
        self.entry(base).map_or(&[], |e| &e.hosts)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.info.name == name)
    }

    /// Adds an algorithm and its presets, all or nothing.
    fn add(&mut self, params: AnyParams) -> Result<(), RegisterError> {
        let about = params.describe();
        let (presets, shipped) = (about.presets.clone(), about.shipped.clone());
        let mut new = vec![base(about, params)?];
        for preset in presets {
            new.push(of_preset(&new[0], preset)?);
        }
        for (name, hosts) in shipped {
            let Some(entry) = new.iter_mut().find(|entry| entry.info.name == name) else {
                let problem =
                    format!("it says which hosts have {name}, which it is not; expected its name or a preset's");
                return Err(RegisterError::Declaration { algorithm: new[0].info.name.clone(), problem });
            };
            entry.info.shipped = Some(hosts);
        }
        for (i, entry) in new.iter().enumerate() {
            let name = &entry.info.name;
            check_name(name)?;
            if self.entry(name).is_some() || new[..i].iter().any(|e| e.info.name == *name) {
                return Err(RegisterError::NameTaken { name: name.clone() });
            }
        }
        Arc::make_mut(&mut self.entries).extend(new);
        Ok(())
    }
}

impl Default for Catalog {
    fn default() -> Catalog {
        Catalog::builtin()
    }
}

/// Every built-in algorithm and preset, in registry order.
pub fn all() -> impl Iterator<Item = &'static AlgorithmInfo> + Clone {
    shared().infos()
}

/// The parameters of the built-in algorithm or preset `name`, at their defaults; `None` for an unknown name.
pub fn lookup(name: &str) -> Option<AnyParams> {
    shared().lookup(name)
}

/// The built-in algorithms, made once.
fn shared() -> &'static Catalog {
    static BUILTIN: OnceLock<Catalog> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let mut catalog = Catalog { entries: Arc::default() };
        for params in prototypes() {
            catalog.add(params).unwrap_or_else(|e| panic!("built-in algorithm: {e}"));
        }
        catalog
    })
}

/// Why an algorithm cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegisterError {
    /// Another algorithm or preset has the name.
    NameTaken {
        /// The name of the algorithm or of its preset.
        name: String,
    },
    /// The name cannot be written in a scenario.
    BadName {
        /// The name of the algorithm or of its preset.
        name: String,
    },
    /// The algorithm's own description is wrong.
    Declaration {
        /// The algorithm.
        algorithm: String,
        /// The problem, and the accepted form.
        problem: String,
    },
    /// A parameter cannot be used as it is declared.
    Parameter {
        /// The algorithm.
        algorithm: String,
        /// The parameter.
        parameter: String,
        /// The problem, and the accepted form.
        problem: String,
    },
    /// A preset, or the settings for some hosts, cannot be applied.
    Variant {
        /// The algorithm.
        algorithm: String,
        /// The preset, or the hosts.
        variant: String,
        /// The problem, and the accepted form.
        problem: String,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::NameTaken { name } => {
                write!(f, "there is an algorithm or preset \"{name}\" already; expected another name")
            }
            RegisterError::BadName { name } => write!(
                f,
                "\"{name}\" is no name for an algorithm or preset; expected lower case letters and digits, in words joined by hyphens, a letter \
                 first, at most {MAX_NAME_LENGTH} characters, and none of {}",
                RESERVED.join(", ")
            ),
            RegisterError::Declaration { algorithm, problem } => write!(f, "algorithm \"{algorithm}\": {problem}"),
            RegisterError::Parameter { algorithm, parameter, problem } => {
                write!(f, "algorithm \"{algorithm}\", parameter \"{parameter}\": {problem}")
            }
            RegisterError::Variant { algorithm, variant, problem } => {
                write!(f, "algorithm \"{algorithm}\", preset or hosts \"{variant}\": {problem}")
            }
        }
    }
}

impl std::error::Error for RegisterError {}

fn check_name(name: &str) -> Result<(), RegisterError> {
    let word = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let good = name.len() <= MAX_NAME_LENGTH
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('-').all(word)
        && !RESERVED.contains(&name);
    if good { Ok(()) } else { Err(RegisterError::BadName { name: name.to_string() }) }
}

/// The entry of an algorithm, after all checks of its description.
fn base(about: About, params: AnyParams) -> Result<Entry, RegisterError> {
    let About { name, summary, source, needs_reason, listed, hosts, .. } = about;
    let wrong = |problem: &str| RegisterError::Declaration { algorithm: name.clone(), problem: problem.to_string() };
    if summary.is_empty() || source.is_empty() {
        return Err(wrong("it has no summary or no source; expected one line each"));
    }
    let specs = params.specs();
    check_specs(&name, &params, &specs)?;
    check_port(&name, &params)?;
    for host in &hosts {
        if !HOSTS.contains(&host.name.as_str()) {
            let problem = format!("there are no such hosts; expected one of {}", HOSTS.join(", "));
            return Err(RegisterError::Variant { algorithm: name, variant: host.name.clone(), problem });
        }
        apply(&name, &params, host)?;
    }
    let info = AlgorithmInfo {
        needs: params.needs(),
        params: with_defaults(specs, &params),
        name,
        preset_of: None,
        summary,
        source,
        needs_reason,
        shipped: None,
        listed,
    };
    Ok(Entry { info, params, settings: Vec::new(), hosts })
}

/// The entry of a preset of `base`, once it can be applied.
fn of_preset(base: &Entry, preset: Variant) -> Result<Entry, RegisterError> {
    let params = apply(&base.info.name, &base.params, &preset)?;
    let needs = params.needs();
    let same_needs = needs == base.info.needs;
    let mut specs = with_defaults(base.info.params.clone(), &params);
    for ((key, _), source) in preset.settings.iter().zip(preset.sources) {
        if let Some(spec) = specs.iter_mut().find(|spec| spec.name == *key) {
            spec.source = source.into();
        }
    }
    let info = AlgorithmInfo {
        name: preset.name,
        preset_of: Some(base.info.name.clone()),
        summary: preset.summary,
        source: base.info.source.clone(),
        needs,
        needs_reason: if same_needs { base.info.needs_reason.clone() } else { "what the preset is for".to_string() },
        shipped: None,
        listed: Listed::No,
        params: specs,
    };
    Ok(Entry { info, params, settings: preset.settings, hosts: Vec::new() })
}

/// `params` with the settings of `variant`.
fn apply(algorithm: &str, params: &AnyParams, variant: &Variant) -> Result<AnyParams, RegisterError> {
    let mut params = params.clone();
    for (key, value) in &variant.settings {
        params.set(key, value).map_err(|error| RegisterError::Variant {
            algorithm: algorithm.to_string(),
            variant: variant.name.clone(),
            problem: format!("{key} = {value}: {}", words(error)),
        })?;
    }
    Ok(params)
}

/// Checks that every parameter can be written in a scenario, read back, and explained.
fn check_specs(algorithm: &str, params: &AnyParams, specs: &[ParamSpec]) -> Result<(), RegisterError> {
    let wrong = |spec: &ParamSpec, problem: String| {
        let parameter = spec.name.to_string();
        RegisterError::Parameter { algorithm: algorithm.to_string(), parameter, problem }
    };
    let mut again = params.clone();
    for (i, spec) in specs.iter().enumerate() {
        if let Some(problem) = declaration_problem(spec, &specs[..i]) {
            return Err(wrong(spec, problem.to_string()));
        }
        match params.get(&spec.name) {
            None => return Err(wrong(spec, "it is listed, but has no value".to_string())),
            Some(None) if !spec.optional => {
                return Err(wrong(spec, "it is not set, and not optional; expected a default".to_string()));
            }
            Some(None) => {}
            Some(Some(default)) if !is_of(&spec.kind, &default) => {
                return Err(wrong(spec, format!("its default {default} is not of its kind, {:?}", spec.kind)));
            }
            Some(Some(default)) => again
                .set(&spec.name, &default)
                .map_err(|e| wrong(spec, format!("its default {default} is refused: {}", words(e))))?,
        }
    }
    match specs.iter().find(|s| again.get(&s.name) != params.get(&s.name)) {
        Some(spec) => Err(wrong(spec, "setting all parameters to their defaults changes it".to_string())),
        None => Ok(()),
    }
}

/// The problem in the declaration of a parameter that follows those in `before`; `None` if there is none.
fn declaration_problem(spec: &ParamSpec, before: &[ParamSpec]) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !spec.name.starts_with(|c: char| c.is_ascii_lowercase()) || !spec.name.chars().all(allowed) {
        Some("expected lower case letters, digits and underscores, a letter first")
    } else if before.iter().any(|s| s.name == spec.name) {
        Some("it is declared twice")
    } else if spec.doc.is_empty() {
        Some("it has no documentation; expected a sentence")
    } else {
        None
    }
}

/// A port has no agent where no algorithm needs one.
fn check_port(algorithm: &str, params: &AnyParams) -> Result<(), RegisterError> {
    let ports = [Border::Inside, Border::Outward, Border::Inward].map(crate::testing::port);
    if !params.needs().port_agent && ports.iter().any(|port| params.port(port).is_some()) {
        let problem = "it has a half for switch ports that is never used; expected Needs with port_agent".to_string();
        return Err(RegisterError::Declaration { algorithm: algorithm.to_string(), problem });
    }
    Ok(())
}

/// Returns true if a parameter of this kind can have the value, as scenarios and the editors' schema write it.
fn is_of(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Bool, Value::Bool(_))
        | (Kind::Integer | Kind::Float, Value::Int(_))
        | (Kind::Float, Value::Float(_)) => true,
        (Kind::Time, Value::Text(t)) => t.parse::<Delta>().is_ok(),
        (Kind::Bytes, Value::Text(t)) => t.parse::<Bytes>().is_ok(),
        (Kind::Rate, Value::Text(t)) => t.parse::<Rate>().is_ok(),
        (Kind::Text | Kind::Texts, Value::Text(_)) | (Kind::TextList(_) | Kind::Texts, Value::List(_)) => true,
        (Kind::Choice(words) | Kind::TextList(words), Value::Text(t)) => words.iter().any(|w| w == t),
        _ => false,
    }
}

fn words(error: ParamError) -> String {
    match error {
        ParamError::UnknownName => "there is no such parameter".to_string(),
        ParamError::BadValue(problem) => problem,
        ParamError::OutOfRange(range) => format!("outside the accepted range, {range}"),
    }
}

fn with_defaults(mut specs: Vec<ParamSpec>, params: &AnyParams) -> Vec<ParamSpec> {
    for spec in &mut specs {
        spec.default = params.get(&spec.name).flatten();
    }
    specs
}
