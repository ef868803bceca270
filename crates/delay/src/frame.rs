//! Ethernet frames: what they carry, congestion marks, VLAN tags, and the segments of a frame that its sender has left whole
//! (segmentation offload), so that a link sees packets as a wire does.

/// Bytes of `struct virtio_net_hdr`, which packet sockets put before a frame.
pub const VNET_HEADER: usize = 10;

/// Ethernet's header without tags.
pub const ETHERNET: usize = 14;

/// Bytes of a VLAN tag.
pub const TAG: usize = 4;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Congestion was echoed: a flag beside the type.
const GSO_ECN: u8 = 0x80;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;
/// Where TCP's header has its checksum.
const TCP_CHECKSUM: usize = 16;

/// The work that the sender of a frame has left to others: a checksum, and cutting it into segments.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offload {
    /// Where the checksum begins to count, and where it is, from there; `None` if it is complete.
    pub checksum: Option<(u16, u16)>,
    /// The kind of segments and the bytes of payload of each; `None` for a frame that is one packet.
    pub segments: Option<(u8, u16)>,
}

impl Offload {
    /// From the bytes of `struct virtio_net_hdr`, at least [`VNET_HEADER`].
    pub fn from_bytes(bytes: &[u8]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let kind = bytes[1] & !GSO_ECN;
        Offload {
            checksum: (bytes[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(8))),
            segments: (kind != 0).then(|| (kind, word(4))),
        }
    }

    /// As these bytes, for a frame of TCP segments with so many bytes of headers and, but for the last one, of payload each.
    pub(crate) fn joined(v6: bool, headers: usize, size: usize, tcp: usize) -> [u8; VNET_HEADER] {
        let mut header = Offload { checksum: Some((tcp as u16, TCP_CHECKSUM as u16)), segments: None }.header();
        header[1] = if v6 { GSO_TCP6 } else { GSO_TCP4 };
        header[2..4].copy_from_slice(&(headers as u16).to_ne_bytes());
        header[4..6].copy_from_slice(&(size as u16).to_ne_bytes());
        header
    }

    /// As these bytes; for a single packet.
    fn header(self) -> [u8; VNET_HEADER] {
        let mut header = [0; VNET_HEADER];
        if let Some((start, offset)) = self.checksum {
            header[0] = NEEDS_CHECKSUM;
            header[6..8].copy_from_slice(&start.to_ne_bytes());
            header[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
        header
    }
}

/// A frame of one packet, with what a packet socket wants before it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Frame {
    /// From the Ethernet header on, tags included, without the frame check sequence.
    pub bytes: Vec<u8>,
    /// `struct virtio_net_hdr`.
    pub header: [u8; VNET_HEADER],
}

/// The kinds of TCP segments that a scenario's events count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// With payload.
    Data,
    /// An acknowledgement without, but that of a SYN.
    Ack,
}

/// Where the headers of a packet begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) ip: usize,
    pub(crate) v6: bool,
    /// The transport's header and its protocol; `None` for fragments but the first, and for IPv6's extension headers.
    pub(crate) transport: Option<(usize, u8)>,
}

/// The packet of a frame behind up to two tags; `None` if it is neither IPv4 nor IPv6, or is cut off.
pub(crate) fn place(bytes: &[u8]) -> Option<Place> {
    let ip = ETHERNET + tags(bytes);
    let kind = word(bytes, ip - 2)?;
    let first = *bytes.get(ip)?;
    match (kind, first >> 4) {
        (IPV4, 4) => {
            let header = usize::from(first & 15) * 4;
            bytes.get(ip + 20 - 1)?;
            let is_first = word(bytes, ip + 6)? & 0x1fff == 0;
            let transport = (is_first && header >= 20).then_some((ip + header, bytes[ip + 9]));
            Some(Place { ip, v6: false, transport })
        }
        (IPV6, 6) => {
            bytes.get(ip + 40 - 1)?;
            let next = bytes[ip + 6];
            Some(Place { ip, v6: true, transport: matches!(next, TCP | UDP).then_some((ip + 40, next)) })
        }
        _ => None,
    }
}

