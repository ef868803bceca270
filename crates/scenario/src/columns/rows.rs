//! Rows of a result, from which a table computes its columns.

use super::declaration::Words;
use crate::run_names::Names;
use farloop_net::RunResult;
use farloop_net::result::{Gear, PortRow};

/// Rows of one kind, with the result that they are part of and the names of its run.
pub(crate) struct Rows<'a, R> {
    pub names: &'a Names,
    pub result: &'a RunResult,
    pub rows: &'a [R],
}

impl<R> Rows<'_, R> {
    /// The simulator that made the result.
    pub fn gear(&self) -> Gear {
        self.result.gear
    }

    /// A value of each row.
    pub fn map<T>(&self, value: impl Fn(&R) -> T) -> Vec<T> {
        self.rows.iter().map(value).collect()
    }

    /// A whole number of each row.
    pub fn ints(&self, number: impl Fn(&R) -> u64) -> Vec<i64> {
        self.map(|row| number(row) as i64)
    }

    /// A whole number of each row that has one.
    pub fn optional(&self, number: impl Fn(&R) -> Option<u64>) -> Vec<Option<i64>> {
        self.map(|row| number(row).map(|n| n as i64))
    }

    /// A word of each row, by its index.
    pub fn words(&self, index: impl Fn(&R) -> u32, words: &[String]) -> Words {
        Words(self.map(index), words.to_vec())
    }

    /// A node of each row.
    pub fn nodes(&self, node: impl Fn(&R) -> u32) -> Words {
        self.words(node, &self.names.nodes)
    }

    /// The row of a port.
    pub fn port(&self, port: u32) -> &PortRow {
        &self.result.ports[port as usize]
    }
}
