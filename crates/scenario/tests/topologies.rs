//! The example networks of all topologies, in a file for the tests of drawings.

use farloop_scenario::topologies;
use farloop_test_support::assert_stored;
use std::fmt::Write;

#[test]
fn examples_are_the_stored_ones() {
    let mut text = "# Written by `make accept` from the topologies' declarations.\n".to_string();
    for info in topologies() {
        for example in info.examples {
            let _ = write!(text, "\n[\"{}\"]\nnetwork = '''\n{}'''\n", example.name, info.network(example));
        }
    }
    assert_stored(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stored/topologies.toml"), &text);
}
