//! Hosts: a NIC that schedules many flows, and the way of packets to and from the endpoints.
//!
//! The NIC sends PFC frames and control packets first, then data: flows whose window and pacing allow it take turns packet
//! by packet (round robin per class). A flow is in exactly one place ([`Place`]): blocked, in the ready queue, or in the
//! pacing heap until its time comes. No timer per packet: the transmitter's next event is the earliest of these.

use crate::noise::Noise;
use crate::paced::{Entry, PacedHeap};
use crate::packet::{DATA, DATA_CLASSES, LINK, PacketKind};
use crate::sender::Place;
use crate::sim::Simulation;
use crate::timers::TimerHeap;
use farloop_engine::RandomStream;
use farloop_units::{Delta, Time};
use std::collections::VecDeque;

/// A host.
pub(crate) struct Host {
    /// Its egress port.
    pub port: u32,
    /// Flows that may send now, by data class.
    pub ready: [VecDeque<u32>; DATA_CLASSES],
    /// Flows that wait for their pacing time.
    pub paced: PacedHeap,
    pub timers: TimerHeap,
    /// Starts and stops of its flows, latest first.
    pub agenda: Vec<Agenda>,
    pub random: RandomStream,
    pub noise: Noise,
}

/// A start or stop of a flow; the flow knows when. Ordered by flow, starts first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Agenda(u32);

impl Agenda {
    /// Flow numbers that it can hold.
    pub const FLOWS: usize = 1 << 31;

