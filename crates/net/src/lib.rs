//! The network model.

pub mod result;
pub mod spec;
