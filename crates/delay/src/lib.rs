//! The delay line of the testbed: a frame that enters an interface leaves another one a fixed time later, in both
//! directions.
//!
//! Linux delays packets with netem, which not every kernel has; this does it from outside. [`queue`] knows frames and times and nothing of
//! sockets: what is due when, what has no room, how late it all was. [`wire`] moves frames between sockets and queues, on Linux only.
//! [`accidents`] has it lose or delay segments by their number; otherwise frames are not looked into.

pub mod accidents;
pub mod queue;
#[cfg(target_os = "linux")]
pub mod wire;
