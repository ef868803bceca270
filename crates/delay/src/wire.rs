//! Moves frames between interfaces of this network namespace, by packet sockets (packet(7)). Needs `CAP_NET_RAW`.
//!
//! A frame's time is the kernel's, of when it reached the interface: how long this process took to wake up does not add to the delay. It
//! sleeps until something comes or is due.

use crate::accidents::{Accidents, Counter, Fate};
use crate::queue::{Lateness, Pace, Queue};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrLike, bind, recvmsg, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// Most bytes that wait in one direction: a second at 1 Gbps.
const ROOM: usize = 125_000_000;

/// Most frames that are taken from one socket before those that are due leave.
const BATCH: usize = 64;

/// No frame is larger.
const LARGEST: usize = 1 << 16;

/// Two interfaces of this network namespace, and how long frames take from each to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The names of the interfaces.
    pub ends: [String; 2],
    /// In ns.
    pub delay: u64,
    /// Of the link that it emulates.
    pub pace: Pace,
    /// Accidents of segments that come by the first and by the second interface.
    pub accidents: [Accidents; 2],
}

/// Calls `ready`, and then delays frames on all lines until `stop` has no writer any more: an end of a pipe that the process which wants
/// the delay holds open. Gives the lateness of each line, of frames that came by its first interface and of those that came by the second.
///
/// An interface that cannot be opened, or a socket that fails, is an error.
pub fn run(lines: &[Line], ready: impl FnOnce(), stop: &mut (impl Read + AsFd)) -> io::Result<Vec<[Lateness; 2]>> {
    let mut sockets = Vec::new();
    let (mut queues, mut counters) = (Vec::new(), Vec::new());
    for line in lines {
        for (end, accidents) in line.ends.iter().zip(&line.accidents) {
            sockets.push(open(end)?);
            queues.push(Queue::new(line.delay, ROOM, line.pace));
            counters.push(Counter::new(accidents.clone()));
        }
    }
    ready();
    let mut buffer = vec![0; LARGEST];
    loop {
        let now = monotonic()?;
        let due = queues.iter().filter_map(Queue::due).min();
        let wait = due.map(|due| TimeSpec::from(Duration::from_nanos(due.saturating_sub(now))));
        let (ready, ended) = poll(&sockets, stop, wait)?;
        if ended {
            return Ok(queues.chunks_exact(2).map(|both| [both[0].lateness(), both[1].lateness()]).collect());
        }
        for index in ready {
            receive(&sockets[index], &mut queues[index], counters[index].as_mut(), &mut buffer)?;
        }
        for (index, queue) in queues.iter_mut().enumerate() {
            while let Some(frame) = queue.pop(monotonic()?) {
                transmit(&sockets[index ^ 1], &frame)?;
            }
        }
    }
}

/// A socket for all frames of an interface.
fn open(name: &str) -> io::Result<OwnedFd> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{name}: no such interface"));
    let is_link = |address: &nix::sys::socket::SockaddrStorage| address.family() == Some(AddressFamily::Packet);
    let mut all = getifaddrs()?.filter(|interface| interface.interface_name == name);
    let address = all.find_map(|interface| interface.address.filter(is_link)).ok_or_else(missing)?;
    let address = *address.as_link_addr().ok_or_else(missing)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let made = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    // What a burst brings while this process waits for a processor.
    setsockopt(&made, sockopt::RcvBufForce, &(8 << 20))?;
    setsockopt(&made, sockopt::SndBufForce, &(8 << 20))?;
    setsockopt(&made, sockopt::ReceiveTimestampns, &true)?;
    // The address names no protocol: the socket's own stays, all of them.
    bind(made.as_raw_fd(), &address)?;
    Ok(made)
}

/// Waits for frames, for the end, or for `wait`. Returns the sockets that have frames, and true at the end.
fn poll(sockets: &[OwnedFd], stop: &mut (impl Read + AsFd), wait: Option<TimeSpec>) -> io::Result<(Vec<usize>, bool)> {
    let (ready, has_stop) = {
        let mut all: Vec<PollFd<'_>> = sockets.iter().map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN)).collect();
        all.push(PollFd::new(stop.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut all, wait, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|e| !e.is_empty());
        let ready = (0..sockets.len()).filter(|i| is_ready(&all[*i])).collect();
        (ready, is_ready(&all[sockets.len()]))
    };
    // Any bytes there are ignored; the end is when the pipe has no writer.
    Ok((ready, has_stop && stop.read(&mut [0; 64])? == 0))
}

/// Takes the frames that have come, with the times of their arrival.
fn receive(
    socket: &OwnedFd,
    queue: &mut Queue,
    mut counter: Option<&mut Counter>,
    buffer: &mut [u8],
) -> io::Result<()> {
    for _ in 0..BATCH {
        let mut space = cmsg_space!(TimeSpec);
        let mut parts = [IoSliceMut::new(buffer)];
        let (size, stamp) = match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty()) {
            Ok(message) => {
                let stamp = message.cmsgs()?.find_map(|c| match c {
                    ControlMessageOwned::ScmTimestampns(at) => Some(at),
                    _ => None,
                });
                (message.bytes, stamp)
            }
            Err(Errno::EAGAIN) => return Ok(()),
            Err(Errno::EINTR | Errno::ENETDOWN) => continue,
            Err(error) => return Err(error.into()),
        };
        // The stamp is of the clock on the wall, which may be set: only the time since then is taken from it.
        let wall = clock_gettime(ClockId::CLOCK_REALTIME)?;
        let age = stamp.map_or(0, |at| nanoseconds(wall).saturating_sub(nanoseconds(at)));
        let (arrived, frame) = (monotonic()?.saturating_sub(age.min(1_000_000_000)), &buffer[..size]);
        match counter.as_mut().map_or(Fate::Passes, |counter| counter.decide(frame)) {
            Fate::Passes => queue.push(arrived, frame),
            Fate::Lost => {}
            Fate::Late(later) => queue.push_late(arrived, later, frame),
        }
    }
    Ok(())
}

/// Sends a frame; one that the interface has no room for is lost, as on any wire.
fn transmit(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    match send(socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
        Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENETDOWN | Errno::EMSGSIZE) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn monotonic() -> io::Result<u64> {
    Ok(nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC)?))
}

fn nanoseconds(at: TimeSpec) -> u64 {
    u64::try_from(at.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(at.tv_nsec()).unwrap_or(0)
}
