//! The network, packet by packet: hosts with scheduling NICs, full-duplex links, output-queued switches with a shared buffer, priority
//! flow control, ECN and in-band telemetry, and the endpoints that drive congestion control algorithms over them.
//!
//! [`NetworkSpec`] in, [`RunResult`] out: see [`simulate`]. `docs/network-model.md` describes the model.
//!
//! # A packet's way
//!
//! `sim` runs the parts of the network (`partition`), each with its own calendar (`part`). In a part:
//!
//! 1. A host's NIC (`host`, `nic.rs`) chooses a flow; its sender (`sender.rs`) makes the packet, as its endpoint (`rdma.rs` or `tcp/`) and
//!    its algorithm (`farloop-cc`) allow.
//! 2. The port (`port`) stamps, occupies its transmitter, and puts the packet on the link: only the first packet there is in the calendar.
//! 3. `part.rs` lets it arrive. A PFC frame ends here; anything else goes on to a switch or a host.
//! 4. A switch (`switch`) takes the way out from forwarder and routes, marks from the port's agent and ECN, a place from the buffer
//!    (`buffer.rs`).
//! 5. It passes straight through, or waits in the port's queue, which a discipline may order (`port/discipline/mod.rs`).
//! 6. At its destination the receiver (`receiver.rs`) turns it into the ACK, which goes the same way back.
//! 7. The sender passes the ACK to the algorithm, takes over window and rate, and the NIC puts the flow where it belongs.
//!
//! Circuit switches (`circuit`) stand between 3 and 4: they let a packet pass at once, or lose it.
//!
//! Calls run down this list, never up. The constant parts are those of `farloop-network`, as are the specification and the rows of the
//! result; the counters are in `counters`, each part for itself, and joined at the end. Where observers are registered, `trace` records all
//! these steps for them.

mod build;
mod changes;
mod circuit;
mod counters;
mod deadlock;
mod departures;
mod events;
mod fast_path;
mod host;
mod host_notices;
mod ids;
mod invariants;
mod livelock;
mod memory;
mod packet;
mod part;
mod part_context;
mod partition;
mod pauses;
mod port;
mod port_numbers;
mod queue_names;
mod resumes;
mod sample;
mod sim;
mod switch;
mod ties;
mod trace;
mod watched;
mod worst;

pub use farloop_network::{
    BuildError, CircuitPart, NetworkSpec, RunResult, border_switches, check_links, event_ids, limits, queue_pairs,
    required_headroom, result, route_tables, spec,
};
pub use host::ranks::path::{JobPath, Step, Stretch};
pub use livelock::{Livelock, Offender};
pub use memory::{OutOfMemory, available as available_memory, total as total_memory};
pub use partition::Cores;
pub use sim::{Progress, Simulation, Stopped};

/// Builds and runs `spec` on one thread, without progress reports.
///
/// # Panics
/// There is not enough memory for its packets.
pub fn simulate(spec: NetworkSpec) -> Result<RunResult, BuildError> {
    let simulation = Simulation::new(spec)?;
    Ok(simulation.run(&mut |_| true).unwrap_or_else(|stopped| panic!("{stopped:?}")))
}
