//! Every default of every algorithm and preset stands in `spec/defaults.md` with its source, and so does what each needs of the network: a
//! changed number, a parameter without an entry and an entry without a parameter all fail here.

use farloop_cc::{Catalog, Needs};
use std::collections::BTreeMap;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/defaults.md");

/// Default and source of each parameter of the table.
fn table() -> BTreeMap<String, (String, String)> {
    let text = std::fs::read_to_string(FILE).expect("spec/defaults.md is part of the checkout");
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        let [name, default, source] = cells[..] else { panic!("three columns wanted: {line}") };
        let before = rows.insert(name.to_string(), (default.to_string(), source.to_string()));
        assert!(before.is_none(), "{name} stands twice");
    }
    rows
}

/// What an algorithm needs, in words.
fn words(needs: Needs) -> String {
    let Needs {
        ecn,
        int,
        header_bytes,
        fields,
        port_agent,
        border_agent,
        symmetric,
        accurate_ecn,
        delivery_rate,
        even_pacing,
        exact_window,
        multipath,
        credit,
        coding,
    } = needs;
    let mut words: Vec<String> = [
        (ecn, "ecn"),
        (accurate_ecn, "accurate_ecn"),
        (int, "int"),
        (port_agent, "port_agent"),
        (border_agent, "border_agent"),
        (symmetric, "symmetric"),
        (delivery_rate, "delivery_rate"),
        (even_pacing, "even_pacing"),
        (exact_window, "exact_window"),
        (multipath, "multipath"),
        (credit, "credit"),
    ]
    .iter()
    .filter(|(needed, _)| *needed)
    .map(|(_, word)| word.to_string())
    .collect();
    if let Some((data, repair)) = coding {
        words.push(format!("{data}+{repair} coding"));
    }
    if header_bytes > 0 {
        words.push(format!("{header_bytes} header bytes"));
    }
    if fields > 0 {
        words.push(format!("{fields} header fields"));
    }
    if words.is_empty() { "nothing".to_string() } else { words.join(", ") }
}

/// What the registry says: all parameters of the algorithms, what the presets set, and what each needs.
fn registered() -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    let catalog = Catalog::builtin();
    for info in catalog.infos() {
        let params = catalog.lookup(&info.name).expect("listed");
        rows.insert(format!("{} needs", info.name), words(params.needs()));
        let set: Vec<&str> = catalog.preset_settings(&info.name).iter().map(|(name, _)| name.as_str()).collect();
        for spec in &info.params {
            if info.preset_of.is_none() || set.contains(&&*spec.name) {
                let value = params.get(&spec.name).expect("listed");
                let text = value.map_or("none".to_string(), |v| v.to_string().trim_matches('"').to_string());
                rows.insert(format!("{}.{}", info.name, spec.name), text);
            }
        }
    }
    rows
}

#[test]
fn every_default_is_the_one_in_the_table() {
    let mut rows = table();
    let mut wrong = Vec::new();
    for (name, value) in registered() {
        match rows.remove(&name) {
            Some((default, _)) if default == value => {}
            Some((default, source)) => wrong.push(format!("{name} is {value}, but {default} by the table ({source})")),
            None => wrong.push(format!("| `{name}` | `{value}` | its source, please |")),
        }
    }
    wrong.extend(rows.keys().map(|name| format!("{name} is in the table only")));
    assert!(wrong.is_empty(), "spec/defaults.md and the code differ:\n{}", wrong.join("\n"));
}

#[test]
fn every_default_has_a_source() {
    let rows = table();
    assert!(rows.len() > 150, "{} rows", rows.len());
    for (name, (_, source)) in rows {
        assert!(source.len() > 3 && !source.contains("please"), "{name}: no source");
    }
}
