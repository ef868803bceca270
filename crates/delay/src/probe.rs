//! Instruments beside the emulator: a sender of paced packets, and a receiver that records when sampled packets reached an interface,
//! by the kernel's clock.

use crate::emulator::{monotonic, nanoseconds};
use crate::frame::{SAMPLED_BITS, VNET_HEADER, sample_key};
use crate::ring::{self, Interface};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike, bind,
    recvmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// A stream of packets of one size at one distance, for [`send`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The interface that they leave by.
    pub interface: String,
    /// Bytes of a frame, at least 64.
    pub size: usize,
    /// Ns from one to the next.
    pub gap: u64,
    /// Packets that leave together: a sleep takes longer than the gap of a fast link.
    pub burst: usize,
    /// For so many ns.
    pub duration: u64,
}

/// Sends a stream of UDP packets to an address that nobody has, so that receivers drop them early. Returns how many left.
pub fn send(stream: &Stream) -> io::Result<u64> {
    let interface = Interface::open(&stream.interface, 64, 1, false)?;
    ring::set_timer_slack(1)?;
    let burst = stream.burst.clamp(1, ring::BATCH);
    let mut frames: Vec<Vec<u8>> = (0..burst).map(|_| udp(stream.size)).collect();
    let header = [0; VNET_HEADER];
    let start = monotonic()?;
    let (mut sent, mut refused) = (0_u64, 0_u64);
    loop {
        let now = monotonic()? - start;
        if now >= stream.duration {
            return Ok(sent - refused);
        }
        let due = sent * stream.gap;
        if now < due {
            let wait = TimeSpec::from(Duration::from_nanos(due - now));
            match ppoll(&mut [], Some(wait), None) {
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        for frame in &mut frames {
            number(frame, sent);
            sent += 1;
        }
        refused += interface.send(frames.iter().map(|frame| (&header, std::iter::once(&frame[..]))))?;
    }
}

/// A UDP packet over IPv4, ECN-capable, between addresses for documentation (RFC 5737).
fn udp(size: usize) -> Vec<u8> {
    let size = size.max(64);
    let mut frame = vec![0; size];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0xfa, 2, 2, 0, 0, 0, 0xfa, 1, 8, 0]);
    let length = (size - 14) as u16;
    frame[14..34].copy_from_slice(&[0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    frame[34..36].copy_from_slice(&40_000_u16.to_be_bytes());
    frame[36..38].copy_from_slice(&9_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
    frame
}

/// Gives a packet its number: as its identification and, whole, as its first payload.
fn number(frame: &mut [u8], number: u64) {
    frame[18..20].copy_from_slice(&(number as u16).to_be_bytes());
    frame[42..50].copy_from_slice(&number.to_be_bytes());
    frame[24..26].fill(0);
    let words = frame[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Calls `ready`, and then records when sampled packets reach an interface, in ns of `CLOCK_MONOTONIC`, with their keys, until `stop`
/// has no writer any more.
pub fn record(interface: &str, ready: impl FnOnce(), stop: &mut (impl Read + AsFd)) -> io::Result<Vec<(u64, u64)>> {
    let socket = open(interface)?;
    ready();
    let mut samples = Vec::new();
    let mut buffer = [0; 128];
    loop {
        let has_stop = {
            let mut all =
                [PollFd::new(socket.as_fd(), PollFlags::POLLIN), PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut all, None, None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            all[1].revents().is_some_and(|events| !events.is_empty())
        };
        while let Some(sample) = receive(&socket, &mut buffer)? {
            samples.extend(sample);
        }
        if has_stop && stop.read(&mut [0; 64])? == 0 {
            return Ok(samples);
        }
        // Packets are stamped when they come: to look for them now and then is enough, and leaves the processor to others.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The next packet that has come: its key and its time, if it is a sample.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<Option<(u64, u64)>>> {
    let mut space = cmsg_space!(TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    let (size, stamp) = match recvmsg::<LinkAddr>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty()) {
        // What this interface sends is not what reaches it.
        Ok(message)
            if message.address.is_some_and(|from| i32::from(from.pkttype()) == i32::from(libc::PACKET_OUTGOING)) =>
        {
            return Ok(Some(None));
        }
        Ok(message) => {
            let stamp = message.cmsgs()?.find_map(|c| match c {
                ControlMessageOwned::ScmTimestampns(at) => Some(nanoseconds(at)),
                _ => None,
            });
            (message.bytes, stamp)
        }
        Err(Errno::EAGAIN) => return Ok(None),
        Err(Errno::EINTR | Errno::ENETDOWN) => return Ok(Some(None)),
        Err(error) => return Err(error.into()),
    };
    let wall = nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME)?);
    let now = monotonic()?;
    let time = stamp.map(|stamp| now.saturating_sub(wall.saturating_sub(stamp)));
    Ok(Some(sample_key(&buffer[..size.min(128)]).zip(time)))
}

/// A socket that takes the sampled packets of an interface alone.
fn open(name: &str) -> io::Result<OwnedFd> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{name}: no such interface"));
    let is_link = |address: &nix::sys::socket::SockaddrStorage| address.family() == Some(AddressFamily::Packet);
    let mut all = nix::ifaddrs::getifaddrs()?.filter(|interface| interface.interface_name == name);
    let address = all.find_map(|interface| interface.address.filter(is_link)).ok_or_else(missing)?;
    let address = *address.as_link_addr().ok_or_else(missing)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let made = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    // The load of a half word, and a jump if none of the sampled bits is set: all of the packet, or none.
    let (load, jump, done) = (
        libc::BPF_LD | libc::BPF_H | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let word = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mask = (1 << SAMPLED_BITS) - 1;
    let mut filter =
        [word(load, 0, 0, 18), word(jump, 1, 0, mask), word(done, 0, 0, 128), word(done, 0, 0, 0), word(done, 0, 0, 0)];
    ring::set_filter(&made, &mut filter)?;
    setsockopt(&made, sockopt::RcvBufForce, &(32 << 20))?;
    setsockopt(&made, sockopt::ReceiveTimestampns, &true)?;
    bind(made.as_raw_fd(), &address)?;
    Ok(made)
}
