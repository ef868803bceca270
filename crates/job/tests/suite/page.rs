//! docs/jobs.md has a row for each key of a plan.

use farloop_job::generate::Plan;
use farloop_units::{Kind, Params};

#[test]
fn every_key_has_its_row() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jobs.md")).unwrap();
    // 400000000000000.0 is written 4e14.
    let short = |text: String| {
        let word = |w: &str| match w.parse::<f64>() {
            Ok(value) if value >= 1e6 && w.contains('.') => format!("{value:e}"),
            _ => w.replace('"', ""),
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    };
    let row = |spec: &farloop_units::ParamSpec| {
        let default = spec.default.as_ref().map_or(String::new(), |d| short(d.to_string()));
        let accepted = match &spec.kind {
            Kind::Choice(words) => words.iter().collect::<Vec<_>>().join(", "),
            Kind::Bool => "true, false".to_string(),
            _ => short(spec.range.clone()),
        };
        format!("| `{}` | {default} | {accepted} | {} |", spec.name, spec.doc)
    };
    let rows: Vec<String> = Plan::specs().iter().map(row).collect();
    let wanted = format!("| key | default | accepted | |\n| --- | --- | --- | --- |\n{}\n", rows.join("\n"));
    assert!(page.contains(&wanted), "docs/jobs.md lacks this table:\n{wanted}");
}
