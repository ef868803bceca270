//! Every default of every algorithm and preset stands in `spec/defaults.md` with its source, and so does what each needs of the network: a
//! changed number, a parameter without an entry and an entry without a parameter all fail here.

use farloop_cc::{Catalog, Needs};
use farloop_test_support::assert_stored;
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

/// The page with the registry's defaults: rows that nothing is registered for are gone, and new ones ask for their source.
fn update(text: &str) -> String {
    let mut registered = registered();
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(name) = line.strip_prefix("| `").and_then(|rest| rest.split('`').next()) else {
            lines.push(line.to_string());
            continue;
        };
        if let Some(value) = registered.remove(name) {
            let source = line.trim_end_matches('|').splitn(3, " | ").nth(2).unwrap_or("its source, please").trim();
            lines.push(format!("| `{name}` | `{value}` | {source} |"));
        }
    }
    for (name, value) in registered {
        let algorithm = &name[..name.find(['.', ' ']).expect("a parameter, or needs")];
        let of_it = |line: &String| {
            line.starts_with(&format!("| `{algorithm}.")) || line.starts_with(&format!("| `{algorithm} "))
        };
        let place = lines.iter().rposition(of_it).map_or(lines.len(), |last| last + 1);
        lines.insert(place, format!("| `{name}` | `{value}` | its source, please |"));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

#[test]
fn every_default_is_the_stored_one() {
    let text = std::fs::read_to_string(FILE).expect("spec/defaults.md is part of the checkout");
    assert_stored(FILE, &update(&text));
}

#[test]
fn every_default_has_a_source() {
    let rows = table();
    assert!(rows.len() > 150, "{} rows", rows.len());
    for (name, (_, source)) in rows {
        assert!(source.len() > 3 && !source.contains("please"), "{name}: no source");
    }
}
