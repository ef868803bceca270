//! Tests of the crate from outside.

mod aicb;
mod chakra;
mod import;
mod loggopsim;
mod page;
