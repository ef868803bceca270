//! An interface by a packet socket: a ring that the kernel fills (`PACKET_RX_RING`, `TPACKET_V2`), and many frames to a system call out
//! (`sendmmsg`). Needs `CAP_NET_RAW`; packet(7) and the kernel's `Documentation/networking/packet_mmap.rst`.
//!
//! All unsafe code of the crate is here: the ring is memory that the kernel writes to, and three calls have no safe form in `nix`.
#![allow(unsafe_code)]

use crate::frame::{Offload, VNET_HEADER};
use nix::libc;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Most frames of one call of [`Interface::send`].
pub const BATCH: usize = 64;

const SOL_PACKET: libc::c_int = 263;
const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
const PACKET_RX_RING: libc::c_int = 5;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_VERSION: libc::c_int = 10;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const TPACKET_V2: libc::c_int = 1;
const TP_STATUS_USER: u32 = 1;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// Bytes of one part of the ring, which the kernel has in one piece where it can.
const BLOCK: usize = 1 << 18;
/// Bytes of a slot beyond those of its frame: `tpacket2_hdr`, `sockaddr_ll`, the header of offloads, and alignment.
const SLOT_OVERHEAD: usize = 128;

/// `struct tpacket_req`.
#[repr(C)]
struct Request {
    block_size: u32,
    blocks: u32,
    slot_size: u32,
    slots: u32,
}

/// `struct tpacket2_hdr`.
#[repr(C)]
struct Header {
    status: AtomicU32,
    length: u32,
    captured: u32,
    link: u16,
    network: u16,
    seconds: u32,
    nanoseconds: u32,
    vlan_control: u16,
    vlan_type: u16,
    padding: [u8; 4],
}

/// `struct packet_mreq`.
#[repr(C)]
struct Membership {
    interface: libc::c_int,
    kind: u16,
    length: u16,
    address: [u8; 8],
}

/// A frame in the ring.
pub struct Received<'a> {
    /// Its bytes, from the Ethernet header on, without a VLAN tag.
    pub bytes: &'a [u8],
    /// Its length before the kernel cut it to the size of a slot.
    pub length: usize,
    /// When it reached the interface, in ns of `CLOCK_REALTIME`.
    pub stamp: u64,
    /// The checksum and segmentation that its sender has left to others.
    pub offload: Offload,
    /// Type and control information of the tag that the kernel took off.
    pub vlan: Option<(u16, u16)>,
}

/// An open interface.
pub struct Interface {
    socket: OwnedFd,
    ring: *mut u8,
    size: usize,
    slot_size: usize,
    per_block: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the ring belongs to this value alone, which has no interior mutability but by `&mut self`.
unsafe impl Send for Interface {}

impl Interface {
    /// Opens an interface of this network namespace for frames of up to `longest` bytes, of which `slots` may wait for [`Interface::take`].
    /// With `promiscuous` it takes frames to any address, until it is closed.
    pub fn open(name: &str, longest: usize, slots: usize, promiscuous: bool) -> io::Result<Interface> {
        let index = nix::net::if_::if_nametoindex(name)
            .map_err(|_| io::Error::new(io::ErrorKind::NotFound, format!("{name}: no such interface")))?;
        let index = libc::c_int::try_from(index).map_err(io::Error::other)?;
        // Protocol 0 until the ring is there: the socket would queue frames before.
        // SAFETY: no pointers; the result is checked.
        let socket = checked(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: it is open, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set_option(&socket, SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        set_option(&socket, SOL_PACKET, PACKET_VNET_HDR, &1_i32)?;
        set_option(&socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(16_i32 << 20))?;
        if promiscuous {
            let kind = libc::PACKET_MR_PROMISC as u16;
            let membership = Membership { interface: index, kind, length: 0, address: [0; 8] };
            set_option(&socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership)?;
        }
        let slot_size = (longest + SLOT_OVERHEAD).next_multiple_of(64);
        let per_block = (BLOCK / slot_size).max(1);
        let block = (per_block * slot_size).next_multiple_of(4096);
        let blocks = slots.div_ceil(per_block);
        let request = Request {
            block_size: block as u32,
            blocks: blocks as u32,
            slot_size: slot_size as u32,
            slots: (blocks * per_block) as u32,
        };
        set_option(&socket, SOL_PACKET, PACKET_RX_RING, &request)?;
        let size = block * blocks;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of the size that the kernel has just made; the result is checked.
        let ring = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, socket.as_raw_fd(), 0) };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let slots = blocks * per_block;
        let made = Interface { socket, ring: ring.cast(), size, slot_size, per_block, slots, next: 0 };
        made.bind(index)?;
        Ok(made)
    }

