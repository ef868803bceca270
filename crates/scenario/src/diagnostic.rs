//! What is wrong with a scenario, where, and what would be accepted.

use std::fmt;

/// The file name that diagnostics about overrides carry.
pub const OVERRIDES: &str = "--set";

/// One problem of a scenario, in words that a newcomer can act on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The scenario file, or [`OVERRIDES`].
    pub file: Box<str>,
    /// Line in the file, from 1; for overrides the number of the override.
    pub line: u32,
    /// Column in the line in characters, from 1.
    pub column: u32,
    /// Dotted path of the key at fault; empty where the file as a whole is.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be accepted, as a phrase: "expected …", "accepted keys: …". Empty where the problem says it.
    pub expected: String,
    /// The nearest valid name.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// A problem with the file as a whole.
    pub fn of_file(file: &str, problem: impl Into<String>, expected: impl Into<String>) -> Diagnostic {
        Diagnostic {
            file: file.into(),
            line: 1,
            column: 1,
            key: String::new(),
            problem: problem.into(),
            expected: expected.into(),
            suggestion: None,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if &*self.file != OVERRIDES {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(name) = &self.suggestion {
            write!(f, "; did you mean \"{name}\"?")?;
        }
        match (self.expected.is_empty(), &self.suggestion) {
            (true, _) => Ok(()),
            (false, Some(_)) => write!(f, " {}", self.expected),
            (false, None) => write!(f, "; {}", self.expected),
        }
    }
}

impl std::error::Error for Diagnostic {}

/// The candidate nearest to `name`, if one is near enough to be meant. Case does not count.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted = name.to_lowercase();
    let distance = |c: &str| strsim::damerau_levenshtein(&wanted, &c.to_lowercase());
    // A third of the longer name may differ: "bottelneck_rate" is near "bottleneck_rate", "x" is near nothing.
    candidates
        .into_iter()
        .map(|c| (distance(c), c))
        .filter(|(d, c)| *d * 3 <= wanted.chars().count().max(c.chars().count()))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c.to_string())
}

/// `words` in quotes, separated by commas; a long list is cut, with the number of the others.
pub(crate) fn listing<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 24;
    let words: Vec<&str> = words.into_iter().collect();
    let shown: Vec<String> = words.iter().take(SHOWN).map(|w| format!("\"{w}\"")).collect();
    let more = words.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_line_key_problem_suggestion_and_what_is_accepted() {
        let d = Diagnostic {
            file: "fig09.toml".into(),
            line: 12,
            column: 3,
            key: "network.bottelneck_rate".into(),
            problem: "unknown key".into(),
            expected: "accepted keys: rate".into(),
            suggestion: Some("bottleneck_rate".into()),
        };
        assert_eq!(
            d.to_string(),
            "fig09.toml:12: network.bottelneck_rate: unknown key; did you mean \"bottleneck_rate\"? accepted keys: rate"
        );
        let plain = Diagnostic { suggestion: None, file: OVERRIDES.into(), ..d };
        assert_eq!(plain.to_string(), "--set: network.bottelneck_rate: unknown key; accepted keys: rate");
    }

    #[test]
    fn only_near_names_are_suggested() {
        let keys = ["rate", "bottleneck_rate", "link_delay"];
        assert_eq!(nearest("bottelneck_rate", keys), Some("bottleneck_rate".into()));
        assert_eq!(nearest("RATE", keys), Some("rate".into()));
        assert_eq!(nearest("colour", keys), None);
    }

    #[test]
    fn long_listings_are_cut() {
        let names: Vec<String> = (0..30).map(|i| format!("h{i}")).collect();
        assert!(listing(names.iter().map(String::as_str)).ends_with("\"h23\" and 6 more"));
    }
}
