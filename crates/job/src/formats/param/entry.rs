//! An operation of a trace: its name, its numbers, and its bytes as farloop counts them.

use crate::job::{Collective, MAX_BYTES};
use serde_json::{Map, Value};

/// The action of a rank for an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Init,
    Wait,
    Collective(Collective),
    AllToAllV,
    Send { waits: bool },
    Receive { waits: bool },
    Batch,
}

/// Operations by name. Letters alone count: `AllReduce` and `allreduce` are `all_reduce`.
const KINDS: [(&str, Kind); 20] = [
    ("init", Kind::Init),
    ("wait", Kind::Wait),
    ("barrier", Kind::Collective(Collective::Barrier)),
    ("all_reduce", Kind::Collective(Collective::AllReduce)),
    ("reduce", Kind::Collective(Collective::Reduce)),
    ("broadcast", Kind::Collective(Collective::Broadcast)),
    ("all_gather", Kind::Collective(Collective::AllGather)),
    ("all_gather_base", Kind::Collective(Collective::AllGather)),
    ("gather", Kind::Collective(Collective::Gather)),
    ("scatter", Kind::Collective(Collective::Scatter)),
    ("reduce_scatter", Kind::Collective(Collective::ReduceScatter)),
    ("reduce_scatter_base", Kind::Collective(Collective::ReduceScatter)),
    ("all_to_all", Kind::Collective(Collective::AllToAll)),
    ("all_to_all_single", Kind::Collective(Collective::AllToAll)),
    ("all_to_allv", Kind::AllToAllV),
    ("send", Kind::Send { waits: true }),
    ("isend", Kind::Send { waits: false }),
    ("recv", Kind::Receive { waits: true }),
    ("irecv", Kind::Receive { waits: false }),
    ("batch_isend_irecv", Kind::Batch),
];

/// Other names of operations.
const ALIASES: [(&str, &str); 2] = [("alltoallbase", "all_to_allv"), ("recvanysource", "recv")];

/// Bytes of an element by its type.
const TYPES: [(&str, u64); 16] = [
    ("float", 4),
    ("float32", 4),
    ("float16", 2),
    ("half", 2),
    ("bfloat16", 2),
    ("float64", 8),
    ("double", 8),
    ("int", 4),
    ("int32", 4),
    ("long", 8),
    ("short", 2),
    ("char", 1),
    ("int8", 1),
    ("byte", 1),
    ("uint8", 1),
    ("bool", 1),
];

/// An operation of a trace.
pub(super) struct Entry(pub(super) Map<String, Value>);

impl Entry {
    /// A value; null is none.
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn natural(&self, key: &str, most: u64) -> Result<Option<u64>, String> {
        self.value(key).map(|value| natural(key, value, most)).transpose()
    }

