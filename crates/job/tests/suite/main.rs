//! Tests of the crate from outside.

mod aicb;
mod chakra;
mod import;
mod limits;
mod loggopsim;
mod page;
mod param;
