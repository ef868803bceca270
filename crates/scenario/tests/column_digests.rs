//! Digests of the columns of a run, for programs in other languages and other builds to compare with (`scripts/fuzz_scenarios.py`).

use farloop_scenario::tables::{Column, Tables};

/// The CRC-32 of zlib and gzip (ISO 3309), of which Python has an implementation.
pub fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |rest, _| (rest >> 1) ^ (0xedb8_8320 & (rest & 1).wrapping_neg()))
    })
}

/// The digest of a column's values as little-endian bytes, of missing ones as the smallest number, and of its words, a zero after each.
fn digest(column: &Column) -> u32 {
    match column {
        Column::I64(values) => crc32(values.iter().flat_map(|n| n.to_le_bytes())),
        Column::OptionalI64(values) => crc32(values.iter().flat_map(|n| n.unwrap_or(i64::MIN).to_le_bytes())),
        Column::U32(values) => crc32(values.iter().flat_map(|n| n.to_le_bytes())),
        Column::F64(values) => crc32(values.iter().flat_map(|n| n.to_le_bytes())),
        Column::Dictionary(values, words) => {
            let words = words.iter().flat_map(|word| word.bytes().chain([0]));
            crc32(values.iter().flat_map(|n| n.to_le_bytes()).chain(words))
        }
        Column::Nothing(kind, rows) => crc32(kind.bytes().chain(rows.to_le_bytes())),
    }
}

/// A line for each column: `prefix`, table and column, digest.
pub fn lines(prefix: &str, tables: &Tables) -> String {
    let Tables { flows, series, ports, pauses, circuits, queues, iterations, ranks } = tables;
    let named = [
        ("flows", flows),
        ("series", series),
        ("ports", ports),
        ("pauses", pauses),
        ("circuits", circuits),
        ("queues", queues),
        ("iterations", iterations),
        ("ranks", ranks),
    ];
    let columns = named.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
    columns.map(|(table, (name, column))| format!("{prefix}{table}.{name} {:08x}\n", digest(column))).collect()
}
