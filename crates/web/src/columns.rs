//! Columns of numbers beside the JSON that describes them: a series has a million numbers, too many for JSON.

use farloop_scenario::tables::{Column, Table, Tables};
use serde_json::{Map, Value as Json, json};

/// Values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Buffer {
    /// Bytes.
    U8(Vec<u8>),
    /// Unsigned numbers of 32 bits.
    U32(Vec<u32>),
    /// Signed numbers of 64 bits.
    I64(Vec<i64>),
    /// Real numbers.
    F64(Vec<f64>),
}

impl Buffer {
    /// Where its values begin in memory.
    pub fn place(&self) -> *const u8 {
        match self {
            Buffer::U8(values) => values.as_ptr(),
            Buffer::U32(values) => values.as_ptr().cast(),
            Buffer::I64(values) => values.as_ptr().cast(),
            Buffer::F64(values) => values.as_ptr().cast(),
        }
    }

    /// Bytes of its values.
    pub fn size(&self) -> usize {
        match self {
            Buffer::U8(values) => values.len(),
            Buffer::U32(values) => size_of_val(&values[..]),
            Buffer::I64(values) => size_of_val(&values[..]),
            Buffer::F64(values) => size_of_val(&values[..]),
        }
    }
}

/// The buffers of an answer.
#[derive(Default)]
pub(crate) struct Buffers(pub Vec<Buffer>);

impl Buffers {
    /// Keeps the values of all tables; says which columns they are.
    pub fn tables(&mut self, tables: Tables) -> Json {
        let Tables { flows, series, ports, pauses, circuits, queues, iterations, ranks } = tables;
        json!({
            "flows": self.table(flows),
            "series": self.table(series),
            "ports": self.table(ports),
            "pauses": self.table(pauses),
            "circuits": self.table(circuits),
            "queues": self.table(queues),
            "iterations": self.table(iterations),
            "ranks": self.table(ranks),
        })
    }

    /// As [`Buffers::tables`], of one.
    pub fn table(&mut self, table: Table) -> Json {
        let columns = table.into_iter().map(|(name, column)| {
            let described = match column {
                Column::I64(values) => self.column("i64", Buffer::I64(values)),
                Column::OptionalI64(values) => {
                    // No number of a table is that small.
                    let values = values.into_iter().map(|n| n.unwrap_or(i64::MIN)).collect();
                    self.column("i64?", Buffer::I64(values))
                }
                Column::U32(values) => self.column("u32", Buffer::U32(values)),
                Column::F64(values) => self.column("f64", Buffer::F64(values)),
                Column::Dictionary(values, words) => {
                    let mut column = self.column("dict", Buffer::U32(values));
                    column["words"] = words.into();
                    column
                }
                Column::Nothing("i64", rows) => self.column("i64?", Buffer::I64(vec![i64::MIN; rows])),
                Column::Nothing("dict", rows) => {
                    let mut column = self.column("dict", Buffer::U32(vec![0; rows]));
                    column["words"] = json!([""]);
                    column
                }
                Column::Nothing(_, rows) => self.column("f64", Buffer::F64(vec![f64::NAN; rows])),
            };
            (name.to_string(), described)
        });
        columns.collect::<Map<_, _>>().into()
    }

    /// As [`Buffers::tables`], of one column.
    pub fn column(&mut self, kind: &str, values: Buffer) -> Json {
        self.0.push(values);
        json!({ "kind": kind, "buffer": self.0.len() - 1 })
    }
}
