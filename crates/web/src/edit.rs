//! Keys of a scenario's text set to other values, its comments and order kept: the effect of a slider on the TOML
//! beside it.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// `text` with each dotted key set to a value, which is read as TOML, else as text. Elements of lists of tables are addressed by number
/// from 0 (`flow.0.count`), also the only one. A value without any text takes the key out.
///
/// # Errors
/// The text is no TOML, or a path leads through something that is no table.
pub(crate) fn edit_text(text: &str, set: &[(String, String)]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
    for (key, value) in set {
        let path: Vec<&str> = key.split('.').collect();
        put(document.as_table_mut(), &path, value).ok_or_else(|| format!("{key}: no such place in the scenario"))?;
    }
    Ok(document.to_string())
}

fn put(table: &mut dyn TableLike, path: &[&str], value: &str) -> Option<()> {
    let [key, rest @ ..] = path else { return None };
    if rest.is_empty() {
        set(table, key, value);
        return Some(());
    }
    if let [number, inner @ ..] = rest
        && let Ok(number) = number.parse::<usize>()
    {
        return match table.get_mut(key)? {
            Item::ArrayOfTables(tables) => put(tables.get_mut(number)?, inner, value),
            Item::Value(Value::Array(list)) => put(list.get_mut(number)?.as_inline_table_mut()?, inner, value),
            // One table where several are allowed: `[workload]`.
            Item::Table(only) if number == 0 => put(only, inner, value),
            _ => None,
        };
    }
    let inner = table.entry(key).or_insert_with(|| {
        let mut made = Table::new();
        made.set_implicit(false);
        Item::Table(made)
    });
    put(inner.as_table_like_mut()?, rest, value)
}

fn set(table: &mut dyn TableLike, key: &str, value: &str) {
    if value.is_empty() {
        table.remove(key);
        return;
    }
    let mut made = value.parse::<Value>().unwrap_or_else(|_| Value::from(value));
    match table.get_mut(key) {
        // A comment behind the value stays.
        Some(Item::Value(old)) => {
            *made.decor_mut() = old.decor().clone();
            *old = made;
        }
        Some(old) => *old = Item::Value(made),
        None => {
            table.insert(key, Item::Value(made));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, key: &str, value: &str) -> String {
        edit_text(text, &[(key.to_string(), value.to_string())]).expect("a key")
    }

    const TEXT: &str = "# what\nrun.duration = \"1ms\" # short\n[network]\nrate = \"1Gbps\"\n[[flow]]\nfrom = \"s1\"\n";

    #[test]
    fn values_change_in_their_place_and_comments_stay() {
        let longer = after(TEXT, "run.duration", "\"2ms\"");
        assert_eq!(longer, TEXT.replace("\"1ms\"", "\"2ms\""));
        // What is no TOML is text.
        assert_eq!(after(TEXT, "network.rate", "10Gbps"), TEXT.replace("1Gbps", "10Gbps"));
        assert_eq!(after(TEXT, "flow.0.from", "s2"), TEXT.replace("s1", "s2"));
    }

    #[test]
    fn new_keys_and_tables_are_made_and_keys_are_taken_out() {
        assert!(after(TEXT, "network.delay", "1us").contains("rate = \"1Gbps\"\ndelay = \"1us\"\n"));
        assert!(after(TEXT, "switch.pfc", "true").contains("[switch]\npfc = true\n"));
        assert!(!after(TEXT, "network.rate", "").contains("Gbps"));
    }

    #[test]
    fn elements_of_lists_are_found_however_they_are_written() {
        assert_eq!(after("flow = [{ from = \"a\" }]\n", "flow.0.from", "b"), "flow = [{ from = \"b\" }]\n");
        assert_eq!(after("[workload]\nload = 0.1\n", "workload.0.load", "0.2"), "[workload]\nload = 0.2\n");
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let to = |key: &str| edit_text(TEXT, &[(key.to_string(), "1".to_string())]);
        assert!(to("flow.7.from").is_err());
        assert!(to("flow.x.from").is_err());
        assert!(to("network.rate.x").is_err());
        assert!(edit_text("[", &[]).is_err());
    }
}
