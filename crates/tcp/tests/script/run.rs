//! Scripts against the endpoints.

use super::parse::{Action, Expected, Line, Script, time};
use farloop_cc::LossKind;
use farloop_tcp::{Meaning, Range, Receiver, Segment, Sender, State};
use farloop_units::{Bytes, Delta, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// What `expect` knows.
pub const QUANTITIES: [&str; 25] = [
    "state",
    "pipe",
    "una",
    "nxt",
    "sacked",
    "lost",
    "copies",
    "srtt",
    "rto",
    "timer",
    "cwnd",
    "acked",
    "delivered",
    "rtt",
    "ecn_echo",
    "ecn_first",
    "ce",
    "ce_bytes",
    "in_recovery",
    "app_limited",
    "rate",
    "sample_app_limited",
    "received",
    "loss_in_flight",
    "retransmitted",
];

enum Ends {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

struct Run<'a> {
    script: &'a Script,
    ends: Ends,
    now: Time,
    sent: VecDeque<(Time, Segment)>,
    events: VecDeque<(Time, String)>,
    last: Meaning,
    loss_in_flight: u64,
    /// Bytes.
    cwnd: u64,
    threshold: u64,
    before_loss: (u64, u64),
}

pub fn run(script: &Script) -> Result<(), String> {
    let config = Arc::new(script.config.clone());
    let mss = config.mss.get();
    let ends = if script.receiver {
        Ends::Receiver(Box::new(Receiver::new(config)))
    } else {
        let mut sender = Sender::new(config);
        sender.set_cwnd(Bytes::new(script.cwnd * mss));
        sender.open(Time::ZERO);
        Ends::Sender(Box::new(sender))
    };
    let cwnd = script.cwnd * mss;
    let mut run = Run {
        script,
        ends,
        now: Time::ZERO,
        sent: VecDeque::new(),
        events: VecDeque::new(),
        last: Meaning::default(),
        loss_in_flight: 0,
        cwnd,
        threshold: u64::MAX,
        before_loss: (cwnd, u64::MAX),
    };
    run.drain();
    for line in &script.lines {
        run.step(line).map_err(|problem| format!("{}:{}: {problem}", script.name, line.number))?;
    }
    let end = script.lines.last().map_or(0, |line| line.number) + 1;
    run.nothing_left(Time::NEVER).map_err(|problem| format!("{}:{end}: {problem}", script.name))
}

impl Run<'_> {
    fn step(&mut self, line: &Line) -> Result<(), String> {
        let expectation = matches!(line.action, Action::Sent(_) | Action::Event(_) | Action::Expect(..));
        while self.timer() < line.at || (expectation && self.timer() <= line.at) {
            self.now = self.timer();
            self.fire();
        }
        self.now = line.at;
        if expectation {
            self.nothing_left(line.at)?;
        } else {
            self.nothing_left(Time::NEVER)?;
        }
        match &line.action {
            Action::Sent(expected) => return self.expect_sent(expected),
            Action::Event(name) => return self.expect_event(name),
            Action::Expect(name, value) => return self.expect(name, value),
            _ => {}
        }
        self.act(&line.action)?;
        self.drain();
        Ok(())
    }

    /// Everything sent or reported before `time` was expected.
    fn nothing_left(&self, time: Time) -> Result<(), String> {
        if let Some((at, name)) = self.events.front().filter(|(at, _)| *at < time) {
            return Err(format!("not expected: event {name} at {}", ms(*at)));
        }
        if let Some((at, segment)) = self.sent.front().filter(|(at, _)| *at < time) {
            return Err(format!("not expected: {} at {}", show(segment), ms(*at)));
        }
        Ok(())
    }

    fn timer(&self) -> Time {
        match &self.ends {
            Ends::Sender(sender) => sender.timer(),
            Ends::Receiver(receiver) => receiver.timer(),
        }
    }

    fn fire(&mut self) {
        match &mut self.ends {
            Ends::Sender(sender) => {
                let outcome = sender.on_timer(self.now);
                self.hear(outcome);
            }
            Ends::Receiver(receiver) => self.sent.extend(receiver.on_timer(self.now).map(|ack| (self.now, ack))),
        }
        self.drain();
    }

    fn drain(&mut self) {
        if let Ends::Sender(sender) = &mut self.ends {
            while let Some(segment) = sender.next_segment(self.now) {
                self.sent.push_back((self.now, segment));
            }
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        let mss = self.script.config.mss.get();
        let now = self.now;
        let mut finished = false;
        match (&mut self.ends, action) {
            (Ends::Sender(sender), Action::Write(bytes)) => sender.write(now, Bytes::new(*bytes)),
            (Ends::Sender(sender), Action::Close) => finished = sender.close(),
            (Ends::Sender(sender), Action::Stop) => finished = sender.stop(now),
            (Ends::Sender(sender), Action::Cwnd(segments)) => {
                self.cwnd = segments * mss;
                sender.set_cwnd(Bytes::new(self.cwnd));
            }
            (Ends::Sender(sender), Action::Arrives { segment, .. }) => {
                let outcome = sender.on_segment(now, segment);
                self.hear(outcome);
            }
            (Ends::Receiver(receiver), Action::Arrives { segment, ce }) => {
                self.sent.extend(receiver.on_segment(now, segment, *ce).into_iter().map(|ack| (now, ack)));
            }
            (Ends::Receiver(receiver), Action::Read(bytes)) => {
                self.sent.extend(receiver.read(now, Bytes::new(*bytes)).map(|ack| (now, ack)));
            }
            (Ends::Receiver(receiver), Action::AutoRead(on)) => {
                self.sent.extend(receiver.set_auto_read(now, *on).map(|ack| (now, ack)));
            }
            _ => return Err("this end does not do that".to_string()),
        }
        if finished {
            self.events.push_back((now, "finished".to_string()));
        }
        Ok(())
    }

    fn hear(&mut self, outcome: Meaning) {
        let now = self.now;
        let mss = self.script.config.mss.get();
        if outcome.established {
            self.events.push_back((now, "established".to_string()));
        }
        for loss in [outcome.spurious, outcome.loss].into_iter().flatten() {
            let (name, threshold) = match loss.kind {
                LossKind::FastRetransmit => ("fast_retransmit", loss.in_flight.get() / 2),
                LossKind::Timeout => ("timeout", loss.in_flight.get() / 2),
                LossKind::Spurious => ("spurious", 0),
            };
            self.events.push_back((now, name.to_string()));
            self.loss_in_flight = loss.in_flight.get();
            if self.script.reno {
                let before = (self.cwnd, self.threshold);
                let threshold = threshold.max(2 * mss);
                (self.cwnd, self.threshold) = match loss.kind {
                    LossKind::FastRetransmit => (threshold, threshold),
                    LossKind::Timeout => (mss, threshold),
                    LossKind::Spurious => self.before_loss,
                };
                self.before_loss = before;
            }
        }
        if self.script.reno && outcome.is_ack && !outcome.in_recovery {
            let acked = outcome.acked.get();
            self.cwnd += if self.cwnd < self.threshold { acked } else { acked * mss / self.cwnd };
        }
        if let Ends::Sender(sender) = &mut self.ends {
            sender.set_cwnd(Bytes::new(self.cwnd));
        }
        if outcome.finished {
            self.events.push_back((now, "finished".to_string()));
        }
        if let Some(why) = outcome.failed {
            self.events.push_back((now, format!("failed {why:?}").to_lowercase()));
        }
        self.last = outcome;
    }

    fn expect_sent(&mut self, expected: &Expected) -> Result<(), String> {
        let pieces: Vec<Option<Range>> = match expected.data {
            None => vec![None],
            Some(all) => {
                let mss = self.script.config.mss.get() as usize;
                (all.begin..all.end).step_by(mss).map(|b| Some(Range::new(b, all.end.min(b + mss as u64)))).collect()
            }
        };
        for piece in pieces {
            let mut wanted = expected.segment;
            if let Some(range) = piece {
                wanted.seq = range.begin;
                wanted.payload = range.bytes() as u32;
            }
            let Some((_, got)) = self.sent.pop_front() else {
                return Err(format!("expected {}, but nothing is sent", show(&wanted)));
            };
            let mut seen = got;
            if !self.script.receiver {
                (seen.ack_seq, seen.window) = (0, 0);
                if seen.payload == 0 {
                    seen.seq = 0;
                }
            }
            // The last segment of a range alone carries the mark of the end.
            wanted.fin = wanted.fin && piece.is_none_or(|p| Some(p.end) == expected.data.map(|d| d.end));
            if !expected.window {
                (seen.window, wanted.window) = (0, 0);
            }
            if !expected.ace {
                (seen.ace, wanted.ace) = (0, 0);
            }
            if !expected.bytes {
                (seen.ecn_bytes, wanted.ecn_bytes) = (None, None);
            }
            if expected.echo {
                seen.timestamps = seen.timestamps.map(|mut t| {
                    t.value = Time::ZERO;
                    t
                });
            } else {
                (seen.timestamps, wanted.timestamps) = (None, None);
            }
            if seen != wanted {
                return Err(format!("expected {}, but {} is sent", show(&wanted), show(&got)));
            }
        }
        Ok(())
    }

    fn expect_event(&mut self, name: &str) -> Result<(), String> {
        match self.events.pop_front() {
            None => Err(format!("expected event {name}, but there is none")),
            Some((_, event)) if event != name => Err(format!("expected event {name}, but it is {event}")),
            Some(_) => Ok(()),
        }
    }

    fn expect(&self, name: &str, value: &str) -> Result<(), String> {
        let is = self.quantity(name)?;
        // Times are written as one likes: 1s or 1000ms.
        let same = match (time(value), time(&is)) {
            (Ok(a), Ok(b)) => a == b,
            _ => is == value,
        };
        if same { Ok(()) } else { Err(format!("{name} is {is}, not {value}")) }
    }

    fn quantity(&self, name: &str) -> Result<String, String> {
        let out = &self.last;
        let yes = |b: bool| if b { "yes" } else { "no" }.to_string();
        let bytes = |b: Bytes| b.get().to_string();
        let delta = |d: Option<Delta>| d.map_or("none".to_string(), |d| format!("{}ps", d.as_ps()));
        let sender = match &self.ends {
            Ends::Receiver(receiver) if name == "received" => return Ok(bytes(receiver.bytes_in_order())),
            Ends::Receiver(_) if name != "timer" => return Err(format!("a receiver has no {name}")),
            Ends::Receiver(_) => return Ok(ms(self.timer())),
            Ends::Sender(sender) => sender,
        };
        Ok(match name {
            "state" => match sender.state() {
                State::Failed(why) => format!("failed {why:?}").to_lowercase(),
                state => format!("{state:?}").to_lowercase(),
            },
            "pipe" => bytes(sender.in_flight()),
            "una" => sender.snd_una().to_string(),
            "nxt" => sender.snd_nxt().to_string(),
            "sacked" => bytes(sender.sacked_bytes()),
            "lost" => bytes(sender.lost_bytes()),
            "copies" => bytes(sender.retransmitted_in_flight()),
            "srtt" => delta(sender.srtt()),
            "rto" => delta(Some(sender.rto())),
            "timer" => ms(sender.timer()),
            "cwnd" => self.cwnd.to_string(),
            "acked" => bytes(out.acked),
            "delivered" => bytes(out.delivered),
            "rtt" => delta(out.rtt),
            "ecn_echo" => yes(out.ecn_echo),
            "ecn_first" => yes(out.ecn_first),
            "ce" => out.ce.map_or("none".to_string(), |ce| ce.packets.to_string()),
            "ce_bytes" => out.ce.map_or("none".to_string(), |ce| bytes(ce.bytes)),
            "in_recovery" => yes(out.in_recovery),
            "app_limited" => yes(out.app_limited),
            "rate" => match out.delivery.and_then(|d| d.rate()) {
                // To a thousandth: records keep times in units of 1024 ps.
                Some(rate) => format!("{}kbps", (rate.as_bps() + 500) / 1000),
                None => "none".to_string(),
            },
            "sample_app_limited" => yes(out.delivery.is_some_and(|d| d.app_limited)),
            "loss_in_flight" => self.loss_in_flight.to_string(),
            "retransmitted" => sender.counters().retransmitted.to_string(),
            other => return Err(format!("a sender has no {other}")),
        })
    }
}

fn ms(at: Time) -> String {
    if at == Time::NEVER {
        return "none".to_string();
    }
    let us = at.as_ps() / 1_000_000;
    if us.is_multiple_of(1000) { format!("{}ms", us / 1000) } else { format!("{us}us") }
}

fn show(segment: &Segment) -> String {
    let mut text = match segment {
        s if s.payload > 0 => format!("{}:{}", s.range().begin, s.range().end),
        s if s.window_probe => "probe".to_string(),
        s if s.syn && !s.ack => "syn".to_string(),
        s => format!("ack {} win {}", s.ack_seq, s.window),
    };
    for (on, mark) in [
        (segment.retransmission, "again"),
        (segment.cwr, "cwr"),
        (segment.ect, "ect"),
        (segment.fin, "fin"),
        (segment.ece, "ece"),
        (segment.syn && segment.ack, "syn"),
    ] {
        if on {
            text.push(' ');
            text.push_str(mark);
        }
    }
    let blocks: Vec<String> = segment.sack.as_slice().iter().map(|b| format!("{}:{}", b.begin, b.end)).collect();
    if !blocks.is_empty() {
        text.push_str(&format!(" sack {}", blocks.join(",")));
    }
    if segment.ace > 0 {
        text.push_str(&format!(" ace {}", segment.ace));
    }
    if let Some(bytes) = segment.ecn_bytes {
        text.push_str(&format!(" bytes {},{}", bytes.ect0(), bytes.ce()));
    }
    if let Some(timestamps) = segment.timestamps {
        text.push_str(&format!(" echo {}", ms(timestamps.echo)));
    }
    text
}
