//! When a sender's account changes: it begins to wait, goes on, or loses packets.

use super::endpoint::Endpoint;
use super::nic::Place;
use super::sender_state::SenderState;
use super::tcp::TcpSender;
use farloop_cc::Sender;
use farloop_network::Network;
use farloop_network::limits::{self, Limit, Times};
use farloop_tcp::State;
use farloop_units::{Bytes, Delta, Time};

/// A wait for the window is long after less than this many times its own time under pacing.
const LONG_WAIT: u64 = 4;

impl SenderState {
    /// It begins to wait for its window, data or losses; the time since its pacing time began belongs to that, too (`paced`).
    #[inline(always)]
    pub fn begin_wait(&mut self, now: Time, paced: bool) {
        if !paced {
            self.account.since = now;
        }
        if self.account.offloads {
            self.account.unused = self.endpoint.tcp().and_then(TcpSender::unused_share);
        }
    }

    /// It has something to send again.
    #[inline(always)]
    pub fn end_wait(&mut self, now: Time) {
        if let Endpoint::Rdma(_) = &self.endpoint {
            let limit = self.account.window(self.control.cwnd, Limit::Window);
            self.account.add_window(limit, self.record.counts.packets, now);
        } else {
            self.end_other_wait(now);
        }
    }

    /// It begins to wait for its pacing time.
    #[inline(always)]
    pub fn begin_pacing(&mut self, now: Time) {
        self.account.since = now;
    }

    /// Its pacing time came at `until`.
    #[inline(always)]
    pub fn end_pacing(&mut self, until: Time) {
        if let Some(limit) = self.account.paces {
            self.account.add(limit, until);
        }
    }

    /// Its packet leaves now and was due at `at`: the link was busy or paused.
    #[cold]
    pub fn note_late(&mut self, at: Time, now: Time) {
        self.end_pacing(at);
        self.account.since = now;
    }

    /// Its rate changes, and with it the time of a full packet.
    #[inline]
    pub fn pace_by(&mut self, gap: Delta, now: Time) {
        let [line, path] = self.account.gaps;
        let paces = match gap {
            _ if gap > path => Some(Limit::Pacing),
            _ if gap > line => Some(Limit::Path),
            _ => None,
        };
        if paces != self.account.paces {
            if self.place == Place::Paced {
                self.end_pacing(now);
                self.account.since = now;
            }
            self.account.paces = paces;
        }
    }

    #[inline(never)]
    fn end_other_wait(&mut self, now: Time) {
        if let Endpoint::Multipath(own) = &mut self.endpoint
            && let Some(allowed) = &mut own.allowed
        {
            *allowed = now;
        }
        match &self.endpoint {
            Endpoint::Rdma(_) => {}
            Endpoint::Multipath(own) => {
                if own.packets.is_repairing() {
                    return self.account.add(Limit::Recovery, now);
                }
                let limit = self.account.window(self.control.cwnd, self.window_limit());
                self.account.add_window(limit, self.record.counts.packets, now);
            }
            Endpoint::Tcp(tcp) => {
                let held = self.holding_limit(tcp);
                self.add_tcp(held, now);
            }
        }
    }

    /// The time since then was spent under a limit of TCP.
    #[inline]
    fn add_tcp(&mut self, held: Limit, now: Time) {
        let window = match held {
            Limit::Window | Limit::Offload if self.control.cwnd.get() < self.account.bdp => self.narrow_window(now),
            _ => Limit::Path,
        };
        match held {
            Limit::Window => self.account.add_window(window, self.record.counts.packets, now),
            Limit::Offload => {
                // It waits for the window: only the part that segmentation offload left unused is its own.
                let whole = now.as_ps().saturating_sub(self.account.since.as_ps());
                let round_trip = self.latest_rtt.as_ps();
                let own = ((u128::from(round_trip) * u128::from(self.account.unused.unwrap_or(0))) >> 16) as u64;
                let from = Time::from_ps(now.as_ps() - own.min(whole));
                self.account.add_window(window, self.record.counts.packets, from);
                self.account.add(Limit::Offload, now);
            }
            Limit::ReceiveWindow => {
                let size = self.endpoint.tcp().map_or(Bytes::ZERO, TcpSender::receive_window);
                let limit = self.account.window(size, Limit::ReceiveWindow);
                self.account.add_window(limit, self.record.counts.packets, now);
            }
            held => self.account.add(held, now),
        }
    }

    /// The limit of a full window of TCP that is too small for the path. After a long wait, the packets that were paced in the round trip
    /// before would without pacing have waited for that window all the same.
    #[inline]
    fn narrow_window(&mut self, now: Time) -> Limit {
        let window = match self.cc.ssthresh() {
            Some(threshold) if self.control.cwnd < threshold => Limit::Start,
            _ => Limit::Window,
        };
        let account = &mut self.account;
        let pacing = Limit::Pacing as usize;
        let paced = account.spent[pacing] - account.paced;
        if paced > 0 {
            let wait = now.as_ps().saturating_sub(account.since.as_ps());
            let is_long = wait.saturating_mul(LONG_WAIT) >= paced;
            let round = if is_long { paced.min(self.latest_rtt.as_ps()) } else { 0 };
            account.spent[pacing] -= round;
            account.spent[window as usize] += round;
            account.paced = account.spent[pacing];
        }
        window
    }

