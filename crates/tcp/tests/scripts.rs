//! Hand-written packet exchanges: every file in `tests/scripts`, one case each. The language is described in `script/parse.rs`.

mod script;

use script::{parse, run};
use std::path::PathBuf;

fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(&folder).expect("the folder of scripts is there");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("it can be read").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "script"));
    files.sort();
    files
}

#[test]
fn all_scripts_pass() {
    let files = files();
    assert!(files.len() >= 40, "only {} scripts found", files.len());
    let mut failures = Vec::new();
    for file in &files {
        let name = file.file_name().expect("files have names").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("scripts are text");
        if let Err(problem) = parse::parse(&name, &text).and_then(|script| run::run(&script)) {
            failures.push(problem);
        }
    }
    assert!(failures.is_empty(), "{} of {} scripts fail:\n{}", failures.len(), files.len(), failures.join("\n"));
}

/// The runner must notice: each of these scripts is wrong, and the message names file and line.
#[test]
fn wrong_scripts_are_noticed() {
    let head = "rfc RFC 0\nshows nothing\nset mss 1000\ncwnd 2\n";
    for (body, message) in [
        ("0 write 2000\n0 > 0:1000\n", "x.script:7: not expected: 1000:2000 at 0ms"),
        ("0 write 1000\n0 > 0:2000\n", "x.script:6: expected 1000:2000, but nothing is sent"),
        ("0 write 1000\n0 > 0:1000 again\n", "x.script:6: expected 0:1000 again, but 0:1000 is sent"),
        ("0 write 1000\n1ms > 0:1000\n", "x.script:6: not expected: 0:1000 at 0ms"),
        ("0 write 1000\n0 > 0:1000\n0 expect pipe 2000\n", "x.script:7: pipe is 1000, not 2000"),
        ("0 write 1000\n0 > 0:1000\n2s expect una 0\n", "x.script:7: not expected: event timeout at 1000ms"),
        ("0 write 1000\n0 > 0:1000\n0 event timeout\n", "x.script:7: expected event timeout, but there is none"),
        ("0 writ 1000\n", "x.script:5: unknown action \"writ\""),
        ("0 write 1000 B\n", "x.script:5: too much: \"B\""),
        ("soon write 1000\n", "x.script:5: \"soon\" is no time"),
        ("0 < ack 1000 sack 3000\n", "x.script:5: \"3000\" is no range"),
        ("0 expect colour 3\n", "x.script:5: unknown quantity \"colour\""),
        ("set color red\n", "x.script:5: unknown setting \"color\""),
        ("set frto maybe\n", "x.script:5: \"maybe\" is neither on nor off"),
        ("1ms write 1000\n0 close\n", "x.script:6: time goes backwards"),
    ] {
        let result = parse::parse("x.script", &format!("{head}{body}")).and_then(|script| run::run(&script));
        let problem = result.expect_err(body);
        assert_eq!(problem, message, "{body}");
    }
    let result = parse::parse("x.script", "shows nothing\n");
    assert_eq!(result.err().as_deref(), Some("x.script:1: the first line must be \"rfc ...\""));
}
