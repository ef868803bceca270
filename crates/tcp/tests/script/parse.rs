//! Scripts as text.
//!
//! The first two lines say which section a script follows and what it shows:
//!
//! ```text
//! rfc RFC 6675 §5
//! shows The third duplicate ACK repairs the first segment.
//! ```
//!
//! Then settings (`set KEY VALUE`, keys as in `Config`; `role receiver` for the other end) and `cwnd N` in segments (`cwnd N reno`: a tiny
//! Reno moves it). Without settings: SACK, 1000 B segments, no handshake, no timestamps, ACKs not delayed. Then lines that begin with
//! a time ("0", "20ms"; "+5ms" after the line before):
//!
//! | line | meaning |
//! | --- | --- |
//! | `write N`, `close`, `stop`, `cwnd N` | the application or the algorithm acts |
//! | `read N`, `autoread on` or `off` | the receiving application acts |
//! | `< ack N [win N] [sack A:B,C:D] [ece] [ace N] [bytes E,C] [echo T] [ts T] [syn]` | an ACK arrives |
//! | `< A:B [ce] [cwr] [ect] [fin] [ts T] [probe] [syn] [ace N]` | data arrives |
//! | `> A:B [again] [cwr] [ect] [fin]` | data is sent, in full segments |
//! | `> syn`, `> ack`, `> probe` | a segment without data is sent |
//! | `> ack N [win N] [sack ...] [ece] [ace N] [bytes E,C] [echo T] [syn]` | an ACK is sent (`win`, `echo`, `ace` and `bytes` are compared if given) |
//! | `event NAME` | fast_retransmit, timeout, spurious, established, finished, failed |
//! | `expect NAME VALUE` | a quantity of the endpoint, or of the last outcome |
//!
//! Nothing may be sent and nothing may happen but what a script expects, at the time that it says. Timers fire by themselves: before what
//! arrives at a later time, and up to the time of what is expected.

use farloop_tcp::{
    AccEcnAcks, BackoffEnd, Config, Ecn, EcnBytes, Range, Recovery, RtoFloor, SackBlocks, Segment, Timestamps,
};
use farloop_units::{Bytes, Delta, Time};

/// Payload of a segment unless set.
pub const MSS: u64 = 1000;

pub struct Script {
    pub name: String,
    pub config: Config,
    pub receiver: bool,
    pub cwnd: u64,
    pub reno: bool,
    pub lines: Vec<Line>,
}

pub struct Line {
    pub number: usize,
    pub at: Time,
    pub action: Action,
}

pub enum Action {
    Write(u64),
    Close,
    Stop,
    Cwnd(u64),
    Read(u64),
    AutoRead(bool),
    Arrives { segment: Segment, ce: bool },
    Sent(Expected),
    Event(String),
    Expect(String, String),
}

