//! Figures, their cases and claims.

use super::{FLOW, check, diagnose};

/// A figure; what follows it begins in line 11.
fn start() -> String {
    format!("[run]\nduration = \"1ms\"\n{FLOW}[figure]\nid = \"x/fig1\"\n")
}

#[test]
fn figures_cases_and_claims() {
    let start = start();
    let cases: &[(&str, &[&str])] = &[
        (
            "algorithms = [\"fixed\", \"fixd\"]\n",
            &["bad.toml:11: figure.algorithms: there is no algorithm \"fixd\"; did you mean \"fixed\"?"],
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"flow.f2.start\" = \"1ms\" }\n",
            &["bad.toml:13: flow.f2.start: there is no [[flow]] with the name \"f2\" (in case \"a\"); names: \"f1\""],
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"network.rat\" = \"1Gbps\" }\n",
            &["bad.toml:13: network.rat: unknown key (in case \"a\"); did you mean \"rate\"?"],
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"flow.f1.to\" = \"s1\" }\n",
            &["bad.toml:13: flow.f1.to: the flow goes to the host that it comes from (in case \"a\")"],
        ),
        ("[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"\n", &["bad.toml:14: case.a.name: used twice"]),
        (
            "[[case]]\nname = \"a\"\nalgorithms = [\"nope\"]\n",
            &["bad.toml:13: case.a.algorithms: there is no algorithm \"nope\""],
        ),
        ("[[claim]]\nid = \"x\"\n", &["bad.toml:11: claim.x.what: missing"]),
        (
            "[[claim]]\nid = \"x\"\nwhat = \"y\"\npaper = { r = inf }\n",
            &["bad.toml:14: claim.x.paper.r: inf is not finite"],
        ),
        (
            "[[claim]]\nid = \"x\"\nwhat = \"y\"\npaper = { r = 2024-01-01 }\n",
            &["claim.x.paper.r: is a date", "expected numbers, texts"],
        ),
        (
            "[[claim]]\nid = \"x\"\nwhat = \"y\"\nby_construction = \"yes\"\n",
            &["bad.toml:14: claim.x.by_construction: \"yes\" is a text", "expected true or false"],
        ),
        ("[[claim]]\nid = \"x\"\nwhat = \"y\"\nmeasure = 1\n", &["claim.x.measure: unknown key", "paper, tolerance"]),
    ];
    for (bad, expected) in cases {
        check(&format!("{start}{bad}"), expected);
    }
}

#[test]
fn readings_of_claims() {
    let whole = "what = \"eta\"\nby = \"text\"\nsource = \"§3\"\n";
    let cases: &[(&str, &[&str])] = &[
        (
            "calibrated = \"eta\"\n",
            &[
                "bad.toml:14: claim.x.calibrated: is a reading now; expected [[claim.reading]] below the claim, with what, by = \"this",
            ],
        ),
        ("reading = 1\n", &["bad.toml:14: claim.x.reading: is a whole number; expected tables: [[claim.reading]]"]),
        ("[[claim.reading]]\nby = \"text\"\nsource = \"§3\"\n", &["bad.toml:14: claim.x.reading.1.what: missing"]),
        ("[[claim.reading]]\nwhat = \"eta\"\nsource = \"§3\"\n", &["bad.toml:14: claim.x.reading.1.by: missing"]),
        ("[[claim.reading]]\nwhat = \"eta\"\nby = \"text\"\n", &["bad.toml:14: claim.x.reading.1.source: missing"]),
        (
            "[[claim.reading]]\nwhat = \"eta\"\nby = \"the text\"\nsource = \"§3\"\n",
            &["claim.x.reading.1.by: \"the text\" is not accepted", "\"text\", \"other figures\", \"this figure\""],
        ),
        (
            "[[claim.reading]]\nwhat = \" \"\nby = \"text\"\nsource = \"§3\"\n",
            &["bad.toml:15: claim.x.reading.1.what: is empty; expected a text"],
        ),
        (
            "[[claim.reading]]\nwhat = \"eta\"\nby = \"text\"\nsource = \"\"\n",
            &["bad.toml:17: claim.x.reading.1.source: is empty; expected a text"],
        ),
        (
            &format!("[[claim.reading]]\n{whole}[[claim.reading]]\n{whole}statements = []\n"),
            &["bad.toml:22: claim.x.reading.2.statements: is empty; expected the texts of one or more statements"],
        ),
        (
            &format!("[[claim.reading]]\n{whole}when = 1\n"),
            &["claim.x.reading.1.when: unknown key", "by, source, statements"],
        ),
    ];
    for (bad, expected) in cases {
        check(&format!("{}[[claim]]\nid = \"x\"\nwhat = \"y\"\n{bad}", start()), expected);
    }
}

#[test]
fn what_cases_extend() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[[case]]\nname = \"late\"\n[[case]]\nname = \"a\"\nextends = \"lat\"\n",
            &[
                "bad.toml:15: case.a.extends: there is no case or template \"lat\"; did you mean \"late\"? names: \"late\"",
            ],
        ),
        (
            "[[case]]\nname = \"a\"\nextends = [\"b\"]\n[[case]]\nname = \"b\"\nextends = [\"a\"]\n",
            &[
                "bad.toml:16: case.b.extends: leads back to where it began: \"a\", \"b\", \"a\"",
                "expected names that do not extend this one",
            ],
        ),
        (
            "[[case]]\nname = \"a\"\nextends = \"a\"\n",
            &["bad.toml:13: case.a.extends: leads back to where it began: \"a\", \"a\""],
        ),
        (
            "[[case]]\nextends = 5\n",
            &["bad.toml:12: case.1.extends: has something else than names; expected the name of a case or template"],
        ),
        ("[[case]]\nextends = [\"x\", []]\n", &["bad.toml:12: case.1.extends: has something else than names"]),
        ("[[case]]\nextends = []\n", &["bad.toml:11: case.1.name: missing; expected a text in quotes"]),
        (
            "[template]\nx = {}\ny = {}\n[[case]]\nname = \"a\"\nextends = [[\"x\", \"y\"]]\n",
            &["bad.toml:15: case.a.name: is the name of 2 cases; expected no name: each is called by what it extends"],
        ),
        (
            "[template]\nx = {}\ny = {}\n[[case]]\nextends = [\"x\", \"y\"]\n[[case]]\nextends = [\"x\", [\"y\"]]\n",
            &["bad.toml:17: case.2.extends: \"x, y\" is there twice; expected a unique name"],
        ),
        (
            "[template]\nx = {}\n[[case]]\nname = \"x\"\n",
            &["bad.toml:14: case.x.name: used twice; expected a unique name"],
        ),
        (
            "[template]\nx = {}\ny = { extends = [[\"x\", \"x\"]] }\n",
            &["bad.toml:13: template.y.extends: has alternatives; expected one name at each place"],
        ),
        (
            "[template]\nx = { name = \"y\" }\n",
            &["bad.toml:12: template.x.name: unknown key", "accepted keys: algorithms, quick, set, extends"],
        ),
        ("[template]\nx = 5\n", &["bad.toml:12: template.x: is a whole number; expected a table"]),
        (
            "[template]\n\"\" = {}\n",
            &["bad.toml:12: template.: \"\" cannot be a name; expected 1 to 100 characters on one line"],
        ),
        (
            "[template]\nx = { algorithms = [\"nope\"] }\n",
            &["bad.toml:12: template.x.algorithms: there is no algorithm \"nope\""],
        ),
        (
            "[template]\nx = { set = { \"network.rat\" = \"1Gbps\" } }\n[[case]]\nname = \"a\"\nextends = \"x\"\n",
            &["bad.toml:12: network.rat: unknown key (in case \"a\"); did you mean \"rate\"?"],
        ),
    ];
    for (bad, expected) in cases {
        check(&format!("{}{bad}", start()), expected);
    }
}

