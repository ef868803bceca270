//! `[algorithm.NAME]`: parameters of algorithms and presets, and their order of precedence.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::document::{Item, Location};
use crate::reader::Section;
use crate::sections::AlgorithmKey;
use farloop_cc::{AlgorithmInfo, AnyParams, Catalog};
use farloop_units::{Params, Value};

/// Parameters as scenarios set them, by algorithm or preset.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlgorithmSettings {
    /// The algorithms and presets that their names mean.
    pub catalog: Catalog,
    /// The hosts that `[transport] preset` names.
    hosts: &'static str,
    /// In the order in which they were written.
    tables: Vec<(String, Vec<(String, Value)>)>,
}

impl AlgorithmSettings {
    /// Reads all sub-tables of `[algorithm]`, whether or not their algorithms run, on `hosts`.
    pub fn read(root: &Section<'_>, hosts: &'static str) -> Result<(AlgorithmKey, AlgorithmSettings), Diagnostic> {
        let section = root.section("algorithm")?;
        let names: Vec<&str> = root.catalog.names().collect();
        let key = join_scopes(&section, section.read(&[], &names)?)?;
        let mut settings = AlgorithmSettings { catalog: root.catalog.clone(), hosts, tables: Vec::new() };
        // In the file's order, which `resolved()` keeps.
        let own_keys = AlgorithmKey::specs();
        for entry in section.table.iter().flat_map(|t| &t.0) {
            let Some(info) = root.catalog.info(&entry.key) else { continue };
            if own_keys.iter().any(|s| s.name == entry.key) {
                continue;
            }
            let inner = section.section(&info.name)?;
            settings.tables.push((info.name.clone(), read_table(&inner, info)?));
        }
        Ok((key, settings))
    }

    /// Without any table, on `hosts`.
    pub fn of_hosts(catalog: &Catalog, hosts: &'static str) -> AlgorithmSettings {
        AlgorithmSettings { catalog: catalog.clone(), hosts, tables: Vec::new() }
    }

    /// The names that have a table.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// The parameters of `name`: the base algorithm's defaults, as its hosts have them, its own table, what the preset sets, the preset's
    /// own table.
    /// `None` for an unknown name.
    pub fn params(&self, name: &str) -> Option<AnyParams> {
        let of_hosts = |base| self.catalog.host_settings(base, self.hosts);
        Some(match &self.catalog.info(name)?.preset_of {
            None => apply_layers(self.catalog.lookup(name)?, &[of_hosts(name), self.table(name)]),
            Some(base) => {
                let preset = self.catalog.preset_settings(name);
                let layers = [of_hosts(base), self.table(base), preset, self.table(name)];
                apply_layers(self.catalog.lookup(base)?, &layers)
            }
        })
    }

    fn table(&self, name: &str) -> &[(String, Value)] {
        self.tables.iter().find(|(n, _)| n == name).map_or(&[], |(_, table)| table)
    }
}

/// `params` with `layers` on top, later ones winning.
fn apply_layers(mut params: AnyParams, layers: &[&[(String, Value)]]) -> AnyParams {
    for (key, value) in layers.iter().copied().flatten() {
        params.set(key, value).expect("tables were checked when they were read, presets when they were registered");
    }
    params
}

fn read_table(section: &Section<'_>, info: &AlgorithmInfo) -> Result<Vec<(String, Value)>, Diagnostic> {
    section.check_keys(info.params.iter().map(|s| &*s.name))?;
    let mut checked = section.catalog.lookup(&info.name).expect("listed by the catalog");
    let mut table = Vec::new();
    for entry in section.table.iter().flat_map(|t| &t.0) {
        let Some(spec) = info.params.iter().find(|s| s.name == entry.key) else { continue };
        section.set(spec, &entry.item, |value| {
            checked.set(&spec.name, value)?;
            table.push((spec.name.to_string(), value.clone()));
            Ok(())
        })?;
    }
    Ok(table)
}

/// The character between the algorithms of a pair, such as "dctcp/bbr".
const SEPARATOR: char = '/';

/// The algorithms that a name means: those of flows inside a datacenter and of flows across, which are the same but
/// for a pair.
pub(crate) fn by_scope(name: &str) -> [&str; 2] {
    name.split_once(SEPARATOR).map_or([name; 2], |(intra, cross)| [intra, cross])
}

