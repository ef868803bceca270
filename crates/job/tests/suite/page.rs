//! docs/jobs.md has a row for each format and each key of a plan.

use farloop_job::formats::{Format, Writing};
use farloop_job::generate::Plan;
use farloop_test_support::{assert_stored, update_rows};
use farloop_units::{Kind, Params};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jobs.md");

/// Replaces the text between the comments `<!-- NAME` and `<!-- end of NAME -->`.
fn replace_between(page: &str, name: &str, text: &str) -> String {
    let (before, rest) = page.split_once(&format!("<!-- {name}")).expect("the page has the comment");
    let (comment, rest) = rest.split_once('\n').expect("a comment is a line");
    let end = format!("<!-- end of {name} -->");
    let (_, after) = rest.split_once(&end).expect("the page has the comment at the end");
    format!("{before}<!-- {name}{comment}\n\n{text}\n{end}{after}")
}

#[test]
fn every_format_has_its_stored_row() {
    let mut table = "| format | files | read | written |\n| --- | --- | --- | --- |\n".to_string();
    for format in Format::ALL {
        let spec = format.spec();
        let written = match spec.writing {
            Writing::Any { .. } => "yes".to_string(),
            Writing::Own(_) => format!("from `{}`", spec.name),
            Writing::Never => "no".to_string(),
        };
        table += &format!("| `{}` | {} | yes | {written} |\n", spec.name, spec.description);
    }
    let page = std::fs::read_to_string(FILE).unwrap();
    assert_stored(FILE, &replace_between(&page, "formats of jobs", &table));
}

#[test]
fn every_key_has_its_stored_row() {
    let page = std::fs::read_to_string(FILE).unwrap();
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
    assert_stored(FILE, &page);
    assert!(page.contains(&rows.join("\n")), "docs/jobs.md has other rows between these:\n{}", rows.join("\n"));
}
