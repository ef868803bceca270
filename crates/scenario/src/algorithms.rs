//! `[algorithm.NAME]`: parameters of algorithms and presets, and who overrides whom.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::document::{Item, Location};
use crate::reader::Section;
use crate::sections::AlgorithmKey;
use farloop_cc::{AlgorithmInfo, AnyParams};
use farloop_units::{Params, Value};
use std::sync::OnceLock;

/// Parameters as scenarios set them, by algorithm or preset.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlgorithmSettings {
    /// The hosts that `[transport] preset` names.
    hosts: &'static str,
    /// In the order in which they were written.
    tables: Vec<(String, Vec<(String, Value)>)>,
}

impl AlgorithmSettings {
    /// Reads all sub-tables of `[algorithm]`, whether or not their algorithms run, on `hosts`.
    pub fn read(root: &Section<'_>, hosts: &'static str) -> Result<(AlgorithmKey, AlgorithmSettings), Diagnostic> {
        let infos = farloop_cc::all();
        let section = root.section("algorithm")?;
        let names: Vec<&str> = infos.iter().map(|i| i.name).collect();
        let key: AlgorithmKey = section.read(&[], &names)?;
        let mut settings = AlgorithmSettings { hosts, tables: Vec::new() };
        // In the file's order, which `resolved()` keeps.
        let own_keys = AlgorithmKey::specs();
        for entry in section.table.iter().flat_map(|t| &t.0) {
            let Some(info) = infos.iter().find(|i| i.name == entry.key) else { continue };
            if own_keys.iter().any(|s| s.name == entry.key) {
                continue;
            }
            let inner = section.section(info.name)?;
            settings.tables.push((info.name.to_string(), read_table(&inner, info)?));
        }
        Ok((key, settings))
    }

    /// The names that have a table.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// The parameters of `name`: the base algorithm's defaults, as its hosts have them, its own table, what the preset sets, the preset's
    /// own table.
    /// `None` for an unknown name.
    pub fn params(&self, name: &str) -> Option<AnyParams> {
        let info = farloop_cc::all().into_iter().find(|i| i.name == name)?;
        match info.preset_of {
            None => layered(name, &[&self.of_hosts(name), self.table(name)]),
            Some(base) => {
                let preset = farloop_cc::preset_settings(name);
                let preset: Vec<_> = preset.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
                layered(base, &[&self.of_hosts(base), self.table(base), &preset, self.table(name)])
            }
        }
    }

    fn of_hosts(&self, base: &str) -> Vec<(String, Value)> {
        let settings = farloop_cc::host_settings(base, self.hosts);
        settings.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }

    fn table(&self, name: &str) -> &[(String, Value)] {
        self.tables.iter().find(|(n, _)| n == name).map_or(&[], |(_, table)| table)
    }
}

/// The defaults of the algorithm `base` with `layers` on top, later ones winning.
fn layered(base: &str, layers: &[&[(String, Value)]]) -> Option<AnyParams> {
    let mut params = farloop_cc::lookup(base)?;
    for (key, value) in layers.iter().copied().flatten() {
        params.set(key, value).expect("tables were checked when they were read, presets by the registry's tests");
    }
    Some(params)
}

fn read_table(section: &Section<'_>, info: &AlgorithmInfo) -> Result<Vec<(String, Value)>, Diagnostic> {
    section.check_keys(info.params.iter().map(|s| s.name))?;
    let mut checked = farloop_cc::lookup(info.name).expect("listed by the registry");
    let mut table = Vec::new();
    for entry in section.table.iter().flat_map(|t| &t.0) {
        let Some(spec) = info.params.iter().find(|s| s.name == entry.key) else { continue };
        section.set(spec, &entry.item, |value| {
            checked.set(spec.name, value)?;
            table.push((spec.name.to_string(), value.clone()));
            Ok(())
        })?;
    }
    Ok(table)
}

/// Why a name is no algorithm's.
pub(crate) struct Unknown {
    pub problem: String,
    pub expected: String,
    pub suggestion: Option<String>,
}

/// What is wrong with an algorithm's name, if the registry does not know it.
pub(crate) fn unknown(name: &str) -> Option<Unknown> {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    let names = || NAMES.get_or_init(|| farloop_cc::all().into_iter().map(|i| i.name).collect()).iter().copied();
    (!names().any(|n| n == name)).then(|| Unknown {
        problem: format!("there is no algorithm \"{name}\""),
        expected: format!("algorithms: {}", listing(names())),
        suggestion: nearest(name, names()),
    })
}

/// Refuses an algorithm's name that the registry does not know.
pub(crate) fn check_name(section: &Section<'_>, place: Location, key: &str, name: &str) -> Result<(), Diagnostic> {
    let Some(Unknown { problem, expected, suggestion }) = unknown(name) else { return Ok(()) };
    let diagnostic = section.document.diagnostic(place, &section.key(key), problem, expected);
    Err(Diagnostic { suggestion, ..diagnostic })
}

/// As [`check_name`], for a list of names.
pub(crate) fn check_names(
    section: &Section<'_>,
    key: &str,
    names: &[String],
    items: &[Item],
) -> Result<(), Diagnostic> {
    for (i, name) in names.iter().enumerate() {
        let place = items.get(i).map_or(section.place, |item| item.place);
        check_name(section, place, key, name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> (String, Value) {
        ("rate".into(), Value::Text(text.into()))
    }

    #[test]
    fn a_presets_table_beats_the_preset_which_beats_the_base_table() {
        let cwnd = ("cwnd".to_string(), Value::Text("9kB".into()));
        let (base, preset, own) = ([rate("1Gbps"), cwnd], [rate("2Gbps")], [rate("3Gbps")]);
        let get = |layers: &[&[(String, Value)]], key| layered("fixed", layers).expect("known").get(key).flatten();
        let text = |t: &str| Some(Value::Text(t.into()));
        assert_eq!(get(&[&base], "rate"), text("1Gbps"));
        assert_eq!(get(&[&base, &preset], "rate"), text("2Gbps"));
        assert_eq!(get(&[&base, &preset, &own], "rate"), text("3Gbps"));
        assert_eq!(get(&[&base, &preset, &own], "cwnd"), text("9kB"));
        assert_eq!(get(&[], "cwnd"), None);
    }
}
