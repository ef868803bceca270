//! Causes of loss. Each is declared once: variant, place, word for viewers, column of ports and totals.

use std::fmt;

/// The place where packets of a cause are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LossPlace {
    /// At the node that should have sent them on, before they could leave by their port.
    Port,
    /// At the node behind the port's link.
    FarEnd,
    /// On the link, or at a circuit switch, which has no buffer.
    Link,
}

/// The declaration of a cause.
struct Declaration {
    place: LossPlace,
    word: &'static str,
    column: &'static str,
    of_port: &'static str,
    of_run: &'static str,
}

macro_rules! declare_causes {
    ($(
        $(#[doc = $doc:literal])+
        $cause:ident {
            place: $place:ident,
            word: $word:literal,
            column: $column:literal,
            of_port: $of_port:literal,
            of_run: $of_run:literal $(,)?
        }
    )+) => {
        /// Why a packet was lost. Every cause has a column in the table of ports and a total; they are in the order of the columns.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Cause {
            $($(#[doc = $doc])+ $cause,)+
        }

        const DECLARATIONS: &[Declaration] = &[$(Declaration {
            place: LossPlace::$place,
            word: $word,
            column: $column,
            of_port: $of_port,
            of_run: $of_run,
        }),+];

        impl Cause {
            /// Every cause, in the order of the columns.
            pub const ALL: [Cause; DECLARATIONS.len()] = [$(Cause::$cause),+];
        }
    };
}

// Those on links come last: their columns do, too. Columns of the others begin with "dropped_", by which the summary of a run knows them.
declare_causes! {
    /// The switch's buffer was full.
    Buffer {
        place: Port,
        word: "buffer full",
        column: "dropped_buffer",
        of_port: "Data packets dropped for lack of buffer on their way to this port.",
        of_run: "Dropped for lack of buffer.",
    }
    /// The port's queue had reached its limit.
    QueueLimit {
        place: Port,
        word: "queue limit",
        column: "dropped_limit",
        of_port: "Data packets dropped because this port's queue had reached its limit.",
        of_run: "Dropped because a port's queue had reached its limit.",
    }
    /// The queue was long enough to mark it, but it was not ECN-capable.
    NotEcnCapable {
        place: Port,
        word: "not ECN-capable",
        column: "dropped_not_ect",
        of_port: "Packets dropped because they were not ECN-capable where this port would have marked them (ecn_drops_others).",
        of_run: "Dropped because they were not ECN-capable where a port would have marked them (ecn_drops_others).",
    }
    /// A port agent (an algorithm at the switch) dropped it.
    Agent {
        place: Port,
        word: "port agent",
        column: "dropped_agent",
        of_port: "Data packets dropped by an agent at this port.",
        of_run: "Dropped by an agent at a port.",
    }
    /// The day of its circuit was too far off for any queue.
    Blocked {
        place: Port,
        word: "circuit too far off",
        column: "dropped_blocked",
        of_port: "Data packets dropped because the day of their circuit was too far off.",
        of_run: "Dropped because the day of their circuit was too far off.",
    }
    /// The day of its circuit was over before it left.
    Expired {
        place: Port,
        word: "day of its circuit over",
        column: "dropped_expired",
        of_port: "Data packets dropped because they had not left when the day of their circuit was over.",
        of_run: "Dropped because they had not left when the day of their circuit was over.",
    }
    /// The link that it should have left by was down, or went down while it waited.
    LinkDown {
        place: Port,
        word: "link down",
        column: "dropped_down",
        of_port: "Packets dropped because the link of this port was down, when they came or when it went down.",
        of_run: "Dropped because the link of their port was down.",
    }
    /// No path led to where it was bound for.
    NoRoute {
        place: FarEnd,
        word: "no route",
        column: "dropped_unrouted",
        of_port: "Packets that this port sent to a switch from which no path led on.",
        of_run: "Dropped because no path led on.",
    }
    /// The link lost it.
    Loss {
        place: Link,
        word: "lost on the link",
        column: "lost",
        of_port: "Packets lost on the link.",
        of_run: "Lost on links.",
    }
    /// A circuit switch had no circuit for it, or not long enough.
    Circuit {
        place: Link,
        word: "no circuit",
        column: "lost_circuit",
        of_port: "Packets that found no circuit at the other end of the link, or were cut by the end of a day.",
        of_run: "Lost at circuit switches: without a circuit, or cut by the end of a day.",
    }
    /// The link went down while it was on it.
    Cut {
        place: Link,
        word: "link down",
        column: "lost_down",
        of_port: "Packets that were on the link when it went down.",
        of_run: "Lost on links that went down.",
    }
    /// The link damaged it.
    Corruption {
        place: Link,
        word: "damaged on the link",
        column: "corrupted",
        of_port: "Packets damaged on the link.",
        of_run: "Damaged on links.",
    }
}

impl Cause {
    /// Causes by which a node drops packets that it should have sent on, in the order of the columns.
    pub const DROPPED: &[Cause] = Cause::ALL.split_at(Cause::count_dropped()).0;

    /// Causes of losses on links and at circuit switches, in the order of the columns.
    pub const LOST: &[Cause] = Cause::ALL.split_at(Cause::count_dropped()).1;

    /// The unit of the columns.
    pub const UNIT: &str = "packets";

    const fn count_dropped() -> usize {
        let mut count = 0;
        while !Cause::ALL[count].is_on_link() {
            count += 1;
        }
        count
    }

    const fn declaration(self) -> &'static Declaration {
        &DECLARATIONS[self as usize]
    }

    /// Returns true if the packet was lost on a link or by a circuit switch, which has no buffer. All other packets are
    /// dropped by the node that should have sent them on.
    pub const fn is_on_link(self) -> bool {
        matches!(self.declaration().place, LossPlace::Link)
    }

    /// Returns true if the packet had left its port and got lost behind it, on the link or at the link's far end.
    pub const fn is_behind_port(self) -> bool {
        !matches!(self.declaration().place, LossPlace::Port)
    }

    /// Name of its column in the table of ports, and of its total.
    pub const fn column(self) -> &'static str {
        self.declaration().column
    }

    /// The meaning of its column in the table of ports.
    pub const fn meaning_of_port(self) -> &'static str {
        self.declaration().of_port
    }

    /// The meaning of its total.
    pub const fn meaning_of_run(self) -> &'static str {
        self.declaration().of_run
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.declaration().word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_order_and_their_names_tell_drops_from_losses_on_links() {
        for (i, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, i);
            assert_eq!(i < Cause::DROPPED.len(), !cause.is_on_link(), "{cause:?}: those on links come last");
            assert_eq!(cause.column().starts_with("dropped_"), !cause.is_on_link(), "{cause:?}");
            let lost = ["lost", "corrupted"].iter().any(|begin| cause.column().starts_with(begin));
            assert_eq!(lost, cause.is_on_link(), "{cause:?}: python/farloop/results/summary.py knows it by its name");
            assert!(cause.is_behind_port() || !cause.is_on_link(), "{cause:?}");
        }
    }
}