/// The name for the pair of `[algorithm]`'s keys `intra` and `cross`, each of which replaces `name` for its flows.
fn join_scopes(section: &Section<'_>, mut key: AlgorithmKey) -> Result<AlgorithmKey, Diagnostic> {
    let (intra, cross) = (key.intra.take(), key.cross.take());
    for (word, own) in [("intra", &intra), ("cross", &cross)] {
        let Some(own) = own else { continue };
        let place = section.table.and_then(|t| t.get(word)).map_or(section.place, |e| e.item.place);
        if own.contains(SEPARATOR) {
            let problem = format!("\"{own}\" is a pair");
            let expected = "expected one algorithm; name = \"INTRA/CROSS\" has two";
            return Err(section.document.diagnostic(place, &section.key(word), problem, expected));
        }
        check_name(section, place, word, own)?;
    }
    let [of_intra, of_cross] = by_scope(&key.name);
    let (intra, cross) = (intra.as_deref().unwrap_or(of_intra), cross.as_deref().unwrap_or(of_cross));
    if [intra, cross] != [of_intra, of_cross] {
        key.name = if intra == cross { intra.to_string() } else { format!("{intra}{SEPARATOR}{cross}") };
    }
    Ok(key)
}

/// Why a name is no algorithm's.
pub(crate) struct Unknown {
    pub problem: String,
    pub expected: String,
    pub suggestion: Option<String>,
}

/// The error of an algorithm's name or a pair of them, if `catalog` does not know it.
pub(crate) fn unknown(catalog: &Catalog, name: &str) -> Option<Unknown> {
    let parts: Vec<&str> = name.split(SEPARATOR).collect();
    let pair = |problem: String| {
        let expected =
            "expected one algorithm, or those of flows inside a datacenter and across, such as \"dctcp/bbr\"";
        Some(Unknown { problem, expected: expected.into(), suggestion: None })
    };
    match parts[..] {
        [_] => {}
        ["", _] => return pair(format!("\"{name}\" has no algorithm of flows inside a datacenter")),
        [_, ""] => return pair(format!("\"{name}\" has no algorithm of flows across datacenters")),
        [_, _] => {}
        _ => return pair(format!("\"{name}\" has {} parts", parts.len())),
    }
    let at = parts.iter().position(|part| catalog.info(part).is_none())?;
    let replaced = |by: String| {
        let mut parts: Vec<&str> = parts.clone();
        parts[at] = &by;
        parts.join("/")
    };
    Some(Unknown {
        problem: format!("there is no algorithm \"{}\"", parts[at]),
        expected: format!("algorithms: {}", listing(catalog.names())),
        suggestion: nearest(parts[at], catalog.names()).map(replaced),
    })
}

/// Refuses an algorithm's name that the catalog does not know.
pub(crate) fn check_name(section: &Section<'_>, place: Location, key: &str, name: &str) -> Result<(), Diagnostic> {
    let Some(Unknown { problem, expected, suggestion }) = unknown(section.catalog, name) else { return Ok(()) };
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
        let fixed = || farloop_cc::lookup("fixed").expect("known");
        let get = |layers: &[&[(String, Value)]], key| apply_layers(fixed(), layers).get(key).flatten();
        let text = |t: &str| Some(Value::Text(t.into()));
        assert_eq!(get(&[&base], "rate"), text("1Gbps"));
        assert_eq!(get(&[&base, &preset], "rate"), text("2Gbps"));
        assert_eq!(get(&[&base, &preset, &own], "rate"), text("3Gbps"));
        assert_eq!(get(&[&base, &preset, &own], "cwnd"), text("9kB"));
        assert_eq!(get(&[], "cwnd"), None);
    }

    #[test]
    fn the_keys_of_the_section_are_no_names_for_algorithms() {
        for spec in AlgorithmKey::specs() {
            assert!(farloop_cc::catalog::RESERVED.contains(&&*spec.name), "{}", spec.name);
        }
    }

    #[test]
    fn algorithms_can_name_the_hosts_of_presets() {
        use crate::{host_presets, sections::HostsChoice};
        let names = [HostsChoice::Linux49, HostsChoice::Linux6].map(host_presets::name);
        assert_eq!(names, farloop_cc::catalog::HOSTS);
    }
}
