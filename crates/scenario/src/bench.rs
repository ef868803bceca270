//! The benches of `farloop bench`: fixed scenarios, timed.

use crate::error::RunError;
use crate::outcome::Progress;
use crate::run::{Settings, run_with};
use farloop_engine::clock::Instant;
use farloop_net::Cores;

/// A bench: its name, summary and scenario.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its scenario, as text.
    pub scenario: &'static str,
}

/// All benches.
pub const BENCHES: &[Bench] = &[
    Bench { name: "D1", scenario: include_str!("../../../benches/d1.toml") },
    Bench { name: "D2", scenario: include_str!("../../../benches/d2.toml") },
    Bench { name: "D2-tcp", scenario: include_str!("../../../benches/d2-tcp.toml") },
    Bench { name: "D2-multipath", scenario: include_str!("../../../benches/d2-multipath.toml") },
    Bench { name: "hybrid", scenario: include_str!("../../../benches/hybrid.toml") },
    Bench { name: "D3", scenario: include_str!("../../../benches/d3.toml") },
];

/// The measurements of a bench.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measurement {
    /// Packets (data, ACK or control) that arrived at a node.
    pub packet_hops: u64,
    /// Number of parts in which the network was simulated.
    pub parts: usize,
    /// Seconds of wall time from the scenario's text to the result.
    pub wall_s: f64,
    /// Memory for packets over the most packets in flight.
    pub bytes_per_packet_in_flight: u64,
    /// Peak resident memory of the process so far; `None` where the platform does not tell.
    pub peak_rss_bytes: Option<u64>,
}

/// Runs a bench once.
pub fn bench(case: &Bench, cores: Cores, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Measurement, RunError> {
    let start = Instant::now();
    let settings = Settings { cores, ..Settings::default() };
    let outcome = run_with(case.scenario, case.name, &[], &settings, progress)?;
    Ok(Measurement {
        packet_hops: outcome.totals.packet_hops,
        parts: outcome.parts,
        wall_s: start.elapsed().as_secs_f64(),
        bytes_per_packet_in_flight: outcome.totals.bytes_per_packet(),
        peak_rss_bytes: peak_rss(),
    })
}

/// Peak resident memory of this process, from `/proc`.
fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}
