//! Mechanisms of the model that a simulation can leave out, to measure what each is worth.

/// A mechanism that [`Settings::without`](crate::Settings::without) leaves out. Results without it are wrong on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mechanism {
    /// An ACK returns by the round-trip time that its byte saw. Without: by that of what leaves now, so that a growing queue stops ACKs.
    AckReturn,
    /// ACKs wait as long as their bytes did. Without: each returns a base round-trip time after its byte left, and says so.
    AckDelay,
    /// Marks and losses are those of the queue that the byte found. Without: of the queue of now.
    PastQueue,
    /// Of the marks between two counters a byte finds those of the queue on its way from one to the other. Without: marks come evenly.
    MarksByQueue,
    /// Telemetry is one base round-trip time old. Without: of now.
    TelemetryAge,
    /// ACKs take their bytes on the links back. Without: none.
    AckBytes,
    /// A look gives several ACKs, with timers between them. Without: one.
    SeveralAcks,
    /// A look tells the ACKs up to the middle of the time until the next one. Without: those that have come.
    LookAhead,
    /// Payload that has left at a look counts as sent before any answer of that look. Without: before answers to later ACKs alone.
    SentBefore,
    /// A look at least once in each base round-trip time. Without: in each round-trip time, however long the queue.
    BaseLooks,
    /// A change of a rate waits in queues as the bytes before it do. Without: it is at once behind them.
    RatesWait,
    /// The last byte walks from hop to hop. Without: it waits everywhere at once.
    LastByteWalk,
    /// The first window leaves at line rate. Without: over a round-trip time.
    FirstWindow,
    /// Marks are told. Without: none.
    Marks,
    /// Losses are told, and what is lost is sent again. Without: none.
    Losses,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Mechanism; 15] = [
        Mechanism::AckReturn,
        Mechanism::AckDelay,
        Mechanism::PastQueue,
        Mechanism::MarksByQueue,
        Mechanism::TelemetryAge,
        Mechanism::AckBytes,
        Mechanism::SeveralAcks,
        Mechanism::LookAhead,
        Mechanism::SentBefore,
        Mechanism::BaseLooks,
        Mechanism::RatesWait,
        Mechanism::LastByteWalk,
        Mechanism::FirstWindow,
        Mechanism::Marks,
        Mechanism::Losses,
    ];
}
