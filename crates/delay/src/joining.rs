//! Joins TCP segments of one connection that leave together into one frame of several segments, as the receive offload of a network card
//! does (GRO, LRO). The receiving host then works once for all of them, in the system call that sends them.
//!
//! Only what is due already is joined, so no packet leaves earlier for it, and each has left when the frame has. The rules are those by
//! which Linux merges what arrives (`tcp_gro_receive` in net/ipv4/tcp_offload.c), and stricter: windows are equal, too, and checksums are
//! left to others in all of them, for the checksum of a joined frame hides a wrong one of a segment.

use crate::frame::{self, Frame, Offload, TCP, VNET_HEADER, place, put, word};

/// Most bytes of a packet with its IP header: the field has 16 bits.
const MAX_PACKET: usize = 65_535;

const FIN_SYN_RST_URG: u8 = 0b10_0111;
const PSH: u8 = 0b1000;
const ACK: u8 = 0b1_0000;
const CWR: u8 = 0x80;

/// Where a TCP segment is in its frame.
#[derive(Clone, Copy, Debug)]
struct Segment {
    ip: usize,
    v6: bool,
    tcp: usize,
    /// Bytes before the payload.
    headers: usize,
    payload: usize,
    sequence: u32,
    /// It has what can be joined: payload, no flag that ends or begins something, a checksum that is left to others.
    joins: bool,
}

impl Segment {
    /// `None` for a frame that is no whole TCP packet.
    fn of(frame: &Frame) -> Option<Segment> {
        let bytes = &frame.bytes[..];
        let place = place(bytes)?;
        let (tcp, TCP) = place.transport? else { return None };
        let ip = place.ip;
        let headers = tcp + usize::from(bytes.get(tcp + 12)? >> 4) * 4;
        let end = match place.v6 {
            true => ip + 40 + usize::from(word(bytes, ip + 4)?),
            false => ip + usize::from(word(bytes, ip + 2)?),
        };
        // Ethernet pads short packets, which have no payload to join.
        let payload = end.min(bytes.len()).checked_sub(headers)?;
        let is_plain = place.v6 || (tcp == ip + 20 && word(bytes, ip + 6)? & 0x3fff == 0);
        let flags = bytes[tcp + 13];
        let offload = Offload::from_bytes(&frame.header);
        Some(Segment {
            ip,
            v6: place.v6,
            tcp,
            headers,
            payload,
            sequence: number(bytes, tcp + 4),
            joins: is_plain
                && payload > 0
                && end == bytes.len()
                && flags & (FIN_SYN_RST_URG | CWR | ACK) == ACK
                && offload == Offload { checksum: Some((tcp as u16, 16)), segments: None },
        })
    }
}

/// Frames of a batch that leave as one.
#[derive(Clone, Default, Debug)]
pub struct Group {
    /// Their places in the batch, in order.
    members: Vec<usize>,
    first: Option<Segment>,
    payload: usize,
    /// No further one may follow.
    is_closed: bool,
}

/// Groups of the frames of a batch. Keeps its memory from one batch to the next.
#[derive(Default, Debug)]
pub struct Joiner {
    groups: Vec<Group>,
    used: usize,
}

impl Joiner {
    /// Divides a batch into groups, in the order of their first frames, and rewrites the headers of those that were joined. Segments of
    /// one connection stay in order.
    pub fn join(&mut self, batch: &mut [(u64, Frame)], joins: bool) {
        self.used = 0;
        for at in 0..batch.len() {
            let Some(segment) = joins.then(|| Segment::of(&batch[at].1)).flatten() else {
                // What is not understood does not change places with anything.
                self.groups[..self.used].iter_mut().for_each(|group| group.is_closed = true);
                self.open(at, None);
                continue;
            };
            let frames = &*batch;
            let same = self.groups[..self.used].iter_mut().rev().find(|group| {
                group.first.is_some_and(|first| is_same_connection(frames, group.members[0], &first, at, &segment))
            });
            match same {
                Some(group) if group.accepts(frames, at, &segment) => {
                    group.members.push(at);
                    group.payload += segment.payload;
                    let first = group.first.map_or(0, |first| first.payload);
                    group.is_closed = segment.payload < first || is_pushed(&frames[at].1, &segment);
                }
                _ => self.open(at, Some(segment)),
            }
        }
        for group in &self.groups[..self.used] {
            if let (Some(first), [head, .., last]) = (group.first, &group.members[..]) {
                let is_pushed = is_pushed(&batch[*last].1, &first);
                rewrite(&mut batch[*head].1, &first, group.payload, is_pushed);
            }
        }
    }

