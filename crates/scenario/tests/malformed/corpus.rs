//! A corpus of malformed files, made from valid ones: every key with values of every wrong kind, misspelt, twice, gone; every section
//! misspelt and twice; files cut off anywhere, and files that are none. Each is refused with one clear message that names the line, or it
//! is still a scenario; none panics.

use farloop_scenario::{Diagnostic, parse};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SAMPLES: [&str; 6] = [
    include_str!("../example.toml"),
    include_str!("../links.toml"),
    include_str!("../hybrid.toml"),
    include_str!("../fat-tree.toml"),
    include_str!("../datacenters.toml"),
    include_str!("../workloads.toml"),
];

/// What stands in for values: right for some keys, wrong for most.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "5", "-1", "-0.0", "0", "1e308", "nan", "inf", "-inf", "true", "\"\"", "\" \"", "\"x\"", "\"none\"", "\"-1us\"", "\"0s\"",
    "\"1__0us\"", "\"1 0us\"", "\"1us1us\"", "\"1e3us\"", "\"1.5B\"", "\"0x10B\"", "\"١us\"", "\"99999999999999999999999GB\"", "\"5Gbps\"", "\"5MB\"",
    "\"5us\"", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "[]", "[[]]", "[1, \"a\"]", "[\"a\", \"a\"]", "{}",
    "{ a = 1 }", "07:32:00", "\"\\u0000\"", "\"\\u001b[2J\"", "\"a\\nb\"", "\"../x\"", "\"a.b\"", "\"😀\"", "'''\n'''", "\"", "=", "", "[", "{",
    "x", "\"\\q\"", "2024-13-45", "\"\\uD800\"", "1_", "0b2", "+", "\"*\"", "\"auto\"", "[\"none\"]",
];

/// Refused, or accepted; either without a panic, and a refusal in one line of bearable length that names file and line.
fn examine(text: &str) -> Option<Diagnostic> {
    let outcome = catch_unwind(AssertUnwindSafe(|| parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop))));
    let Ok(outcome) = outcome else { panic!("a panic over:\n{:.3000}", text) };
    let diagnostic = outcome.err()?;
    let message = diagnostic.to_string();
    let lines = text.matches('\n').count() + 1;
    assert!(message.starts_with(&format!("bad.toml:{}: ", diagnostic.line)), "{message}");
    assert!((1..=lines).contains(&(diagnostic.line as usize)), "line {} of {lines}: {message}", diagnostic.line);
    assert!(message.chars().count() < 3000 && !message.chars().any(char::is_control), "{message}");
    assert!(!diagnostic.problem.is_empty());
    Some(diagnostic)
}

/// The lines with one replaced by others, or by none.
fn with(lines: &[&str], at: usize, new: &[&str]) -> String {
    [&lines[..at], new, &lines[at + 1..]].concat().join("\n") + "\n"
}

/// Every line `key = value` of every sample: the sample's lines, the number, key and value.
fn keys() -> impl Iterator<Item = (Vec<&'static str>, usize, &'static str, &'static str)> {
    SAMPLES.into_iter().flat_map(|sample| {
        let lines: Vec<&str> = sample.lines().collect();
        let of = |(at, line): (usize, &'static str)| {
            let (key, value) = line.split_once(" = ")?;
            Some((at, key, value))
        };
        let assignments: Vec<_> = lines.iter().copied().enumerate().filter_map(of).collect();
        assignments.into_iter().map(move |(at, key, value)| (lines.clone(), at, key, value)).collect::<Vec<_>>()
    })
}

#[test]
fn the_samples_themselves_are_good() {
    assert!(keys().count() > 100);
    for sample in SAMPLES {
        assert_eq!(examine(sample), None);
    }
}

#[test]
fn every_key_with_every_value() {
    let (mut refused, mut all) = (0, 0);
    for (lines, at, key, _) in keys() {
        for value in VALUES {
            let text = with(&lines, at, &[&format!("{key} = {value}")]);
            refused += u32::from(examine(&text).is_some());
            all += 1;
        }
        // No key takes a date; and what is no TOML is none of any key's business.
        for value in ["1979-05-27", "1979-05-27T07:32:00Z", "[1979-05-27]", "\"unclosed", "'", "[1,", "{ a = ", "5 5"] {
            let diagnostic = examine(&with(&lines, at, &[&format!("{key} = {value}")]));
            let Some(diagnostic) = diagnostic else { panic!("{key} = {value} was accepted") };
            assert!(diagnostic.line as usize > at, "{key} = {value}: {diagnostic}");
        }
    }
    assert!(refused * 10 > all * 7, "{refused} of {all} were refused");
}

#[test]
fn every_key_misspelt_twice_and_gone() {
    let (mut exact, mut all) = (0, 0);
    for (lines, at, key, value) in keys() {
        for wrong in
            [format!("{key}x"), format!("x{key}"), key.to_uppercase(), "\"\"".to_string(), format!("\"{key} \"")]
        {
            let diagnostic = examine(&with(&lines, at, &[&format!("{wrong} = {value}")]));
            let Some(diagnostic) = diagnostic else { panic!("{wrong} was accepted") };
            all += 1;
            exact += u32::from(diagnostic.line as usize == at + 1);
        }
        let twice = examine(&with(&lines, at, &[lines[at], lines[at]])).expect("refused");
        assert!(twice.to_string().contains("duplicate key") && twice.line as usize == at + 2, "{twice}");
        examine(&with(&lines, at, &[]));
        examine(&with(&lines, at, &[&format!("{key}.x = {value}")]));
        examine(&with(&lines, at, &[&format!("{key} =")])).expect("refused");
        examine(&with(&lines, at, &[&format!("{key} {value}")])).expect("refused");
    }
    // A few are found by what they leave out.
    assert!(exact * 10 > all * 9, "{exact} of {all} are named with their line");
}

