//! Explicit congestion notification, both halves.
//!
//! Source: RFC 3168 §6.1 (classic), RFC 8257 §3.2 (accurate). Counted marks are in `accecn.rs`.
//!
//! ```text
//!   classic, receiver      CE ───► echo in every ACK ───► CWR arrives ───► (silent)
//!   classic, sender        first ECE in a window: react, set CWR on the next new segment; further ECE: nothing until
//!                          what was sent by then is acknowledged
//!   accurate, receiver     an ACK echoes the mark of the segments that it covers. When the mark changes while an ACK is
//!                          delayed, that ACK goes out first, with the old mark:
//!
//!                    mark: ACK what waits, unmarked
//!          ┌──────────┐ ──────────────────────────► ┌──────────┐
//!          │  CE = 0  │                             │  CE = 1  │
//!          └──────────┘ ◄────────────────────────── └──────────┘
//!                    no mark: ACK what waits, marked
//! ```

use crate::config::Ecn;

/// The receiver's half.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Echo {
    on: bool,
}

impl Echo {
    /// A segment arrived. True if an ACK that waits must go out with the echo as it was before (accurate echo): call
    /// [`Echo::take`] after that.
    pub fn closes_delayed_ack(&self, ecn: Ecn, ce: bool) -> bool {
        ecn == Ecn::Accurate && self.on != ce
    }

    /// Takes in the marks of a segment.
    pub fn take(&mut self, ecn: Ecn, ce: bool, cwr: bool) {
        self.on = match ecn {
            Ecn::Off | Ecn::Counted => false,
            // A segment that confirms the reduction and is marked itself starts again (RFC 3168 §6.1.3).
            Ecn::Classic => ce || (self.on && !cwr),
            Ecn::Accurate => ce,
        };
    }

    /// Returns true if ACKs echo a mark now.
    pub fn is_echoing(&self) -> bool {
        self.on
    }
}

/// The sender's half: one reaction in a window of data.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Reaction {
    /// Reacted; not again before this is acknowledged.
    until: u64,
    confirm: bool,
}

impl Reaction {
    /// An ACK with an echo arrived; true if it is the one to react to.
    pub fn on_echo(&mut self, una: u64, nxt: u64) -> bool {
        let first = una >= self.until && nxt > 0;
        if first {
            self.on_reduction(nxt);
        }
        first
    }

    /// The window is reduced, for whatever reason: marks of data sent before say nothing new (RFC 3168 §6.1.2).
    pub fn on_reduction(&mut self, nxt: u64) {
        self.until = nxt;
        self.confirm = true;
    }

    /// Returns true if the new segment being sent carries CWR: once for each reduction.
    pub fn confirm(&mut self) -> bool {
        std::mem::take(&mut self.confirm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_echo_lasts_until_confirmed() {
        let mut echo = Echo::default();
        let mut seen = Vec::new();
        for (ce, cwr) in [(false, false), (true, false), (false, false), (false, true), (false, false), (true, true)] {
            assert!(!echo.closes_delayed_ack(Ecn::Classic, ce));
            echo.take(Ecn::Classic, ce, cwr);
            seen.push(echo.is_echoing());
        }
        assert_eq!(seen, [false, true, true, false, false, true]);
    }

    #[test]
    fn accurate_echo_closes_a_delayed_ack_at_each_change() {
        let mut echo = Echo::default();
        let changes: Vec<bool> = [false, true, true, false, true]
            .map(|ce| {
                let change = echo.closes_delayed_ack(Ecn::Accurate, ce);
                echo.take(Ecn::Accurate, ce, false);
                assert_eq!(echo.is_echoing(), ce);
                change
            })
            .into();
        assert_eq!(changes, [false, true, false, true, true]);
    }

    #[test]
    fn one_reaction_in_a_window() {
        let mut reaction = Reaction::default();
        assert!(reaction.on_echo(1000, 10_000));
        assert!(reaction.confirm() && !reaction.confirm());
        assert!(!reaction.on_echo(2000, 11_000));
        assert!(!reaction.on_echo(9999, 18_000));
        assert!(reaction.on_echo(10_000, 20_000));
        reaction.on_reduction(30_000);
        assert!(!reaction.on_echo(20_000, 31_000));
    }
}
