//! Records of chosen packets and flows, for other people's viewers.
//!
//! A simulation asks its [`Tracer`] if a port or a flow is of interest ([`Tracer::wants_port`], [`Tracer::wants_flow`]: one
//! bit test each) and gives it [`Record`]s. The tracer keeps the newest of them, a bounded number. The parts of one
//! simulation have a tracer each, on their own threads; [`join`] puts their records into one order that does not depend on
//! how the simulation was cut. [`perfetto`] and [`pcapng`] write the joined [`Trace`].
//!
//! [`TraceSpec`] reads a filter from words such as `flows=intra`, `ports=s1:*`, `window=10ms..12ms`, `limit=1000000`.
//!
//! This crate knows nothing of the network: ports, hosts and flows are numbers, which [`Names`] gives names.

mod cause;
mod frame;
mod names;
pub mod pcapng;
pub mod perfetto;
mod record;
mod spec;
mod tracer;
pub mod why;

pub use cause::Cause;
pub use names::{FlowName, Names, Protocol};
pub use record::{Ecn, Event, Packet, PacketKind, Place, Record, TcpFlags};
pub use spec::{Resolver, SpecError, TraceSpec};
pub use tracer::{Choice, Filter, Trace, Tracer, join};
