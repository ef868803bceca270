//! TCP in the network: drives the endpoints of `farloop-tcp`, and carries their segments in packets.
//!
//! The endpoints know neither packets nor hosts nor algorithms. The sender's half here passes the algorithm's window to them and their
//! events to the algorithm, and paces; the receiver's half keeps the data packet that an ACK is owed for, because the ACK carries its
//! telemetry.

mod offload;
mod receiver;
mod sender;
pub(crate) mod wire;

pub(crate) use offload::Chunk;
pub(crate) use receiver::TcpReceiver;
pub(crate) use sender::TcpSender;
