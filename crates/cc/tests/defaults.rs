//! The pages that list algorithms and parameters are made from the declarations: `spec/defaults.md`, the tables of `spec/*.md`, and the
//! algorithms that the README names. Every default has a source.

use farloop_cc::{AlgorithmInfo, Catalog, Listed, Needs};
use farloop_test_support::{assert_stored, fill, replace_blocks};
use farloop_units::{Kind, ParamSpec, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The root of the checkout.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The begin of the README's sentence about algorithms.
const README_SENTENCE: &str = "farloop implements the algorithms designed for this mix";

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

/// A value as the pages write it; "none" where it is not set.
fn shown(value: Option<&Value>) -> String {
    value.map_or("none".to_string(), |value| value.to_string().trim_matches('"').to_string())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The parameters of an algorithm; of a preset those that it sets.
fn listed<'a>(catalog: &Catalog, info: &'a AlgorithmInfo) -> Vec<&'a ParamSpec> {
    let set: Vec<&str> = catalog.preset_settings(&info.name).iter().map(|(name, _)| name.as_str()).collect();
    info.params.iter().filter(|spec| info.preset_of.is_none() || set.contains(&&*spec.name)).collect()
}

/// Every algorithm and preset with its needs and defaults, and the sources of these.
fn defaults(catalog: &Catalog) -> String {
    let infos: BTreeMap<&str, &AlgorithmInfo> = catalog.infos().map(|info| (info.name.as_str(), info)).collect();
    let section = |info: &&AlgorithmInfo| {
        let name = &info.name;
        let mut text = format!("## {name}\n\n| parameter | default | source |\n| --- | --- | --- |\n");
        text += &format!("| `{name} needs` | `{}` | {} |\n", words(info.needs), cell(&info.needs_reason));
        let specs: BTreeMap<&str, &ParamSpec> = listed(catalog, info).into_iter().map(|s| (&*s.name, s)).collect();
        for (key, spec) in specs {
            text += &format!("| `{name}.{key}` | `{}` | {} |\n", shown(spec.default.as_ref()), cell(&spec.source));
        }
        text
    };
    infos.values().map(section).collect::<Vec<_>>().join("\n")
}

/// The unit of a parameter, which its kind says where the declaration does not.
fn unit(spec: &ParamSpec) -> &str {
    match spec.kind {
        _ if !spec.unit.is_empty() => &spec.unit,
        Kind::Time => "time",
        Kind::Bytes => "bytes",
        Kind::Rate => "rate",
        _ => "–",
    }
}

/// The accepted values: a range, or words.
fn accepted(spec: &ParamSpec) -> String {
    match &spec.kind {
        Kind::Bool => "true, false".to_string(),
        Kind::Choice(words) => words.iter().collect::<Vec<_>>().join(", "),
        _ => spec.range.clone(),
    }
}

/// The values of a parameter on the hosts of `[transport] preset`: value, hosts that have it, source.
fn on_hosts<'a>(catalog: &'a Catalog, info: &AlgorithmInfo, key: &str) -> Vec<(String, Vec<&'a str>, &'a str)> {
    let mut values: Vec<(String, Vec<&str>, &str)> = Vec::new();
    for host in catalog.hosts(&info.name) {
        for ((_, value), source) in host.settings.iter().zip(&host.sources).filter(|((name, _), _)| name == key) {
            let value = shown(Some(value));
            match values.iter_mut().find(|(other, ..)| *other == value) {
                Some((_, hosts, _)) => hosts.push(&host.name),
                None => values.push((value, vec![&host.name], source)),
            }
        }
    }
    values
}

/// The table of an algorithm's parameters, with the values of its presets and of hosts.
fn parameters(catalog: &Catalog, info: &AlgorithmInfo) -> String {
    let presets: Vec<&AlgorithmInfo> = catalog.infos().filter(|p| p.preset_of.as_ref() == Some(&info.name)).collect();
    let row = |spec: &ParamSpec| {
        let (mut default, mut source) = (format!("`{}`", shown(spec.default.as_ref())), spec.source.to_string());
        for preset in &presets {
            for set in listed(catalog, preset).into_iter().filter(|set| set.name == spec.name) {
                default += &format!("; `{}` in `{}`", shown(set.default.as_ref()), preset.name);
                source += &format!("; `{}`: {}", preset.name, set.source);
            }
        }
        for (value, hosts, from) in on_hosts(catalog, info, &spec.name) {
            default += &format!("; `{value}` with `{}`", hosts.join("` and `"));
            source += &format!("; {from}");
        }
        let cells = [&spec.name, unit(spec), &default, &accepted(spec), &cell(&spec.doc), &cell(&source)];
        format!("| `{}` | {} |", cells[0], cells[1..].join(" | "))
    };
    let head =
        "| name | unit | default | range | meaning | source of the default |\n| --- | --- | --- | --- | --- | --- |";
    let rows: Vec<String> = info.params.iter().map(row).collect();
    format!("{head}\n{}\n", rows.join("\n"))
}

