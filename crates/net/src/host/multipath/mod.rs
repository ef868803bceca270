//! Multipath transport, as Ultra Ethernet has it: packets take any path, arrive in any order and are repaired one by one.
//!
//! | file | what |
//! | --- | --- |
//! | [`sender`] | packets in flight, delivered or lost: a pure state machine with the answers of `farloop-tcp` |
//! | [`receiver`] | packets that have arrived, and those that are answered at once |
//! | [`code`] | blocks of data and repair packets, of which any n are enough |
//! | [`entries`] | times at which packets enter the queue of their host |
//! | [`delivery`] | delivery rates, where the algorithm asks for them |
//! | [`wire`] | contents of ACKs, in notes |
//! | [`mrc`] | additions of the chooser `mrc` at both ends |
//!
//! ```text
//!                next                    ACK or SACK of it
//!   (new) ──────────────► in flight ──────────────────────────► delivered
//!                          │     ▲                                  ▲
//!       NACK, overtaken,   │     │ next: before new ones,           │ ACK of an earlier copy
//!       or timeout         ▼     │ on a path chosen anew            │
//!                          lost ─┴──────────────────────────────────┘
//! ```
//!
//! Packets are cut at multiples of the MSS, so a number gives the bytes of its packet. Sequence numbers, states and bitmaps grow with the
//! data in flight, and nothing limits that: 32 bytes per packet at the sender, one bit at the receiver.

pub(crate) mod delivery;
mod entries;
pub(crate) mod mrc;
mod planes;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod wire;

pub(crate) use planes::{MultipathSender, Planes};
pub(crate) use receiver::AnyOrder;
pub(crate) use sender::SelectiveRepeat;
