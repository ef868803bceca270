//! `[switch]`, `[wan_switch]`, and other settings for some of the switches: `[[switch_override]]`.

use crate::diagnostic::Diagnostic;
use crate::reader::Section;
use crate::sections::{Switch, SwitchKeys, switch_override_specs};
use farloop_units::{ParamError, ParamType, Params, Value};
use std::collections::HashSet;

/// One `[[switch_override]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchOverride {
    /// The names of the switches: "*" matches any characters, "?" any one.
    pub pattern: String,
    /// The keys of `[switch]` that were written, with their values.
    pub settings: Vec<(String, Value)>,
}

/// Reads `[switch]` or `[wan_switch]`, which `name` is.
pub(crate) fn read<P: SwitchKeys>(root: &Section<'_>, name: &str) -> Result<P, Diagnostic> {
    let section = root.section(name)?;
    let keys: P = section.read(&[], &[])?;
    let (kmin, kmax) = keys.thresholds();
    if kmin > kmax {
        let key = if section.table.is_some_and(|t| t.get("kmin").is_some()) { "kmin" } else { "kmax" };
        let problem = format!("kmin = \"{kmin}\" is above kmax = \"{kmax}\"");
        return Err(section.diagnostic(key, problem, "expected kmin at most kmax; set both"));
    }
    if let Some((key, problem, expected)) = keys.idle_key() {
        return Err(section.diagnostic(key, problem, expected));
    }
    Ok(keys)
}

/// Reads every `[[switch_override]]`.
pub(crate) fn read_overrides(root: &Section<'_>) -> Result<Vec<SwitchOverride>, Diagnostic> {
    let mut overrides: Vec<SwitchOverride> = Vec::new();
    let mut seen = HashSet::new();
    for (_, section) in root.sections("switch_override")? {
        let specs = switch_override_specs();
        section.check_keys(specs.iter().map(|s| &*s.name))?;
        let (mut pattern, mut settings, mut checked) = (None, Vec::new(), Switch::default());
        for spec in &specs {
            let Some(entry) = section.table.and_then(|t| t.get(&spec.name)) else { continue };
            section.set(spec, &entry.item, |value| {
                if spec.name == "match" {
                    pattern = Some(String::from_value(value).map_err(ParamError::BadValue)?);
                    return Ok(());
                }
                checked.set(&spec.name, value)?;
                settings.push((spec.name.to_string(), value.clone()));
                Ok(())
            })?;
        }
        let Some(pattern) = pattern else {
            return Err(section.diagnostic("match", "missing", "expected the names of switches, such as \"core*\""));
        };
        if !seen.insert(pattern.clone()) {
            return Err(section.diagnostic("match", "used twice", "expected all settings of a pattern in one table"));
        }
        overrides.push(SwitchOverride { pattern, settings });
    }
    Ok(overrides)
}
