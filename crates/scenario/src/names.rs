//! Rules for names, so that overrides and lists can address them.

use crate::diagnostic::{Diagnostic, listing};
use crate::reader::Section;
use crate::sections::SELECTION_WORDS;

/// Most characters of a name: it becomes part of messages, labels and names of files.
pub(crate) const MAX_NAME_LENGTH: usize = 100;

/// Refuses names that could not be addressed in overrides and lists.
pub(crate) fn check_name(section: &Section<'_>, key: &str, name: &str) -> Result<(), Diagnostic> {
    name_problem(name).map_or(Ok(()), |(problem, expected)| Err(section.diagnostic(key, problem, expected)))
}

/// The reason why overrides and lists could not address a name, and the accepted form.
pub(crate) fn name_problem(name: &str) -> Option<(String, String)> {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name.chars().count() > MAX_NAME_LENGTH {
        let problem = format!("\"{name}\" cannot be a name");
        return Some((problem, format!("expected at most {MAX_NAME_LENGTH} characters")));
    }
    (name.is_empty() || !name.chars().all(plain) || SELECTION_WORDS.contains(&name)).then(|| {
        let expected = format!("expected letters, digits, \"_\" and \"-\", and none of {}", words());
        (format!("\"{name}\" cannot be a name"), expected)
    })
}

fn words() -> String {
    listing(SELECTION_WORDS.iter().copied())
}