#[test]
fn cases_have_no_more_than_they_may() {
    let message = |text: String| diagnose(&format!("{}{text}", start()), &[]).to_string();
    let chain: String = (1..40).map(|i| format!("t{} = {{ extends = \"t{i}\" }}\n", i - 1)).collect();
    let refused = message(format!("[template]\n{chain}t39 = {{}}\n"));
    assert!(
        refused.contains("too many cases and templates extend one another; expected at most 16 steps"),
        "{refused}"
    );

    let names: Vec<String> = (0..40).map(|i| format!("\"n{i}\"")).collect();
    let entries: String = names.iter().map(|name| format!("{name} = {{}}\n")).collect();
    let list = names.join(", ");
    let refused = message(format!("[template]\n{entries}[[case]]\nextends = [[{list}], [{list}]]\n"));
    assert!(refused.contains("case.1.extends: one case too many; expected at most 1000"), "{refused}");

    let settings: Vec<String> = (0..3000).map(|i| format!("k{i} = {i}")).collect();
    let each: String = names.iter().map(|name| format!("{name} = {{ extends = \"many\" }}\n")).collect();
    let refused = message(format!("[template]\nmany = {{ set = {{ {} }} }}\n{each}", settings.join(", ")));
    assert!(refused.contains("one setting too many; expected at most 100000 settings in all"), "{refused}");
}

#[test]
fn tolerances() {
    let cases: &[(&str, &[&str])] = &[
        (
            "tolerance = \"much\"\n",
            &["bad.toml:15: claim.x.tolerance: is a text; expected a number for all published ones, or a table"],
        ),
        ("tolerance = nan\n", &["bad.toml:15: claim.x.tolerance: NaN is not finite; expected a number, such as 0.1"]),
        (
            "tolerance = { \"b: *\" = 0.1 }\n",
            &["bad.toml:15: claim.x.tolerance.b: *: matches no published number; names: \"a: mean\", \"a: last\""],
        ),
    ];
    for (bad, expected) in cases {
        let claim = "[[claim]]\nid = \"x\"\nwhat = \"y\"\npaper = { \"a: mean\" = 1, \"a: last\" = 2 }\n";
        check(&format!("{}{claim}{bad}", start()), expected);
    }
    let patterns: Vec<String> = (0..101).map(|i| format!("\"a*{i}\" = 1")).collect();
    let claim = format!("[[claim]]\nid = \"x\"\nwhat = \"y\"\ntolerance = {{ {} }}\n", patterns.join(", "));
    let refused = diagnose(&format!("{}{claim}", start()), &[]).to_string();
    assert!(refused.contains("claim.x.tolerance: one pattern too many; expected at most 100 names"), "{refused}");
}