    /// The parts of each frame to send: the header for the kernel, the first frame, and the payloads of those behind it.
    pub fn frames<'a>(
        &'a self,
        batch: &'a [(u64, Frame)],
    ) -> impl Iterator<Item = (&'a [u8; VNET_HEADER], impl Iterator<Item = &'a [u8]>)> {
        self.groups[..self.used].iter().map(move |group| {
            let headers = group.first.map_or(0, |first| first.headers);
            let parts = group.members.iter().enumerate().map(move |(number, &at)| {
                let bytes = &batch[at].1.bytes[..];
                if number == 0 { bytes } else { &bytes[headers..] }
            });
            (&batch[group.members[0]].1.header, parts)
        })
    }

    /// Bytes of the longest frame that was joined from several; 0 if there is none.
    pub fn longest(&self) -> usize {
        let joined = self.groups[..self.used].iter().filter(|group| group.members.len() > 1);
        joined.map(|group| group.first.map_or(0, |first| first.headers) + group.payload).max().unwrap_or(0)
    }

    fn open(&mut self, at: usize, first: Option<Segment>) {
        if self.used == self.groups.len() {
            self.groups.push(Group::default());
        }
        let group = &mut self.groups[self.used];
        self.used += 1;
        group.members.clear();
        group.members.push(at);
        group.first = first;
        group.payload = first.map_or(0, |first| first.payload);
        group.is_closed = first.is_none_or(|first| !first.joins);
    }
}

impl Group {
    /// True if a segment of its connection continues it.
    fn accepts(&self, batch: &[(u64, Frame)], at: usize, next: &Segment) -> bool {
        let Some(first) = self.first else { return false };
        let (a, b) = (&batch[self.members[0]].1.bytes[..], &batch[at].1.bytes[..]);
        let (ip, tcp) = (first.ip, first.tcp);
        // A closed group takes none; nor does one whose only segment was pushed.
        let is_closed = self.is_closed || self.members.len() == 1 && a[tcp + 13] & PSH != 0;
        // Of IP all but lengths, the identification and the checksum: with the marks.
        let is_same_ip = match first.v6 {
            true => a[ip..ip + 4] == b[ip..ip + 4] && a[ip + 6..ip + 8] == b[ip + 6..ip + 8],
            false => a[ip..ip + 2] == b[ip..ip + 2] && a[ip + 6..ip + 10] == b[ip + 6..ip + 10],
        };
        // Of TCP all but the sequence number, PSH and the checksum.
        let is_same_tcp = a[tcp + 8..tcp + 13] == b[tcp + 8..tcp + 13]
            && (a[tcp + 13] | PSH) == (b[tcp + 13] | PSH)
            && a[tcp + 14..tcp + 16] == b[tcp + 14..tcp + 16]
            && a[tcp + 18..first.headers] == b[tcp + 18..next.headers];
        !is_closed
            && next.joins
            && is_same_ip
            && is_same_tcp
            && next.sequence == first.sequence.wrapping_add(self.payload as u32)
            && next.payload <= first.payload
            && first.headers - ip + self.payload + next.payload <= MAX_PACKET
    }
}

/// True if two segments have one Ethernet header, addresses and ports.
fn is_same_connection(batch: &[(u64, Frame)], i: usize, first: &Segment, j: usize, next: &Segment) -> bool {
    let (a, b) = (&batch[i].1.bytes[..], &batch[j].1.bytes[..]);
    let (ip, tcp) = (first.ip, first.tcp);
    let addresses = if first.v6 { ip + 8..ip + 40 } else { ip + 12..ip + 20 };
    (first.v6, ip, tcp) == (next.v6, next.ip, next.tcp)
        && a[tcp..tcp + 4] == b[tcp..tcp + 4]
        && a[addresses.clone()] == b[addresses]
        && a[..ip] == b[..ip]
}

fn is_pushed(frame: &Frame, segment: &Segment) -> bool {
    frame.bytes[segment.tcp + 13] & PSH != 0
}

/// Gives a first frame the headers of the whole one.
fn rewrite(frame: &mut Frame, first: &Segment, payload: usize, is_pushed: bool) {
    let (ip, tcp, inner) = (first.ip, first.tcp, first.headers - first.tcp + payload);
    let bytes = &mut frame.bytes[..];
    if is_pushed {
        bytes[tcp + 13] |= PSH;
    }
    if first.v6 {
        put(bytes, ip + 4, inner as u16);
    } else {
        put(bytes, ip + 2, (tcp - ip + inner) as u16);
        frame::renew_ipv4_checksum(bytes, ip, tcp);
    }
    frame::put_pseudo_sum(bytes, ip, first.v6, tcp, inner);
    frame.header = Offload::joined(first.v6, first.headers, first.payload, tcp);
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
#[path = "joining_tests.rs"]
mod tests;