/// What a segment should look like.
pub struct Expected {
    pub segment: Segment,
    /// Data: what it covers, in full segments.
    pub data: Option<Range>,
    pub window: bool,
    pub echo: bool,
    pub ace: bool,
    pub bytes: bool,
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

pub fn parse(name: &str, text: &str) -> Result<Script, String> {
    let mut config = Config::new(Bytes::new(MSS));
    config.handshake = false;
    config.timestamps = false;
    config.delayed_ack = None;
    let mut script =
        Script { name: name.to_string(), config, receiver: false, cwnd: 10, reno: false, lines: Vec::new() };
    let mut now = Time::ZERO;
    for (i, raw) in text.lines().enumerate() {
        let fail = |problem: String| format!("{name}:{}: {problem}", i + 1);
        let line = raw.split('#').next().unwrap_or_default().trim();
        for (n, word) in [(0, "rfc"), (1, "shows")] {
            if i == n && line.strip_prefix(word).is_none_or(|rest| rest.trim().len() <= 3) {
                let which = if n == 0 { "first" } else { "second" };
                return Err(fail(format!("the {which} line must be \"{word} ...\"")));
            }
        }
        if i < 2 || line.is_empty() {
            continue;
        }
        let mut words = line.split_whitespace().peekable();
        parse_line(&mut script, &mut words, &mut now, i + 1).map_err(&fail)?;
        if let Some(rest) = words.next() {
            return Err(fail(format!("too much: \"{rest}\"")));
        }
    }
    script.config.check().map_err(|problem| format!("{name}: {problem}"))?;
    Ok(script)
}

fn parse_line(script: &mut Script, words: &mut Words, now: &mut Time, number: usize) -> Result<(), String> {
    let first = word(words)?;
    match first {
        "set" => return set(&mut script.config, word(words)?, word(words)?),
        "role" => match word(words)? {
            "receiver" => script.receiver = true,
            other => return Err(format!("unknown role \"{other}\"")),
        },
        "cwnd" => {
            script.cwnd = count(word(words)?)?;
            script.reno = words.next_if_eq(&"reno").is_some();
        }
        _ => {
            let at = match first.strip_prefix('+') {
                Some(delta) => *now + time(delta)?,
                None => Time::ZERO + time(first)?,
            };
            if at < *now {
                return Err("time goes backwards".to_string());
            }
            *now = at;
            let action = action(words)?;
            script.lines.push(Line { number, at, action });
        }
    }
    Ok(())
}

fn action(words: &mut Words) -> Result<Action, String> {
    Ok(match word(words)? {
        "write" => Action::Write(count(word(words)?)?),
        "close" => Action::Close,
        "stop" => Action::Stop,
        "cwnd" => Action::Cwnd(count(word(words)?)?),
        "read" => Action::Read(count(word(words)?)?),
        "autoread" => Action::AutoRead(switch(word(words)?)?),
        "<" => arrives(words)?,
        ">" => Action::Sent(sent(words)?),
        "event" => Action::Event(words.by_ref().collect::<Vec<_>>().join(" ")),
        "expect" => {
            let name = word(words)?.to_string();
            if !super::run::QUANTITIES.contains(&name.as_str()) {
                return Err(format!("unknown quantity \"{name}\""));
            }
            Action::Expect(name, words.by_ref().collect::<Vec<_>>().join(" "))
        }
        other => return Err(format!("unknown action \"{other}\"")),
    })
}

fn arrives(words: &mut Words) -> Result<Action, String> {
    let mut segment = Segment { window: 1 << 20, ..Segment::default() };
    let mut ce = false;
    match word(words)? {
        "ack" => {
            segment.ack = true;
            segment.ack_seq = count(word(words)?)?;
        }
        "syn" => segment.syn = true,
        "probe" => segment.window_probe = true,
        data => {
            let data = range(data)?;
            segment.seq = data.begin;
            segment.payload = data.bytes() as u32;
        }
    }
    while let Some(option) = words.next() {
        match option {
            "win" => segment.window = count(word(words)?)?,
            "sack" => segment.sack = blocks(word(words)?)?,
            "ece" => segment.ece = true,
            "cwr" => segment.cwr = true,
            "ect" => segment.ect = true,
            "ace" => segment.ace = count(word(words)?)? as u8,
            "bytes" => segment.ecn_bytes = Some(ecn_bytes(word(words)?)?),
            "fin" => segment.fin = true,
            "syn" => segment.syn = true,
            "ce" => ce = true,
            "echo" => {
                let echo = Time::ZERO + time(word(words)?)?;
                segment.timestamps = Some(Timestamps { value: Time::ZERO, echo });
            }
            "ts" => {
                let value = Time::ZERO + time(word(words)?)?;
                segment.timestamps = Some(Timestamps { value, echo: Time::ZERO });
            }
            other => return Err(format!("unknown mark \"{other}\"")),
        }
    }
    Ok(Action::Arrives { segment, ce })
}

fn sent(words: &mut Words) -> Result<Expected, String> {
    let segment = Segment::default();
    let mut e = Expected { segment, data: None, window: false, echo: false, ace: false, bytes: false };
    match word(words)? {
        "syn" => e.segment.syn = true,
        "probe" => (e.segment.window_probe, e.segment.ack) = (true, true),
        "ack" => {
            e.segment.ack = true;
            if let Some(number) = words.next_if(|w| w.starts_with(|c: char| c.is_ascii_digit())) {
                e.segment.ack_seq = count(number)?;
            }
        }
        data => {
            e.data = Some(range(data)?);
            e.segment.ack = true;
        }
    }
    while let Some(option) = words.next() {
        match option {
            "again" => e.segment.retransmission = true,
            "cwr" => e.segment.cwr = true,
            "ect" => e.segment.ect = true,
            "fin" => e.segment.fin = true,
            "syn" => e.segment.syn = true,
            "ece" => e.segment.ece = true,
            "ace" => (e.segment.ace, e.ace) = (count(word(words)?)? as u8, true),
            "bytes" => (e.segment.ecn_bytes, e.bytes) = (Some(ecn_bytes(word(words)?)?), true),
            "sack" => e.segment.sack = blocks(word(words)?)?,
            "win" => (e.segment.window, e.window) = (count(word(words)?)?, true),
            "echo" => {
                let echo = Time::ZERO + time(word(words)?)?;
                (e.segment.timestamps, e.echo) = (Some(Timestamps { value: Time::ZERO, echo }), true);
            }
            other => return Err(format!("unknown mark \"{other}\"")),
        }
    }
    Ok(e)
}

fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let unknown = || format!("unknown value \"{value}\"");
    match key {
        "recovery" => {
            config.recovery = match value {
                "newreno" => Recovery::NewReno,
                "sack" => Recovery::Sack,
                "rack" => Recovery::Rack,
                _ => return Err(unknown()),
            }
        }
        "ecn" => {
            config.ecn = match value {
                "off" => Ecn::Off,
                "classic" => Ecn::Classic,
                "accurate" => Ecn::Accurate,
                "counted" => Ecn::Counted,
                _ => return Err(unknown()),
            }
        }
        "accecn_acks" => {
            config.accecn_acks = match value {
                "rfc9768" => AccEcnAcks::Rfc9768,
                "linux" => AccEcnAcks::Linux,
                _ => return Err(unknown()),
            }
        }
        "rto_floor" => {
            config.rto_floor = match value {
                "total" => RtoFloor::Total,
                "variance" => RtoFloor::Variance,
                _ => return Err(unknown()),
            }
        }
        "backoff_ends" => {
            config.backoff_ends = match value {
                "sample" => BackoffEnd::Sample,
                "any-ack" => BackoffEnd::AnyAck,
                _ => return Err(unknown()),
            }
        }
        "mss" => config.mss = Bytes::new(count(value)?),
        "receive_window" => config.receive_window = Bytes::new(count(value)?),
        "delayed_ack" => config.delayed_ack = if value == "off" { None } else { Some(time(value)?) },
        "ack_every" => config.ack_every = count(value)? as u32,
        "quick_acks" => config.quick_acks = count(value)? as u32,
        "initial_rto" => config.initial_rto = time(value)?,
        "min_rto" => config.min_rto = time(value)?,
        "max_rto" => config.max_rto = time(value)?,
        "max_ack_delay" => config.max_ack_delay = time(value)?,
        "timeout_min" => config.timeout_min = time(value)?,
        "timer_tick" => config.timer_tick = time(value)?,
        "timestamp_tick" => config.timestamp_tick = time(value)?,
        "dup_ack_threshold" => config.dup_ack_threshold = count(value)? as u32,
        "max_retries" => config.max_retries = count(value)? as u32,
        "syn_retries" => config.syn_retries = count(value)? as u32,
        "accecn_option" => config.accecn_option = switch(value)?,
        "handshake" => config.handshake = switch(value)?,
        "limited_transmit" => config.limited_transmit = switch(value)?,
        "timestamps" => config.timestamps = switch(value)?,
        "dsack" => config.dsack = switch(value)?,
        "tail_loss_probe" => config.tail_loss_probe = switch(value)?,
        "prr" => config.prr = switch(value)?,
        "frto" => config.frto = switch(value)?,
        "forget_sack" => config.forget_sack = switch(value)?,
        _ => return Err(format!("unknown setting \"{key}\"")),
    }
    Ok(())
}

fn word<'a>(words: &mut Words<'a>) -> Result<&'a str, String> {
    words.next().ok_or_else(|| "the line is incomplete".to_string())
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no number"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("\"{text}\" is neither on nor off")),
    }
}

pub fn time(text: &str) -> Result<Delta, String> {
    if text == "0" { Ok(Delta::ZERO) } else { text.parse().map_err(|_| format!("\"{text}\" is no time")) }
}

fn range(text: &str) -> Result<Range, String> {
    let bad = || format!("\"{text}\" is no range");
    let (begin, end) = text.split_once(':').ok_or_else(bad)?;
    let range = Range::new(count(begin)?, count(end)?);
    if range.begin < range.end { Ok(range) } else { Err(bad()) }
}

fn ecn_bytes(text: &str) -> Result<EcnBytes, String> {
    let (ect0, ce) = text.split_once(',').ok_or_else(|| format!("\"{text}\" is no pair of counts"))?;
    Ok(EcnBytes::new(count(ect0)? as u32, count(ce)? as u32))
}

fn blocks(text: &str) -> Result<SackBlocks, String> {
    text.split(',').map(range).collect::<Result<Vec<_>, _>>().map(SackBlocks::from_iter)
}
