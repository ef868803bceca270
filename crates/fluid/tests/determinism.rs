//! The same bytes twice.

use crate::common::{algorithm, equal_star, flow, run};
use farloop_network::spec::{FlowSpec, NetworkSpec};
use farloop_units::{Bytes, Time};

/// Forty flows between eight hosts.
fn mix(name: &str, seed: u64) -> NetworkSpec {
    let flows = (0..40u64).map(|i| FlowSpec {
        start: Time::from_ps(i * 3_000_000),
        size: Bytes::new(1_000 + i * i * 3_000),
        ..flow((i % 7) as u32, ((i * 3 + 1) % 7) as u32 + u32::from(i % 7 == (i * 3 + 1) % 7), 0)
    });
    NetworkSpec { seed, ..equal_star(8, algorithm(name), flows.collect()) }
}

#[test]
fn runs_repeat_to_the_byte_and_seeds_differ() {
    for name in ["dctcp", "hpcc", "dcqcn"] {
        assert_eq!(run(mix(name, 1)), run(mix(name, 1)), "{name}");
    }
    // Marks are rounded to packets by chance.
    assert_ne!(run(mix("dctcp", 1)).flows, run(mix("dctcp", 2)).flows);
}