    pub(super) fn list(&self, key: &str, most: u64) -> Result<Option<Vec<u64>>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let list = value.as_array().ok_or_else(|| format!("{key} {value}: expected a list of numbers"))?;
        list.iter().map(|value| natural(key, value, most)).collect::<Result<_, _>>().map(Some)
    }

    fn text(&self, key: &str) -> Result<Option<&str>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| format!("{key} {value}: expected a word"))
    }

    /// A name that may be a number.
    pub(super) fn id(&self, key: &str) -> Result<Option<String>, String> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(word)) => Ok(Some(word.clone())),
            Some(value) if value.is_i64() || value.is_u64() => Ok(Some(value.to_string())),
            Some(value) => Err(format!("{key} {value}: expected a whole number or a word")),
        }
    }

    pub(super) fn kind(&self) -> Result<Kind, String> {
        let Some(name) = self.text("comms")? else {
            let problem =
                if self.0.contains_key("compute") { "compute: a trace does not have its time" } else { "has no comms" };
            return Err(format!("{problem}; expected comms, the name of a communication"));
        };
        let alias = ALIASES.iter().find(|alias| has_same_letters(alias.0, name)).map_or(name, |alias| alias.1);
        KINDS.iter().find(|kind| has_same_letters(kind.0, alias)).map(|kind| kind.1).ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.0).collect();
            format!("comms \"{}\": expected one of {}", name.escape_debug(), known.join(", "))
        })
    }

    /// Returns true if input and output are one tensor each, of which one is as large as the others of all ranks.
    fn is_of_tensors(&self) -> bool {
        let name = self.value("comms").and_then(Value::as_str).unwrap_or("");
        ["all_gather_base", "reduce_scatter_base"].iter().any(|known| has_same_letters(known, name))
    }

    /// Bytes of an element.
    fn element(&self) -> Result<u64, String> {
        let name = self.text("dtype")?.ok_or("has no dtype; expected the type of its elements")?;
        let lower = name.to_lowercase();
        TYPES.iter().find(|known| known.0 == lower).map(|known| known.1).ok_or_else(|| {
            let known: Vec<&str> = TYPES.iter().map(|known| known.0).collect();
            format!("dtype \"{}\": expected one of {}", name.escape_debug(), known.join(", "))
        })
    }

    /// Elements of its input or output.
    pub(super) fn elements(&self, key: &str) -> Result<u64, String> {
        self.natural(key, MAX_BYTES)?.ok_or_else(|| format!("has no {key}; expected a number of elements"))
    }

    /// Bytes of `elements` elements for each of `members` ranks.
    pub(super) fn bytes(&self, elements: u64, members: u64) -> Result<u64, String> {
        let element = self.element()?;
        let all = elements.checked_mul(element).and_then(|bytes| bytes.checked_mul(members));
        all.filter(|all| *all <= MAX_BYTES).ok_or_else(|| {
            format!(
                "{elements} elements of {element} bytes, times {members}; expected at most {MAX_BYTES} bytes in all"
            )
        })
    }

    /// Bytes of a collective as farloop counts them.
    pub(super) fn collective_bytes(&self, collective: Collective, members: u64) -> Result<u64, String> {
        if collective == Collective::Barrier {
            return Ok(0);
        }
        let (input, output) = (self.elements("in_msg_size")?, self.elements("out_msg_size")?);
        let (small, large) = if collective == Collective::AllGather { (input, output) } else { (output, input) };
        if self.is_of_tensors() && small.checked_mul(members) != Some(large) {
            let text = format!("in_msg_size {input} and out_msg_size {output} of {members} ranks");
            return Err(format!("{text}; expected one to be {members} times the other"));
        }
        match collective {
            Collective::AllGather | Collective::Gather => self.bytes(input, members),
            Collective::Scatter => self.bytes(output, members),
            _ => self.bytes(input, 1),
        }
    }

    /// Bytes for each rank of a group of `members`, by the splits of an `all_to_allv`; `None` where it has none.
    pub(super) fn splits(&self, key: &str, size: &str, members: u64) -> Result<Option<Vec<u64>>, String> {
        let Some(list) = self.list(key, MAX_BYTES)?.filter(|list| !list.is_empty()) else { return Ok(None) };
        if list.len() as u64 != members {
            return Err(format!(
                "{key} has {} numbers; expected one for each of the group's {members} ranks",
                list.len()
            ));
        }
        let (sum, all) = (list.iter().map(|&part| u128::from(part)).sum::<u128>(), self.elements(size)?);
        if sum != u128::from(all) {
            return Err(format!("{key} adds up to {sum}; expected {size}, {all}"));
        }
        // Each part is at most the sum.
        self.bytes(all, 1)?;
        let element = self.element()?;
        Ok(Some(list.into_iter().map(|part| part * element).collect()))
    }
}

/// Returns true if two names are the same but for case and for characters that are no letters.
fn has_same_letters(first: &str, second: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
        name.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase)
    }
    letters(first).eq(letters(second))
}

fn natural(key: &str, value: &Value, most: u64) -> Result<u64, String> {
    value.as_u64().filter(|number| *number <= most).ok_or_else(|| format!("{key} {value}: expected 0 to {most}"))
}
