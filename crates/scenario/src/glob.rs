//! Patterns for names.

/// Whether `pattern` matches all of `name`: "*" stands for any characters, "?" for any one, everything else for itself.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last "*" and how much of the name it has taken: only this one can need to take more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (p, n) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name) in [
            ("core*", "core12"),
            ("core*", "core"),
            ("*core*", "dc1-core3"),
            ("dc?-core1", "dc0-core1"),
            ("*-1", "agg1-1-1"),
            ("a*b*c", "aXbXbXc"),
            ("*", ""),
            ("é?", "éé"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("core*", "dc0-core1"), ("core?", "core"), ("core?", "core12"), ("a*b", "abc"), ("", "a"), ("tor", "tor1")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
