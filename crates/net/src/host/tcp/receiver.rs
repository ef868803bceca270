//! The receiving half: the endpoint of `farloop-tcp`, and the contents of the next ACK.

use crate::ids::Slot;
use farloop_cc::Fields;
use farloop_tcp::Config;
use std::sync::Arc;

/// A TCP receiver.
pub(crate) struct TcpReceiver {
    pub inner: farloop_tcp::Receiver,
    /// The latest data packet without an ACK, or [`Slot::NONE`]: it becomes the delayed ACK.
    pub held: Slot,
    /// The header fields of its ACK.
    pub fields: Fields,
}

impl TcpReceiver {
    /// State before the first segment.
    pub fn new(config: Arc<Config>) -> TcpReceiver {
        TcpReceiver { inner: farloop_tcp::Receiver::new(config), held: Slot::NONE, fields: Fields::NONE }
    }

    /// Payload delivered in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.inner.bytes_in_order().get()
    }
}
