//! Tests of several crates share these: numbers of random cases, and results that are stored in files. Nothing that is shipped uses them.

mod pages;

pub use pages::{fill, replace_blocks, update_rows};
use std::path::Path;

/// The variable that sets how many random cases tests draw.
const CASES: &str = "FARLOOP_CASES";
/// The variable that has tests store results instead of comparing with them.
const ACCEPT: &str = "FARLOOP_ACCEPT";

/// The number of random cases for a test that draws `full` of them where time matters less. `FARLOOP_CASES=full` gives all of them, a
/// number gives itself, and without the variable it is a quarter.
///
/// # Panics
///
/// The variable is something else.
pub fn cases(full: u32) -> u32 {
    count(std::env::var(CASES).ok().as_deref(), full)
}

fn count(setting: Option<&str>, full: u32) -> u32 {
    match setting {
        None => full.div_ceil(4),
        Some("full") => full,
        Some(text) => match text.parse() {
            Ok(number) if number > 0 => number,
            _ => panic!("{CASES}={text}: expected full, or a whole number from 1 on"),
        },
    }
}

/// The number that a variable sets, else `otherwise`.
///
/// # Panics
///
/// The variable is no whole number.
pub fn read_number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: expected a whole number")))
}

/// Compares `text` with the file that a test keeps; with `FARLOOP_ACCEPT=1` writes the file instead.
///
/// # Panics
///
/// The file has another text, or cannot be read or written.
pub fn assert_stored(file: impl AsRef<Path>, text: &str) {
    assert_same(file.as_ref(), text, std::env::var_os(ACCEPT).is_some_and(|value| value == "1"));
}

fn assert_same(file: &Path, text: &str, accept: bool) {
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    if stored == text {
        return;
    }
    if accept {
        std::fs::write(file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        return;
    }
    panic!(
        "{} is no longer what comes out; if it should change, run `make accept`\n{}",
        file.display(),
        differences(&stored, text)
    );
}

/// Lines that a message shows at most.
const MAX_SHOWN: usize = 40;

/// The lines in which two texts differ: those of the first behind `-`, those of the second behind `+`. Place by place where both
/// have as many lines; else those that the other text has nowhere.
fn differences(stored: &str, text: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (stored.lines().collect(), text.lines().collect());
    let lines: Vec<String> = if old.len() == new.len() {
        let differ = old.iter().zip(&new).filter(|(a, b)| a != b);
        differ.flat_map(|(a, b)| [format!("- {a}"), format!("+ {b}")]).collect()
    } else {
        let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
        let added = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
        gone.chain(added).collect()
    };
    let rest =
        if lines.len() > MAX_SHOWN { format!("\nand {} lines more", lines.len() - MAX_SHOWN) } else { String::new() };
    format!("{}{rest}", lines[..lines.len().min(MAX_SHOWN)].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_sets_the_number_of_cases() {
        assert_eq!(count(None, 3000), 750);
        assert_eq!(count(None, 2), 1);
        assert_eq!(count(Some("full"), 3000), 3000);
        assert_eq!(count(Some("5"), 3000), 5);
        assert_eq!(count(Some("5000"), 3000), 5000);
    }

    #[test]
    #[should_panic(expected = "FARLOOP_CASES=all: expected full, or a whole number from 1 on")]
    fn another_word_is_refused() {
        count(Some("all"), 10);
    }

    #[test]
    #[should_panic(expected = "FARLOOP_CASES=0: expected full, or a whole number from 1 on")]
    fn no_case_at_all_is_refused() {
        count(Some("0"), 10);
    }

    #[test]
    fn a_stored_text_is_compared_or_replaced() {
        let directory = std::env::temp_dir().join(format!("farloop-stored-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("created");
        let file = directory.join("text.txt");
        assert_same(&file, "a\nb\n", true);
        assert_same(&file, "a\nb\n", false);
        let refused = std::panic::catch_unwind(|| assert_same(&file, "a\nc\n", false)).expect_err("it differs");
        let message = refused.downcast_ref::<String>().expect("a text");
        assert!(message.ends_with("run `make accept`\n- b\n+ c"), "{message}");
        assert_same(&file, "a\nc\n", true);
        assert_same(&file, "a\nc\n", false);
        std::fs::remove_dir_all(&directory).expect("removed");
    }

    #[test]
    fn a_message_shows_some_of_the_lines_that_differ() {
        assert_eq!(differences("a\nb\nc", "a\nd\ne"), "- b\n+ d\n- c\n+ e");
        assert_eq!(differences("a\nb\nc", "a\nc"), "- b");
        assert_eq!(differences("", "a"), "+ a");
        let many: String = (0..50).map(|i| format!("{i}\n")).collect();
        let shown = differences("", &many);
        assert!(shown.ends_with("+ 39\nand 10 lines more"), "{shown}");
    }
}
