//! Replays `vectors/accecn.jsonl`: every ACK must be read as recorded.

use farloop_tcp::MarkFacts;
use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/accecn.jsonl");

#[test]
fn the_recorded_counts_come_out_again() {
    let text = std::fs::read_to_string(FILE).unwrap_or_else(|error| panic!("{FILE}: {error}"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(r#"{"format":"farloop accecn vectors","version":1}"#));
    let (mut read, mut wrapped) = (0, 0);
    for line in lines {
        let line: Value = serde_json::from_str(line).expect("one JSON object per line");
        let number = |key: &str| u32::try_from(line[key].as_u64().expect(key)).expect(key);
        let facts = MarkFacts {
            packets: number("packets"),
            bytes: number("bytes"),
            increase: number("increase"),
            ce_bytes: (!line["ce_bytes"].is_null()).then(|| number("ce_bytes")),
            mss: number("mss"),
            certain: line["certain"].as_bool().expect("certain"),
            average: number("average"),
        };
        let marked = facts.marked_packets();
        assert_eq!(marked, number("marked"), "{line}");
        assert_eq!((marked.wrapping_sub(facts.increase)) % 8, 0, "{line}");
        (read, wrapped) = (read + 1, wrapped + u32::from(marked > 7));
    }
    assert!(read > 3000 && wrapped > 1500, "{read} lines, {wrapped} of more than seven marks");
}
