//! Writes `vectors/accecn.jsonl` to standard output: how many marked packets ACKs of all kinds report.
//!
//! ```text
//! cargo run -p farloop-tcp --example accecn_vectors > vectors/accecn.jsonl
//! ```

use farloop_tcp::MarkFacts;
use serde_json::json;

const MSS: u32 = 1448;

fn main() {
    println!("{}", json!({ "format": "farloop accecn vectors", "version": 1 }));
    // All that fits into the field, and every increase of ACKs of more packets.
    for packets in (0..=24).chain([31, 32, 33, 44, 45, 64, 100, 1000]) {
        for increase in 0..8 {
            let facts = MarkFacts {
                packets,
                bytes: packets * MSS,
                increase,
                ce_bytes: None,
                mss: MSS,
                certain: true,
                average: 0,
            };
            // Thinned ACKs: at the bound and beyond it.
            for average in [256, 257] {
                show(&MarkFacts { average, ..facts });
            }
            if packets < 8 {
                continue;
            }
            // The marked bytes of each count that fits the field, one byte beside them, and none.
            let counts = (increase..=packets.min(40)).step_by(8).map(|marked| marked * MSS);
            let all =
                counts.flat_map(|bytes| [bytes, bytes.saturating_sub(1), bytes + 1]).chain([0, packets * MSS / 2]);
            for ce_bytes in all {
                // Whether packets and bytes are certain decides where the field may have gone round twice.
                for certain in if packets < 16 { vec![true] } else { vec![true, false] } {
                    show(&MarkFacts { ce_bytes: Some(ce_bytes), certain, ..facts });
                }
            }
        }
    }
}

fn show(facts: &MarkFacts) {
    println!(
        "{}",
        json!({
            "packets": facts.packets, "bytes": facts.bytes, "increase": facts.increase, "ce_bytes": facts.ce_bytes,
            "mss": facts.mss, "certain": facts.certain, "average": facts.average, "marked": facts.marked_packets(),
        })
    );
}