    fn bind(&self, index: libc::c_int) -> io::Result<()> {
        // SAFETY: all zeros are a value of this plain structure.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer and the length are those of `address`, which outlives the call.
        checked(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// Takes up to `most` frames that have come, in their order. Returns their number.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(Received<'_>)) -> usize {
        for taken in 0..most {
            let block = (self.per_block * self.slot_size).next_multiple_of(4096);
            let offset = self.next / self.per_block * block + self.next % self.per_block * self.slot_size;
            // SAFETY: `next` is below `slots`, so the slot lies in the mapping; slots are aligned for the header, and of it only the status
            // is written by both sides, atomically.
            let header = unsafe { &*self.ring.add(offset).cast::<Header>() };
            let status = header.status.load(Ordering::Acquire);
            if status & TP_STATUS_USER == 0 {
                return taken;
            }
            let (captured, link) = (header.captured as usize, usize::from(header.link));
            if link >= VNET_HEADER && link + captured <= self.slot_size {
                // SAFETY: the bytes lie in the slot, and the kernel leaves them alone until the status says so.
                let bytes = unsafe {
                    std::slice::from_raw_parts(self.ring.add(offset + link - VNET_HEADER), captured + VNET_HEADER)
                };
                let (offload, bytes) = bytes.split_at(VNET_HEADER);
                let tpid = if status & TP_STATUS_VLAN_TPID_VALID != 0 { header.vlan_type } else { 0x8100 };
                each(Received {
                    bytes,
                    length: header.length as usize,
                    stamp: u64::from(header.seconds) * 1_000_000_000 + u64::from(header.nanoseconds),
                    offload: Offload::from_bytes(offload),
                    vlan: (status & TP_STATUS_VLAN_VALID != 0).then_some((tpid, header.vlan_control)),
                });
            }
            header.status.store(0, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        most
    }

    /// Sends up to [`BATCH`] frames, each with its header of offloads, and in up to [`BATCH`] parts, all of them together. Returns how many
    /// parts were of frames that the interface had no room for.
    pub fn send<'a, P: Iterator<Item = &'a [u8]>>(
        &self,
        frames: impl Iterator<Item = (&'a [u8; VNET_HEADER], P)>,
    ) -> io::Result<u64> {
        // SAFETY: all zeros are values of these plain structures.
        let (mut parts, mut messages): ([libc::iovec; 2 * BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let (mut count, mut used, mut sizes) = (0, 0, [0; BATCH]);
        for ((header, bytes), size) in frames.zip(&mut sizes) {
            let before = used;
            for part in std::iter::once(&header[..]).chain(bytes) {
                parts[used] = libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
                used += 1;
            }
            *size = used - before;
            count += 1;
        }
        let mut next = parts.as_mut_ptr();
        for (message, size) in messages.iter_mut().zip(&sizes[..count]) {
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (next, *size as _);
            next = next.wrapping_add(*size);
        }
        let (mut sent, mut refused) = (0, 0_u64);
        while sent < count {
            let left = (count - sent) as libc::c_uint;
            // SAFETY: `left` messages from `sent` on are set; their parts point to frames that outlive the call, and the kernel only reads.
            let result = unsafe {
                libc::sendmmsg(self.socket.as_raw_fd(), messages[sent..].as_mut_ptr(), left, libc::MSG_DONTWAIT as _)
            };
            match checked(result) {
                Ok(number) => sent += number as usize,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // As on any wire, what finds no room or no carrier is lost.
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENETDOWN | libc::EMSGSIZE | libc::EINVAL) => {
                        refused += sizes[sent] as u64 - 1;
                        sent += 1;
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(refused)
    }

    /// Frames that came while the ring was full, since the last call.
    pub fn take_overruns(&self) -> u64 {
        let mut counters = [0_u32; 2];
        let mut length = size_of_val(&counters) as libc::socklen_t;
        // SAFETY: the pointers and the length are those of `counters`.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                SOL_PACKET,
                PACKET_STATISTICS,
                counters.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result == 0 { u64::from(counters[1]) } else { 0 }
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's; no frame of it is borrowed.
        unsafe { libc::munmap(self.ring.cast(), self.size) };
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets the slack of this thread's timers, in ns: 50 us is the usual one, and would be lateness.
pub fn set_timer_slack(nanoseconds: libc::c_ulong) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0) }).map(drop)
}

/// A filter of [`set_filter`]: a load, an operation, a comparison and two results of classic BPF.
pub type Filter = [libc::sock_filter; 5];

/// Has a socket take only what a filter accepts.
pub fn set_filter(socket: &OwnedFd, filter: &mut Filter) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

fn set_option<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast(), length) }).map(drop)
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
