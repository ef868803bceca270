//! docs/jobs.md has a row for each key of a plan.

use farloop_job::generate::Plan;
use farloop_test_support::{assert_stored, update_rows};
use farloop_units::{Kind, Params};

#[test]
fn every_key_has_its_stored_row() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jobs.md");
    let page = std::fs::read_to_string(file).unwrap();
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
    let page = update_rows(&page, &rows);
    assert_stored(file, &page);
    assert!(page.contains(&rows.join("\n")), "docs/jobs.md has other rows between these:\n{}", rows.join("\n"));
}