    pub fn start(flow: u32) -> Agenda {
        Agenda(flow << 1)
    }
    pub fn stop(flow: u32) -> Agenda {
        Agenda(flow << 1 | 1)
    }
    pub fn flow(self) -> u32 {
        self.0 >> 1
    }
    pub fn is_stop(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Simulation {
    /// A packet arrived at `host`, whose egress port is `p`.
    #[inline]
    pub(crate) fn host_receive(&mut self, host: u32, p: u32, slot: u32) {
        let packet = &self.packets[slot];
        if packet.class == LINK {
            return self.pfc_receive(p, slot);
        }
        debug_assert_eq!(packet.dst, host, "misrouted packet");
        self.totals.delivered += 1;
        match packet.kind {
            PacketKind::Data | PacketKind::Bare => self.receive_data(host, slot),
            PacketKind::Ack | PacketKind::Nack => self.sender_ack(slot),
            _ => self.sender_signal(slot),
        }
    }

    /// Sends a packet that is no flow's data.
    #[inline]
    pub(crate) fn host_send(&mut self, host: u32, slot: u32) {
        let p = self.hosts[host as usize].port;
        self.enqueue(p, slot);
        self.kick_host(host, p);
    }

    /// The flow in `slot` changed: window, rate, data or losses. Puts it where it belongs and wakes the NIC.
    #[inline]
    pub(crate) fn reschedule(&mut self, slot: u32) {
        let sender = &self.senders[slot];
        let (host, class) = (sender.host, (sender.class - DATA) as usize);
        let sendable = sender.sendable();
        let state = &mut self.hosts[host as usize];
        match sender.place {
            Place::Blocked if sendable => {
                let at = sender.next_send();
                if at <= self.now {
                    self.senders[slot].place = Place::Ready;
                    state.ready[class].push_back(slot);
                } else {
                    let entry = Entry { at, flow: sender.flow, slot };
                    state.paced.insert(&mut self.senders, entry);
                }
            }
            Place::Paced(position) if sendable => {
                let at = sender.next_send();
                state.paced.retime(&mut self.senders, position as usize, at);
            }
            Place::Paced(position) => {
                state.paced.remove(&mut self.senders, position as usize);
                self.senders[slot].place = Place::Blocked;
            }
            // A ready flow is looked at again when its turn comes.
            Place::Ready | Place::Blocked => {}
        }
        let p = state.port;
        self.kick_host(host, p);
    }

    /// Something may have become ready at a host's port.
    #[inline]
    pub(crate) fn kick_host(&mut self, host: u32, p: u32) {
        if self.ports[p as usize].busy_until <= self.now {
            self.transmit_host(host, p);
        } else {
            let at = self.next_transmission(host, p);
            self.arm(p, at);
        }
    }

    /// When a host's transmitter will have something to send.
    #[inline]
    fn next_transmission(&self, host: u32, p: u32) -> Time {
        let (port, state) = (&self.ports[p as usize], &self.hosts[host as usize]);
        let classes =
            (0..DATA_CLASSES).any(|c| !state.ready[c].is_empty() && port.paused & (1 << (DATA + c as u8)) == 0);
        if port.ready() != 0 || classes {
            return port.busy_until.max(self.now);
        }
        match state.paced.next() {
            Time::NEVER => Time::NEVER,
            at => at.max(port.busy_until),
        }
    }

    /// Sends the next packet of a host; its transmitter must be free.
    pub(crate) fn transmit_host(&mut self, host: u32, p: u32) {
        let port = &mut self.ports[p as usize];
        let ready = port.ready();
        if ready != 0 {
            let class = ready.trailing_zeros() as u8;
            if class >= DATA {
                self.stats[p as usize].integrate(self.now, port.data_queue);
            }
            let slot = port.dequeue(&self.packets, class);
            self.host_launch(host, p, slot);
        } else {
            let state = &mut self.hosts[host as usize];
            while state.paced.next() <= self.now
                && let Some(entry) = state.paced.pop(&mut self.senders)
            {
                let sender = &mut self.senders[entry.slot];
                sender.place = Place::Ready;
                state.ready[(sender.class - DATA) as usize].push_back(entry.slot);
            }
            self.send_next_flow(host, p);
        }
        let at = self.next_transmission(host, p);
        self.arm(p, at);
    }

    /// Sends a packet of a host, whose transmitter is free.
    #[inline]
    pub(crate) fn host_launch(&mut self, host: u32, p: u32, slot: u32) {
        let late = if self.noisy { self.noise(host, p, slot) } else { Delta::ZERO };
        let port = &mut self.ports[p as usize];
        port.launch_late(&mut self.packets, &mut self.calendar, self.arrival_base + p, slot, self.now, late);
    }

    /// How much longer than the link's delay a packet takes that host `host` sends now.
    #[inline(never)]
    fn noise(&mut self, host: u32, p: u32, slot: u32) -> Delta {
        let packet = &self.packets[slot];
        let sigma = match self.crosses(packet.flow) {
            false => self.transport.tcp.delay_noise_intra,
            true => self.transport.tcp.delay_noise_cross,
        };
        let port = &self.ports[p as usize];
        let time = port.transmission_time(packet.wire);
        let at_rest = self.now + time + port.delay;
        self.hosts[host as usize].noise.delay(at_rest, time, sigma)
    }

    /// Lets the first flow in turn send that still may.
    fn send_next_flow(&mut self, host: u32, p: u32) {
        for class in 0..DATA_CLASSES {
            if self.ports[p as usize].paused & (1 << (DATA + class as u8)) != 0 {
                continue;
            }
            while let Some(slot) = self.hosts[host as usize].ready[class].pop_front() {
                if !self.senders[slot].sendable() {
                    self.block(slot);
                    continue;
                }
                if self.senders[slot].next_send() > self.now {
                    self.put_back(host, slot);
                    continue;
                }
                self.send_data(slot);
                if self.senders[slot].sendable() {
                    self.put_back(host, slot);
                } else {
                    self.block(slot);
                }
                return;
            }
        }
    }

    /// A flow has nothing that it may send. What its chunk lacks will be another one.
    #[inline]
    fn block(&mut self, slot: u32) {
        let sender = &mut self.senders[slot];
        sender.place = Place::Blocked;
        sender.chunk.left = 0;
    }

    /// Queues a flow that may send, now or at its pacing time.
    fn put_back(&mut self, host: u32, slot: u32) {
        let sender = &mut self.senders[slot];
        let at = sender.next_send();
        let state = &mut self.hosts[host as usize];
        if at <= self.now {
            sender.place = Place::Ready;
            state.ready[(sender.class - DATA) as usize].push_back(slot);
        } else {
            let entry = Entry { at, flow: sender.flow, slot };
            state.paced.insert(&mut self.senders, entry);
        }
    }
}
