//! An error in a scenario: the problem, its place, and the accepted form.

pub(crate) use farloop_units::display_clipped;
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
    /// The problem.
    pub problem: String,
    /// The accepted form, as a phrase: "expected …", "accepted keys: …". Empty where the problem says it.
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
        write!(f, "{}", display_clipped(&self.file, 4096))?;
        if &*self.file != OVERRIDES {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", display_clipped(&self.key, 100))?;
        }
        write!(f, ": {}", display_clipped(&self.problem, 400))?;
        if let Some(name) = &self.suggestion {
            write!(f, "; did you mean \"{}\"?", display_clipped(name, 100))?;
        }
        match (self.expected.is_empty(), &self.suggestion) {
            (true, _) => Ok(()),
            (false, Some(_)) => write!(f, " {}", display_clipped(&self.expected, 2000)),
            (false, None) => write!(f, "; {}", display_clipped(&self.expected, 2000)),
        }
    }
}

impl std::error::Error for Diagnostic {}

/// The candidate nearest to `name`, if one is near enough to be meant. Case does not count.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // No name is that long, and the distance takes time in proportion.
    if name.len() > 200 {
        return None;
    }
    let wanted = name.to_lowercase();
    let distance = |c: &str| strsim::damerau_levenshtein(&wanted, &c.to_lowercase());
    // A third of the longer name may differ, and a little more where the first letter is right: "bottelneck_rate" is near
    // "bottleneck_rate", "dqcqn" near "dcqcn", "x" near nothing.
    let begins_alike = |c: &str| c.to_lowercase().chars().next() == wanted.chars().next();
    let is_near = |d: usize, c: &str| {
        let longer = wanted.chars().count().max(c.chars().count());
        d * 3 <= longer || (d * 5 <= longer * 2 && begins_alike(c))
    };
    candidates
        .into_iter()
        .map(|c| (distance(c), c))
        .filter(|(d, c)| is_near(*d, c))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c.to_string())
}

/// `words` in quotes, separated by commas; a long list is cut, with the number of the others.
pub(crate) fn listing<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 24;
    let words: Vec<&str> = words.into_iter().collect();
    let first: Vec<String> = words.iter().take(SHOWN).map(|w| format!("\"{}\"", display_clipped(w, 60))).collect();
    let more = words.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", first.join(", ")) } else { first.join(", ") }
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
        assert_eq!(nearest("dqcqn", ["hpcc", "dcqcn", "dctcp"]), Some("dcqcn".into()));
        assert_eq!(nearest("x", ["y", "xy"]), None);
    }

    #[test]
    fn what_users_wrote_at_length_is_cut() {
        assert_eq!(display_clipped("abc", 3), "abc");
        assert_eq!(display_clipped("abcdefghij", 6), "abcd… (4 characters) …ij");
        assert_eq!(display_clipped("ééééééé", 3), "éé… (4 characters) …é");
        assert_eq!(display_clipped("a\nb\u{0}\u{1b}[2J", 40), "a\\nb\\u{0}\\u{1b}[2J");
        let mut d = Diagnostic::of_file("a.toml", "x".repeat(5_000_000), "y".repeat(5_000_000));
        d.key = "k".repeat(5_000_000);
        assert!(d.to_string().len() < 3000);
        assert_eq!(nearest(&"r".repeat(5_000_000), ["rate"]), None);
    }

    #[test]
    fn long_listings_are_cut() {
        let names: Vec<String> = (0..30).map(|i| format!("h{i}")).collect();
        assert!(listing(names.iter().map(String::as_str)).ends_with("\"h23\" and 6 more"));
    }
}