/// Bytes of the tags of a frame, of which up to two count.
pub fn tags(bytes: &[u8]) -> usize {
    let is_tag = |number: &usize| matches!(word(bytes, ETHERNET - 2 + number * TAG), Some(0x8100 | 0x88a8));
    (0..2).take_while(is_tag).count() * TAG
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Marks a packet that is ECN-capable as having met congestion (RFC 3168, section 5). False for one that is not, which stays as it is.
pub fn mark(bytes: &mut [u8]) -> bool {
    let Some(place) = place(bytes) else { return false };
    if place.v6 {
        // The two bits are the last of the traffic class, in the second byte.
        let class = &mut bytes[place.ip + 1];
        if *class & 0x30 == 0 {
            return false;
        }
        *class |= 0x30;
        return true;
    }
    let old = u16::from_be_bytes([bytes[place.ip], bytes[place.ip + 1]]);
    if old & 3 == 0 {
        return false;
    }
    let new = old | 3;
    put(bytes, place.ip, new);
    // RFC 1624, equation 3.
    let checksum = u16::from_be_bytes([bytes[place.ip + 10], bytes[place.ip + 11]]);
    put(bytes, place.ip + 10, !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new)));
    true
}

/// The kind of a TCP segment over IPv4 or IPv6; `None` for all other frames.
pub fn kind(bytes: &[u8]) -> Option<Kind> {
    let place = place(bytes)?;
    let (tcp, TCP) = place.transport? else { return None };
    let end = match place.v6 {
        true => place.ip + 40 + usize::from(word(bytes, place.ip + 4)?),
        false => place.ip + usize::from(word(bytes, place.ip + 2)?),
    };
    let header = usize::from(bytes.get(tcp + 12)? >> 4) * 4;
    match end.checked_sub(tcp + header)? {
        0 if bytes.get(tcp + 13)? & 0b111 != 0 => None,
        0 => Some(Kind::Ack),
        _ => Some(Kind::Data),
    }
}

/// A key by which a frame is known at another place, for one in `1 << SAMPLED_BITS` of IPv4's packets: those whose identification ends with
/// as many zeros. It does not change with a mark.
pub fn sample_key(bytes: &[u8]) -> Option<u64> {
    let packet = bytes.get(ETHERNET..ETHERNET + 36)?;
    if word(bytes, ETHERNET - 2)? != IPV4 || word(packet, 4)? & ((1 << SAMPLED_BITS) - 1) != 0 {
        return None;
    }
    // Identification, addresses, ports, and what follows them up to TCP's checksum: its numbers, or the first payload of UDP.
    let parts = [&packet[4..6], &packet[12..36]];
    let hash = |key: u64, byte: &u8| (key ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    Some(parts.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325, hash))
}

/// See [`sample_key`].
pub const SAMPLED_BITS: u32 = 5;

/// Takes the packets of frames, and gives buffers to fill.
pub trait Packets {
    /// A buffer, whatever it holds.
    fn buffer(&mut self) -> Vec<u8>;
    /// The next packet.
    fn take(&mut self, packet: Frame);
}

/// Gives `into` each packet of a frame as it came: with its VLAN tag, and cut into segments where its sender has left that to others. False
/// for a frame that cannot be cut.
pub fn packets(bytes: &[u8], offload: Offload, vlan: Option<(u16, u16)>, into: &mut impl Packets) -> bool {
    let Some((kind, size)) = offload.segments else {
        let shift = if vlan.is_some() { TAG as u16 } else { 0 };
        let checksum = offload.checksum.map(|(start, offset)| (start + shift, offset));
        let header = Offload { checksum, segments: None }.header();
        let bytes = tagged(bytes, vlan, into.buffer());
        into.take(Frame { bytes, header });
        return true;
    };
    let with_tag = vlan.map(|_| tagged(bytes, vlan, Vec::new()));
    let whole = with_tag.as_deref().unwrap_or(bytes);
    let Some(cut) = Cut::new(whole, kind, usize::from(size)) else { return false };
    for number in 0..cut.count() {
        let packet = cut.segment(whole, number, into.buffer());
        into.take(packet);
    }
    true
}

/// A copy of a frame with its tag.
fn tagged(bytes: &[u8], vlan: Option<(u16, u16)>, mut into: Vec<u8>) -> Vec<u8> {
    into.clear();
    match vlan {
        Some((kind, control)) if bytes.len() >= ETHERNET => {
            into.extend_from_slice(&bytes[..ETHERNET - 2]);
            into.extend_from_slice(&kind.to_be_bytes());
            into.extend_from_slice(&control.to_be_bytes());
            into.extend_from_slice(&bytes[ETHERNET - 2..]);
        }
        _ => into.extend_from_slice(bytes),
    }
    into
}