/// The sentence of the README about algorithms, from its first words on.
fn readme_sentence(catalog: &Catalog) -> String {
    let [mut across, mut multipath, mut baselines] = [const { Vec::new() }; 3];
    for info in catalog.infos() {
        match info.listed {
            Listed::No => {}
            Listed::AcrossDatacenters(name) => across.push(name),
            Listed::Multipath(name) => multipath.push(name),
            Listed::Baseline(name) => baselines.push(name),
        }
    }
    // AccelToR is a schedule of circuits, and no algorithm of the catalog.
    format!(
        "{README_SENTENCE} ({}, AccelToR), the multipath transports of today's AI fabrics ({}), and the usual baselines ({}).",
        across.join(", "),
        multipath.join(", "),
        baselines.join(", ")
    )
}

/// The pages of algorithms with a line `<!-- parameters of NAME -->`, and the names.
fn pages() -> Vec<(PathBuf, String, Vec<String>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(Path::new(ROOT).join("spec"))
        .expect("spec is part of the checkout")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a page");
        let name = |line: &str| line.strip_prefix("<!-- parameters of ")?.strip_suffix(" -->").map(str::to_string);
        let names = text.lines().filter_map(name).collect();
        (file, text, names)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn tables_of_parameters_are_the_stored_ones() {
    let catalog = Catalog::builtin();
    // Another test writes the page without tables.
    for (file, text, names) in pages().into_iter().filter(|(.., names)| !names.is_empty()) {
        let marks: Vec<String> = names.iter().map(|name| format!("parameters of {name}")).collect();
        let table = |name: &String| parameters(&catalog, catalog.info(name).unwrap_or_else(|| panic!("no {name}")));
        let blocks: Vec<(&str, String)> = marks.iter().map(String::as_str).zip(names.iter().map(table)).collect();
        assert_stored(file, &replace_blocks(&text, &blocks));
    }
}

#[test]
fn every_algorithm_has_its_table_on_a_page() {
    let catalog = Catalog::builtin();
    let pages = pages();
    for info in catalog.infos().filter(|info| info.preset_of.is_none() && info.name != "fixed") {
        let pages = pages.iter().filter(|(.., names)| names.contains(&info.name)).count();
        assert_eq!(pages, 1, "pages in spec with a line <!-- parameters of {} -->", info.name);
    }
}

#[test]
fn every_default_is_the_stored_one() {
    let file = Path::new(ROOT).join("spec/defaults.md");
    let text = std::fs::read_to_string(&file).expect("spec/defaults.md is part of the checkout");
    assert_stored(file, &replace_blocks(&text, &[("defaults", defaults(&Catalog::builtin()))]));
}

#[test]
fn the_algorithms_of_the_readme_are_the_stored_ones() {
    let file = Path::new(ROOT).join("README.md");
    let text = std::fs::read_to_string(&file).expect("README.md is part of the checkout");
    let paragraph = |text: &&str| text.contains(README_SENTENCE);
    let old = text.split("\n\n").find(paragraph).expect("the README says which algorithms there are");
    let (before, rest) = old.split_once(README_SENTENCE).expect("it begins so");
    let (_, after) = rest.split_once(").").expect("it ends with a list");
    let new = fill(&format!("{before}{}{after}", readme_sentence(&Catalog::builtin())));
    assert_stored(file, &text.replace(old, &new));
}

#[test]
fn every_default_has_a_source() {
    let catalog = Catalog::builtin();
    let mut count = 0;
    for info in catalog.infos() {
        assert!(info.needs_reason.len() > 3, "{}: no reason for its needs", info.name);
        for spec in listed(&catalog, info) {
            assert!(spec.source.len() > 3, "{}.{}: no source of the default", info.name, spec.name);
            count += 1;
        }
    }
    assert!(count > 150, "{count} parameters");
}
