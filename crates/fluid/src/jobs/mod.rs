//! Training jobs: ranks, and their messages in queue pairs.

mod chores;
mod iterations;
mod messages;
mod ranks;
mod stream;

pub(crate) use iterations::{IterationTime, iteration_times};
pub(crate) use ranks::Ranks;
pub(crate) use stream::{Messages, Stream};