/// How a frame of several segments is cut.
struct Cut {
    place: Place,
    transport: usize,
    is_tcp: bool,
    /// Bytes before the payload, and of a segment's payload.
    headers: usize,
    size: usize,
    payload: usize,
}

impl Cut {
    fn new(whole: &[u8], kind: u8, size: usize) -> Option<Cut> {
        let place = place(whole)?;
        let (transport, protocol) = place.transport?;
        let is_tcp = match (kind, protocol) {
            (GSO_TCP4 | GSO_TCP6, TCP) => true,
            (GSO_UDP, UDP) => false,
            _ => return None,
        };
        let headers = transport + if is_tcp { usize::from(whole.get(transport + 12)? >> 4) * 4 } else { 8 };
        let payload = whole.len().checked_sub(headers)?;
        (size > 0 && payload > 0).then_some(Cut { place, transport, is_tcp, headers, size, payload })
    }

    fn count(&self) -> usize {
        self.payload.div_ceil(self.size)
    }

    fn segment(&self, whole: &[u8], number: usize, mut bytes: Vec<u8>) -> Frame {
        let first = number * self.size;
        let length = self.size.min(self.payload - first);
        bytes.clear();
        bytes.extend_from_slice(&whole[..self.headers]);
        bytes.extend_from_slice(&whole[self.headers + first..self.headers + first + length]);
        let (ip, transport) = (self.place.ip, self.transport);
        let inner = bytes.len() - transport;
        if self.place.v6 {
            put(&mut bytes, ip + 4, (self.headers - ip - 40 + length) as u16);
        } else {
            put(&mut bytes, ip + 2, (self.headers - ip + length) as u16);
            let identification = u16::from_be_bytes([bytes[ip + 4], bytes[ip + 5]]).wrapping_add(number as u16);
            put(&mut bytes, ip + 4, identification);
            renew_ipv4_checksum(&mut bytes, ip, transport);
        }
        if self.is_tcp {
            let at = transport + 4;
            let sequence = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            bytes[at..at + 4].copy_from_slice(&sequence.wrapping_add(first as u32).to_be_bytes());
            let flags = &mut bytes[transport + 13];
            // FIN and PSH are those of the last segment, CWR that of the first.
            if number + 1 < self.count() {
                *flags &= !0b1001;
            }
            if number > 0 {
                *flags &= !0x80;
            }
        } else {
            put(&mut bytes, transport + 4, inner as u16);
        }
        // The rest of the checksum is left to others, as it came.
        let (at, protocol) = if self.is_tcp { (TCP_CHECKSUM, TCP) } else { (6, UDP) };
        let pseudo = pseudo_sum(&bytes, ip, self.place.v6, protocol, inner);
        put(&mut bytes, transport + at, pseudo);
        let header = Offload { checksum: Some((transport as u16, at as u16)), segments: None }.header();
        Frame { bytes, header }
    }
}

/// Computes the checksum of an IPv4 header anew.
pub(crate) fn renew_ipv4_checksum(bytes: &mut [u8], ip: usize, transport: usize) {
    put(bytes, ip + 10, 0);
    let checksum = !fold(sum(&bytes[ip..transport]));
    put(bytes, ip + 10, checksum);
}

/// Puts the sum of the pseudo header into TCP's checksum: the rest is left to others.
pub(crate) fn put_pseudo_sum(bytes: &mut [u8], ip: usize, v6: bool, tcp: usize, inner: usize) {
    let pseudo = pseudo_sum(bytes, ip, v6, TCP, inner);
    put(bytes, tcp + TCP_CHECKSUM, pseudo);
}

/// The sum of the pseudo header of a packet whose transport has `inner` bytes.
fn pseudo_sum(bytes: &[u8], ip: usize, v6: bool, protocol: u8, inner: usize) -> u16 {
    let addresses = if v6 { &bytes[ip + 8..ip + 40] } else { &bytes[ip + 12..ip + 20] };
    fold(sum(addresses) + u64::from(protocol) + inner as u64)
}

/// The sum of 16-bit words of RFC 1071, not yet folded.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2);
    words.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))).sum()
}

/// One's complement of 16 bits.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
#[path = "frame_tests.rs"]
pub(crate) mod tests;
