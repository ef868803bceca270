//! Patterns for names.

/// Returns true if `pattern` matches all of `name`: "*" matches any characters, "?" any one, everything else for itself.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (mut p, mut n) = (pattern.chars(), name.chars());
    // Behind the last "*", and the name from where it stops taking: only this one can need to take more.
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let rest = n.clone();
        match (p.next(), n.next()) {
            (Some('*'), _) => {
                star = Some((p.clone(), rest.clone()));
                n = rest;
            }
            (None, None) => return true,
            (Some(wanted), Some(present)) if wanted == '?' || wanted == present => {}
            _ => {
                let Some((behind, taken)) = &mut star else { return false };
                if taken.next().is_none() {
                    return false;
                }
                (p, n) = (behind.clone(), taken.clone());
            }
        }
    }
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
