//! The stream or thread that a node belongs to.

use super::schema::{Node, kind};

/// A node's stream: of a thread of the CPU or of the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    Thread(i128),
    Stream(i128),
    Computing,
    Communicating,
    /// The stream of the original program, in a trace that farloop wrote; it keeps no order.
    Processor(u16),
}

/// Returns true if the node is one of the CPU.
pub(super) fn is_cpu(node: &Node) -> bool {
    node.attribute("is_cpu_op").and_then(|a| a.integer()).is_some_and(|v| v != 0)
}

/// The lane of a node.
pub(super) fn lane(node: &Node) -> Lane {
    let number = |name| node.attribute(name).and_then(|a| a.integer());
    if let Some(stream) = number(super::write::PROCESSOR).and_then(|s| u16::try_from(s).ok()) {
        return Lane::Processor(stream);
    }
    if is_cpu(node) || node.kind == kind::METADATA {
        return Lane::Thread(number("tid").unwrap_or(0));
    }
    match number("stream").or_else(|| number("tid")) {
        Some(stream) => Lane::Stream(stream),
        None if matches!(node.kind, kind::COMM_SEND | kind::COMM_RECV | kind::COMM_COLL) => Lane::Communicating,
        None => Lane::Computing,
    }
}
