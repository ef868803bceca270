//! Asking for memory before it is needed.
//!
//! A large network is bound by memory: the port and the packet of the next event are in no cache when its turn comes, and a load that
//! misses costs more than a whole event does otherwise. The next event is known while the current one is still executed.
//!
//! This is the only `unsafe` code of the engine. A prefetch never faults and changes no value, whatever it is given.

/// Asks for the cache line in which `value` begins; on machines without such a request nothing happens.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64, and a prefetch is a hint: it reads nothing into the program.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_prefetch_changes_nothing() {
        let values: Vec<u64> = (0..1000).collect();
        for value in &values {
            super::prefetch(value);
        }
        super::prefetch(&());
        assert!(values.iter().copied().eq(0..1000));
    }
}
