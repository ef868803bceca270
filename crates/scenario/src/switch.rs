//! `[switch]`, `[wan_switch]`, and other settings for some of the switches: `[[switch_override]]`.

use crate::diagnostic::Diagnostic;
use crate::reader::Section;
use crate::sections::{EcmpChoice, LcmpKeys, Switch, SwitchKeys, WanSwitch, switch_override_specs};
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

/// Reads `[lcmp]`, which only scenarios have whose switches choose paths by it.
pub(crate) fn read_lcmp(
    root: &Section<'_>,
    switch: &Switch,
    wan_switch: &WanSwitch,
    overrides: &[SwitchOverride],
) -> Result<Option<LcmpKeys>, Diagnostic> {
    let lcmp = EcmpChoice::Lcmp.to_value();
    let sets = |(key, value): &(String, Value)| key == "ecmp" && Some(value) == lcmp.as_ref();
    let some = [switch.ecmp, wan_switch.ecmp].contains(&EcmpChoice::Lcmp)
        || overrides.iter().flat_map(|o| &o.settings).any(sets);
    let section = root.section("lcmp")?;
    if some {
        return section.read(&[], &[]).map(Some);
    }
    match section.is_written() {
        true => {
            let expected = "expected ecmp = \"lcmp\" in [switch], [wan_switch] or a [[switch_override]]";
            Err(root.diagnostic("lcmp", "no switch chooses paths by LCMP", expected))
        }
        false => Ok(None),
    }
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
