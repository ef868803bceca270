//! Users' texts in messages.

use std::borrow::Cow;

/// `text` for a message, on one line: characters that a terminal would obey or would not show are escaped, the middle of
/// more than `max` characters left out. Users' texts can be megabytes long.
pub fn display_clipped(text: &str, max: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    let short: Cow<'_, str> = if count <= max {
        Cow::Borrowed(text)
    } else {
        let (head, tail) = (max * 2 / 3, max / 3);
        let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
        let left_out = count - head - tail;
        Cow::Owned(format!("{}… ({left_out} characters) …{}", &text[..at(head)], &text[at(count - tail)..]))
    };
    if !short.chars().any(is_unsafe) {
        return short;
    }
    let plain = |c: char| if is_unsafe(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(short.chars().map(plain).collect())
}

/// True if a character controls a terminal or the order in which it shows others: controls, line and paragraph separators,
/// and the invisible formats of Unicode, marks of direction (UAX #9) among them.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::display_clipped;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(display_clipped("a\u{1b}[31mb\nc", 80), "a\\u{1b}[31mb\\nc");
        assert_eq!(display_clipped("txt.exe\u{202e}", 80), "txt.exe\\u{202e}");
        assert_eq!(display_clipped("\u{2066}\u{9b}1m", 80), "\\u{2066}\\u{9b}1m");
        assert_eq!(display_clipped("Zürich → 東京 λ", 80), "Zürich → 東京 λ");
    }

    #[test]
    fn the_middle_of_what_is_long_is_left_out() {
        let long = format!("{}{}", "a".repeat(70_000), "expected less");
        let short = display_clipped(&long, 60);
        assert!(short.chars().count() < 100 && short.ends_with("expected less"), "{short}");
    }
}
