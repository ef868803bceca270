//! Parts of a page in Markdown that are made from the code: rows of tables, and blocks between two comments.

/// The page with other text between `<!-- NAME -->` and the next `<!-- end -->`, for each name of `blocks`.
///
/// # Panics
///
/// The page does not have both comments once, each on a line of its own.
pub fn replace_blocks(page: &str, blocks: &[(&str, String)]) -> String {
    let mut page = page.to_string();
    for (name, text) in blocks {
        let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->\n");
        let mut parts = page.split(&begin);
        let (Some(before), Some(rest), None) = (parts.next(), parts.next(), parts.next()) else {
            panic!("the page needs one line: {begin}");
        };
        let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("no line {end} follows {begin}"));
        page = format!("{before}{begin}\n{}\n\n{end}{after}", text.trim_matches('\n'));
    }
    page
}

/// Text filled into lines of at most 140 characters, which is the width of the pages.
pub fn fill(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= 140 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines.join("\n")
}

/// The page with these rows. A row that the page has stays where it is. One that differs replaces the row with the same first cell, in the
/// table that has most of the first cells; a new one comes after the row before it in `rows`.
///
/// # Panics
///
/// No table has a first cell in common with the rows.
pub fn update_rows(page: &str, rows: &[String]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_string).collect();
    let mut previous: Option<&str> = None;
    for row in rows {
        if !lines.contains(row) {
            let (begin, end) = best_table(&lines, rows);
            let place = |cell: &str| (begin..end).find(|i| first_cell(&lines[*i]) == cell);
            match place(first_cell(row)) {
                Some(old) => lines[old].clone_from(row),
                // Behind the head of two lines where it is the first.
                None => lines.insert(previous.and_then(place).unwrap_or(begin + 1) + 1, row.clone()),
            }
        }
        previous = Some(first_cell(row));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn first_cell(line: &str) -> &str {
    line.trim_start_matches('|').split('|').next().unwrap_or_default().trim()
}

/// Begin and end of the table with most rows of the same first cells; among equals the one with most of the whole rows.
fn best_table(lines: &[String], rows: &[String]) -> (usize, usize) {
    let mut best = ((0, 0), (0, 0));
    let mut begin = 0;
    while begin < lines.len() {
        let length = lines[begin..].iter().take_while(|line| line.starts_with('|')).count();
        let table = &lines[begin..begin + length];
        let same = rows.iter().filter(|row| table.iter().any(|line| first_cell(line) == first_cell(row))).count();
        let whole = rows.iter().filter(|row| table.contains(row)).count();
        best = best.max(((same, whole), (begin, begin + length)));
        begin += length.max(1);
    }
    assert!(best.0.0 > 0, "no table of the page has one of these rows; begin it with the first:\n{}", rows.join("\n"));
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
Words.

| key | default |
| --- | --- |
| `a` | 1 |
| `c` | 3 |

| key | default |
| --- | --- |
| `a` | 10 |
";

    fn updated(rows: &[&str]) -> String {
        update_rows(PAGE, &rows.iter().map(|row| row.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn a_page_that_has_the_rows_stays_as_it_is() {
        assert_eq!(updated(&["| `a` | 10 |"]), PAGE);
        assert_eq!(updated(&["| `a` | 1 |", "| `c` | 3 |"]), PAGE);
    }

    #[test]
    fn rows_are_replaced_and_inserted_in_their_table() {
        let rows = ["| `a` | 1 |", "| `b` | 2 |", "| `c` | 4 |"];
        assert_eq!(updated(&rows), PAGE.replace("| `c` | 3 |", "| `b` | 2 |\n| `c` | 4 |"));
        let rows = ["| `0` | 0 |", "| `a` | 1 |", "| `c` | 3 |"];
        assert_eq!(updated(&rows), PAGE.replace("| `a` | 1 |", "| `0` | 0 |\n| `a` | 1 |"));
    }

    #[test]
    #[should_panic(expected = "begin it with the first:\n| `z` | 1 |")]
    fn rows_without_a_table_are_refused() {
        updated(&["| `z` | 1 |"]);
    }

    const BLOCKS: &str = "Before.\n<!-- keys -->\nold\n<!-- end -->\nBetween.\n<!-- other -->\n<!-- end -->\n";

    #[test]
    fn blocks_are_replaced() {
        let page = replace_blocks(BLOCKS, &[("keys", "| a |".to_string())]);
        assert_eq!(page, BLOCKS.replace("\nold\n", "\n\n| a |\n\n"));
        assert_eq!(replace_blocks(&page, &[("keys", "| a |\n".to_string())]), page);
    }

    #[test]
    #[should_panic(expected = "the page needs one line: <!-- missing -->")]
    fn a_block_that_the_page_lacks_is_refused() {
        replace_blocks(BLOCKS, &[("missing", String::new())]);
    }

    #[test]
    fn text_is_filled_to_the_width_of_pages() {
        let text = "word ".repeat(30);
        let lines: Vec<String> = fill(&text).lines().map(str::to_string).collect();
        assert_eq!(lines, ["word ".repeat(28).trim(), "word word"]);
    }
}
