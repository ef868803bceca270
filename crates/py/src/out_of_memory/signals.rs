//! Handlers of the signals by which a process without memory ends.

#![allow(unsafe_code)]

use nix::libc;
use std::ptr::null_mut;

/// Exit code, as of an error that says that memory is used up.
const CODE: i32 = 1;

/// Bytes that a process must be able to map, or its memory is used up.
const LITTLE: usize = 32 << 20;

const LINE: &[u8] =
    b"farloop: out of memory; fewer --threads, a shorter run or fewer recorded flows and ports need less\n";

pub fn install() {
    for number in [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the handler calls only what POSIX allows in one, and mmap, which allocates nothing in the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER | libc::SA_ONSTACK;
            libc::sigaction(number, &action, null_mut());
        }
    }
}

extern "C" fn handle(number: libc::c_int) {
    // SAFETY: as above.
    unsafe {
        // Rust has printed which allocation failed, however much is free, and aborted.
        if number == libc::SIGABRT || is_used_up() {
            libc::write(2, LINE.as_ptr().cast(), LINE.len());
            libc::_exit(CODE);
        }
        // The default action, which SA_RESETHAND has put back.
        libc::raise(number);
    }
}

unsafe fn is_used_up() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    let there = unsafe { libc::mmap(null_mut(), LITTLE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if there == libc::MAP_FAILED {
        return true;
    }
    unsafe { libc::munmap(there, LITTLE) };
    false
}
