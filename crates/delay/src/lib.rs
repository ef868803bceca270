//! Links in user space: frames that enter an interface leave another one later, in both directions.
//!
//! Linux delays packets with netem, which not every kernel has; this does it from outside. It is there twice:
//!
//! - The testbed's delay line: [`queue`] knows frames and times and nothing of sockets, [`wire`] moves frames between sockets and queues
//!   (Linux only), and [`accidents`] has it lose or delay segments by their number.
//! - The emulator of long links at line rate (`farloop emulate`): [`direction`] is the law of one direction, with its queue, marks and
//!   losses ([`impairments`]). [`frame`] reads, marks and cuts frames, [`joining`] joins those that leave together, [`ring`] has the system
//!   calls, [`emulator`] the loop. [`lateness`] is the distribution of what it measures, and [`probe`] the instruments that check it.

pub mod accidents;
pub mod direction;
#[cfg(target_os = "linux")]
pub mod emulator;
pub mod frame;
pub mod impairments;
pub mod joining;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod probe;
pub mod queue;
#[cfg(target_os = "linux")]
pub mod ring;
#[cfg(target_os = "linux")]
pub mod wire;