#[test]
fn every_section_misspelt_emptied_and_twice() {
    for sample in SAMPLES {
        let lines: Vec<&str> = sample.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, l)| l.starts_with('[')) {
            let name = line.trim_matches(['[', ']']);
            for wrong in [
                format!("[{name}x]"),
                format!("[[{name}x]]"),
                format!("[x.{name}]"),
                format!("[{name}"),
                format!("[[{name}]"),
                format!("[{name}.{name}]"),
                "[]".to_string(),
                "[[]]".to_string(),
                "[.]".to_string(),
            ] {
                let Some(diagnostic) = examine(&with(&lines, at, &[&wrong])) else { panic!("{wrong} was accepted") };
                assert!(!diagnostic.to_string().is_empty());
            }
            // A section of another shape, and the same section again.
            let other = if line.starts_with("[[") { format!("[{name}]") } else { format!("[[{name}]]") };
            examine(&with(&lines, at, &[&other]));
            let twice = examine(&(sample.to_string() + "\n" + line + "\nnonsense = 1\n")).expect("refused");
            assert!(twice.line as usize > lines.len(), "{twice}");
            examine(&with(&lines, at, &[]));
        }
    }
}

#[test]
fn files_cut_off_anywhere() {
    for sample in SAMPLES {
        for end in (0..sample.len()).step_by(5).filter(|end| sample.is_char_boundary(*end)) {
            examine(&sample[..end]);
            examine(&sample[end..]);
        }
        let bytes = sample.replace('\n', "\r\n");
        assert_eq!(examine(&bytes), None, "line ends of Windows");
        assert_eq!(examine(&("\u{feff}".to_string() + sample)), None, "a byte order mark");
        examine(&sample.replace('\n', "\r")).expect("refused");
        examine(&sample.replace(' ', "\u{a0}")).expect("refused");
        examine(&sample.replace('"', "”")).expect("refused");
        examine(&sample.replace('=', ":")).expect("refused");
    }
}

#[test]
fn files_that_are_none() {
    for text in [
        "",
        "\n",
        " \t\r\n \n",
        "\0",
        "\u{feff}",
        "\u{feff}\u{feff}",
        "PK\u{3}\u{4}\u{14}\0\0\0",
        "\u{7f}ELF\u{2}\u{1}",
        "{\"run\": 1}",
        "<xml/>",
        "run:\n  duration: 1ms\n",
        "#!/bin/sh\n",
        "# only a comment",
        "[run]",
        "[run]\nduration = \"1ms\"",
        "=",
        "\"",
        "'''",
        "[[[",
        "]]]",
        "\\",
    ] {
        examine(text).unwrap_or_else(|| panic!("{text:?} was accepted"));
    }
}

#[test]
fn files_beyond_measure() {
    let valid = "algorithm.name = \"fixed\"\nrun.duration = \"1us\"\n";
    let long = "x".repeat(5_000_000);
    for text in [
        format!("{long} = 1"),
        format!("[{long}]"),
        format!("[run]\n{long} = 1\n"),
        format!("[run]\nduration = \"{long}\"\n"),
        format!("{valid}network.topology = \"{long}\"\n"),
        format!("{valid}title = \"{long}\"\n"),
        format!("{valid}[[flow]]\nname = \"{long}\"\nfrom = \"s1\"\nto = \"d1\"\n"),
        format!("{valid}[[flow]]\nfrom = \"{long}\"\nto = \"d1\"\n"),
        format!("{valid}[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n[record]\nports = [\"{long}\"]\n"),
        format!("{valid}[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n[record]\nflows = [\"{long}\"]\n"),
        format!("{valid}[[switch_override]]\nmatch = \"{}\"\n", "*".repeat(100_000)),
        format!("{valid}[workload]\nsizes = \"{long}\"\n"),
        format!("{valid}[workload]\nhosts = \"{long}\"\n"),
        format!("{valid}[algorithm.{long}]\n"),
        format!("run.duration = \"{}us\"\n", "9".repeat(1_000_000)),
        format!("run.duration = {}\n", "9".repeat(1_000_000)),
        "[".repeat(100_000),
        "[[".repeat(100_000),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a = {}", "{ a = ".repeat(100_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
        (0..100_000).map(|i| format!("[t{i}]\n")).collect(),
        (0..100_000).map(|i| format!("k{i} = {i}\n")).collect(),
        format!("{valid}{}", "[[nodes]]\n".repeat(100_000)),
        format!("{valid}{}", "[[flow]]\n".repeat(100_000)),
        format!(
            "{valid}[figure]\nid = \"a/b\"\n{}",
            (0..2000).map(|i| format!("[[case]]\nname = \"{i}\"\n")).collect::<String>()
        ),
    ] {
        examine(&text).unwrap_or_else(|| panic!("accepted: {text:.200}"));
    }
}
