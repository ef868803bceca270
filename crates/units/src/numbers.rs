//! Sets of packet numbers in words: "5", "5, 7-9", "20-100/4", "3-".

use crate::params::{Kind, ParamType, Value, mismatch};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A set of numbers, counted from 1: numbers and ranges, each with a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers(Arc<[Run]>);

/// Every `step`th number from `first` to `last`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    first: u64,
    last: u64,
    step: u64,
}

/// The accepted form.
const EXPECTED: &str =
    "numbers from 1 and ranges, such as \"5, 7-9\", \"3-\" (from the third on) or \"1-100/4\" (each fourth of them)";

/// Most entries of a set: each packet is held to all of them.
const MAX_ENTRIES: usize = 1000;

impl Numbers {
    /// True if `number` is one of them.
    pub fn contains(&self, number: u64) -> bool {
        let holds =
            |run: &Run| run.first <= number && number <= run.last && (number - run.first).is_multiple_of(run.step);
        self.0.iter().any(holds)
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbers, String> {
        let refused = || format!("\"{text}\" is not accepted; expected {EXPECTED}");
        let number = |digits: &str| match digits.trim() {
            digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse::<u64>().ok().filter(|n| *n > 0),
            _ => None,
        };
        let run = |entry: &str| {
            let (range, step) = match entry.split_once('/') {
                Some((range, step)) if range.contains('-') => (range, number(step)?),
                Some(_) => return None,
                None => (entry, 1),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) if last.trim().is_empty() => (number(first)?, u64::MAX),
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(range)?, number(range)?),
            };
            (first <= last).then_some(Run { first, last, step })
        };
        let runs: Option<Vec<Run>> = text.split(',').map(run).collect();
        match runs {
            Some(runs) if runs.len() > MAX_ENTRIES => {
                Err(format!("there are {} entries; expected at most {MAX_ENTRIES}", runs.len()))
            }
            Some(runs) => Ok(Numbers(runs.into())),
            None => Err(refused()),
        }
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Run { first, last, step }) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            match *last {
                u64::MAX => write!(f, "{first}-")?,
                last if last == *first => write!(f, "{first}")?,
                last => write!(f, "{first}-{last}")?,
            }
            if *step > 1 && first != last {
                write!(f, "/{step}")?;
            }
        }
        Ok(())
    }
}

impl ParamType for Numbers {
    const KIND: Kind = Kind::Text;
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) => text.parse(),
            // Command lines have no quotes around one number.
            Value::Int(number) => number.to_string().parse(),
            other => mismatch(other, EXPECTED),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ranges_and_steps() {
        let first_of = |text: &str| -> Vec<u64> {
            let numbers: Numbers = text.parse().expect("accepted");
            (0..20).filter(|n| numbers.contains(*n)).collect()
        };
        assert_eq!(first_of("5"), [5]);
        assert_eq!(first_of(" 2 ,7-9,8"), [2, 7, 8, 9]);
        assert_eq!(first_of("16-"), [16, 17, 18, 19]);
        assert_eq!(first_of("3-11/4"), [3, 7, 11]);
        assert_eq!(first_of("3-12/4, 1"), [1, 3, 7, 11]);
        assert_eq!(first_of("15-/2"), [15, 17, 19]);
        for text in ["5", "2, 7-9", "3-11/4", "16-", "15-/2"] {
            assert_eq!(text.parse::<Numbers>().map(|n| n.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "0", "-3", "+3", "5-3", "1,,2", "1-9/0", "5/2", "a", "1 2", "18446744073709551616", "1-2-3"] {
            let refused = text.parse::<Numbers>().expect_err(text);
            assert!(refused.contains("expected numbers from 1 and ranges"), "{refused}");
        }
        assert!(vec!["1"; MAX_ENTRIES + 1].join(",").parse::<Numbers>().is_err());
    }
}