    /// The limit that a full window of another transport than TCP is.
    fn window_limit(&self) -> Limit {
        if self.credit { Limit::Credit } else { Limit::Window }
    }

    /// Go-back-N: an answer or a timer came, which meant a loss (`lost`) or may end its repair.
    #[cold]
    #[inline(never)]
    pub fn note_repair(&mut self, lost: bool, now: Time) {
        let Endpoint::Rdma(state) = &self.endpoint else { return };
        let (acknowledged, sent) = (state.snd_una(), state.snd_max());
        if lost && self.account.repairs_to == 0 {
            match self.place {
                Place::Blocked => self.account.add(Limit::Recovery, now),
                _ => self.settle_account(now, false),
            }
            self.account.repairs_since = now;
        }
        if lost {
            self.account.repairs_to = sent;
        } else if acknowledged >= self.account.repairs_to {
            self.end_repair(now);
        }
    }

    fn end_repair(&mut self, now: Time) {
        let account = &mut self.account;
        if account.repairs_to > 0 {
            account.repairs_to = 0;
            account.since = account.repairs_since;
            account.add(Limit::Recovery, now);
            account.packets = self.record.counts.packets;
        }
    }

    /// Returns true if losses are being repaired, or may just have been.
    #[inline(always)]
    pub fn repairs(&self) -> bool {
        self.account.repairs_to > 0
    }

    /// The limit that held a TCP sender which has something to send, as it stands now.
    #[inline]
    fn holding_limit(&self, tcp: &TcpSender) -> Limit {
        match tcp.inner.state() {
            State::Recovery | State::Loss => Limit::Recovery,
            State::Failed(_) if tcp.inner.snd_nxt() > 0 => Limit::Recovery,
            _ if tcp.inner.snd_nxt() == 0 => Limit::Handshake,
            _ if self.control.cwnd > tcp.receive_window() => Limit::ReceiveWindow,
            _ if self.account.unused.is_some() => Limit::Offload,
            _ => Limit::Window,
        }
    }

    /// Adds the time spent so far, before the reason of a wait changes: `more` is to come where all was sent.
    pub fn settle_account(&mut self, now: Time, more: bool) {
        match self.place {
            Place::Ready => {}
            Place::Paced => self.end_pacing(now),
            Place::Blocked => {
                let limit = self.limit_now(more);
                match limit {
                    Limit::Window | Limit::Offload | Limit::ReceiveWindow if self.endpoint.tcp().is_some() => {
                        self.add_tcp(limit, now)
                    }
                    limit => self.account.add(limit, now),
                }
            }
        }
        (self.account.since, self.account.settled) = (now, now);
    }

    /// The limit of a sender that has not gone on.
    fn limit_now(&self, more: bool) -> Limit {
        let (acknowledged, sent) = match &self.endpoint {
            Endpoint::Tcp(tcp) if tcp.inner.unsent() == 0 && !self.record.gave_up => return Limit::Last,
            Endpoint::Tcp(tcp) => return self.holding_limit(tcp),
            Endpoint::Rdma(state) => (state.snd_una() >= self.limit, state.snd_nxt() >= self.limit),
            Endpoint::Multipath(own) => {
                let packets = &own.packets;
                (packets.delivered_bytes() >= self.limit, packets.backlog(self.limit) == 0)
            }
        };
        let repairs = match &self.endpoint {
            Endpoint::Multipath(own) => own.packets.is_repairing(),
            Endpoint::Rdma(_) | Endpoint::Tcp(_) => false,
        };
        match (acknowledged && more, sent) {
            (true, _) => Limit::Application,
            (false, true) => Limit::Last,
            (false, false) if repairs => Limit::Recovery,
            (false, false) => self.account.window(self.control.cwnd, self.window_limit()),
        }
    }

    /// The flow or the run is over: the time under each limit, which adds up to its life.
    pub fn close_account(&mut self, network: &Network, now: Time) -> Times {
        let more = network.pairs.contains(self.flow) && self.has_more(network);
        self.end_repair(now);
        self.settle_account(now, more);
        let life = Delta::from_ps(now.as_ps().saturating_sub(self.account.begin.as_ps()));
        limits::complete(self.account.spent, life)
    }

    /// Another flow begins on this connection.
    pub fn open_account(&mut self, now: Time) {
        let account = &mut self.account;
        (account.since, account.settled, account.begin, account.spent) = (now, now, now, Times::default());
        (account.repairs_to, account.packets, account.paced) = (0, self.record.counts.packets, 0);
        if self.place == Place::Blocked {
            self.begin_wait(now, false);
        }
    }
}
