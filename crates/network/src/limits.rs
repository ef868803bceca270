//! The limits of flows: a sender is always under one limit, and each keeps how long it was under which.
//!
//! Every run counts this; `farloop why` explains a flow packet by packet, in a run of its own. As in Linux (`tcp_chrono`: `busy_time`,
//! `rwnd_limited`), the time from a packet's departure to the next one's belongs to the limit that held the next one last.

use farloop_units::Delta;

macro_rules! limits {
    ($($(#[doc = $meaning:literal])+ $limit:ident: $name:literal;)+) => {
        /// A reason that keeps a sender from sending sooner.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Limit {
            $($(#[doc = $meaning])+ $limit,)+
        }

        impl Limit {
            /// All limits, in the order of [`LimitRow::time`](crate::result::LimitRow::time).
            pub const ALL: [Limit; LIMITS] = [$(Limit::$limit),+];

            /// Name in words, for tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Limit::$limit => $name,)+
                }
            }

            /// A sentence for pages.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Limit::$limit => concat!($($meaning),+).trim_ascii_start(),)+
                }
            }
        }
    };
}

/// The number of limits.
pub const LIMITS: usize = 12;

limits! {
    /// The connection was not open (TCP).
    Handshake: "handshake";
    /// The congestion window was full, in slow start, and smaller than the path's bandwidth-delay product (TCP).
    Start: "slow start";
    /// Any other congestion window was full, and smaller than the path's bandwidth-delay product.
    Window: "congestion window";
    /// Losses were repaired or waited to be noticed, and nothing else might leave; of go-back-N also all that was sent again.
    Recovery: "recovery";
    /// The receiver's window was full, and smaller than the path's bandwidth-delay product (TCP).
    ReceiveWindow: "receive window";
    /// The host waited for room for a whole chunk, as long as the unused part of the windows takes (TCP).
    Offload: "segmentation offload";
    /// The source waited for a pacing rate below the rate of its path.
    Pacing: "pacing";
    /// The receiving host had granted no more, and less than the path's bandwidth-delay product.
    Credit: "credit";
    /// The application had nothing to send: a queue pair of a job had no message.
    Application: "application";
    /// The host's link was busy with packets of this flow or others, or paused.
    Link: "host link";
    /// A window was full, or a pacing rate held, that would keep the empty path busy: a slower link of it, or flows that share it.
    Path: "path";
    /// All was sent, and the last acknowledgement was on its way.
    Last: "last packets";
}

/// Time under each limit.
pub type Times = [u64; LIMITS];

/// The limit that held longest; of several the first.
pub fn longest_limit(times: &Times) -> Limit {
    let longest = times.iter().copied().max().unwrap_or(0);
    Limit::ALL.into_iter().zip(times).find(|(_, time)| **time == longest).map_or(Limit::Last, |(limit, _)| limit)
}

/// The rest of `life`, where `times` of other limits are known, belongs to the host's link.
pub fn complete(mut times: Times, life: Delta) -> Times {
    let known: u64 = times.iter().sum();
    debug_assert!(known <= life.as_ps(), "limits of {known} ps in a life of {life:?}");
    times[Limit::Link as usize] += life.as_ps().saturating_sub(known);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_has_the_rest() {
        let mut times = Times::default();
        (times[Limit::Window as usize], times[Limit::Pacing as usize]) = (40, 40);
        let whole = complete(times, Delta::from_ps(100));
        assert_eq!((whole[Limit::Link as usize], whole.iter().sum::<u64>()), (20, 100));
        assert_eq!((longest_limit(&whole), longest_limit(&Times::default())), (Limit::Window, Limit::Handshake));
    }

    #[test]
    fn names_differ_and_meanings_are_sentences() {
        let names: std::collections::BTreeSet<_> = Limit::ALL.iter().map(|limit| limit.name()).collect();
        assert_eq!(names.len(), LIMITS);
        assert!(Limit::ALL.iter().all(|limit| limit.meaning().ends_with('.')));
    }
}
