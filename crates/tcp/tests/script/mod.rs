//! A small language for packet exchanges, in the spirit of packetdrill.

pub mod parse;
pub mod run;
