//! Direct: each member sends each other its part, first to the next, then to the one behind it, and so on.

use super::schedule::{Schedule, Traffic, part};
use crate::job::Collective;

/// Adds the collective for all members. Of all-gather a member sends its part to all; a root is the first.
pub fn add(made: &mut Schedule, kind: Collective, bytes: u64) {
    let n = made.steps.len();
    for ahead in 1..n {
        for member in 0..n {
            let (to, from) = ((member + ahead) % n, (member + n - ahead) % n);
            let (sends, receives) = match kind {
                Collective::Gather => (to == 0, member == 0),
                Collective::Scatter => (member == 0, from == 0),
                _ => (true, true),
            };
            // The part that goes from one to another: its sender's of a gathering, its receiver's otherwise.
            let gathers = matches!(kind, Collective::AllGather | Collective::Gather);
            let size = |from: usize, to: usize| part(bytes, n, if gathers { from } else { to });
            if sends {
                made.send(member, to, size(member, to), &[]);
            }
            if receives {
                made.receive(member, from, size(from, member), &[]);
            }
        }
    }
}

/// Counts its messages among so many members.
pub fn traffic(kind: Collective, members: f64) -> Traffic {
    let messages = match kind {
        Collective::Gather | Collective::Scatter => members - 1.0,
        _ => members * (members - 1.0),
    };
    Traffic { steps: 2.0 * messages, channels: messages }
}
