//! The exports and imports of the WebAssembly module.
//!
//! JavaScript requests room for a request in UTF-8 ([`room`]), writes it there, and has it answered ([`ask`]); the answer's
//! JSON lies at [`reply`], and buffer `n` of its columns has [`size`] bytes at [`buffer`]. All stays where it is until the
//! next request. A module has no clock: it imports `farloop.now`, milliseconds; `farloop.progress`, called with simulated
//! seconds, their end and packet-hops, which gives 0 to stop; and `farloop.failed`, called with place and size of a message
//! before the module ends itself.

// The names under which JavaScript finds functions, and those that it has to bring: nothing else is unsafe here.
#![allow(unsafe_code)]

use crate::{Answer, answer};
use std::cell::RefCell;

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Answer> = const { RefCell::new(Answer { json: String::new(), buffers: Vec::new() }) };
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request; bytes of the answer's JSON.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    host::install();
    let request = REQUEST.take();
    // What was kept for the last request is not needed any more, and memory is scarce.
    ANSWER.set(Answer::default());
    let made = answer(&String::from_utf8_lossy(&request), &mut |(now, end, hops)| host::goes_on(now, end, hops as f64));
    let size = made.json.len();
    ANSWER.set(made);
    size
}

/// Where the answer's JSON begins.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    ANSWER.with_borrow(|kept| kept.json.as_ptr())
}

/// Where the values of a buffer begin.
#[unsafe(no_mangle)]
pub extern "C" fn buffer(number: usize) -> *const u8 {
    ANSWER.with_borrow(|kept| kept.buffers[number].place())
}

/// Bytes of the values of a buffer.
#[unsafe(no_mangle)]
pub extern "C" fn size(number: usize) -> usize {
    ANSWER.with_borrow(|kept| kept.buffers[number].size())
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod host;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod native_host;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use native_host as host;
