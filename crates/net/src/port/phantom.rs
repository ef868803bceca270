//! Phantom queues: virtual queues of ports, which drain a little slower than the ports send.
//!
//! Every data packet that comes for the port joins it, whether it waits or not, and whether there is room for it or not; it drains at a
//! fraction of the port's rate, and is never longer than its size (Alizadeh et al., NSDI 2012; Uno, SC 2025: htsim/sim/compositequeue.cpp
//! in spcl/Uno_SC25, with the queue in parallel). So packets are marked before the port is full, and queues stay empty.

use farloop_network::spec::PhantomSpec;
use farloop_units::{Bytes, Rate, Time};

/// The phantom queue of a port. Lengths are exact: in units of a byte times 8·10^18, of which a rate of r bit/s drains r·10^6 in a
/// picosecond.
pub(crate) struct Phantom {
    length: u128,
    /// When it had that length.
    since: Time,
    /// Units that it drains in a picosecond.
    drain: u128,
    spec: PhantomSpec,
}

/// Units of a byte: bits, picoseconds of a second, millionths of a rate.
const BYTE: u128 = 8 * 1_000_000_000_000 * 1_000_000;

impl Phantom {
    /// The empty phantom queue of a port of `rate`.
    pub fn new(spec: PhantomSpec, rate: Rate) -> Phantom {
        let mut phantom = Phantom { length: 0, since: Time::ZERO, drain: 0, spec };
        phantom.set_rate(Time::ZERO, rate);
        phantom
    }

    /// The port has another rate from `now` on.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.drain_until(now);
        self.drain = u128::from(rate.as_bps()) * u128::from(self.spec.drain_ppm);
    }

    /// A data packet comes for the port: the length that it finds.
    pub fn arrives(&mut self, now: Time, wire: u16) -> Bytes {
        self.drain_until(now);
        let length = Bytes::new((self.length / BYTE) as u64);
        let most = u128::from(self.spec.size.get()) * BYTE;
        self.length = (self.length + u128::from(wire) * BYTE).min(most);
        length
    }

    fn drain_until(&mut self, now: Time) {
        let passed = u128::from(now.since(self.since).as_ps());
        self.length = self.length.saturating_sub(passed.saturating_mul(self.drain));
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Delta;

    /// 1000 B per microsecond at 8 Gbps; 900 B drain in that time.
    #[test]
    fn a_port_that_is_full_has_a_phantom_queue_that_grows_to_its_size() {
        let spec = PhantomSpec { drain_ppm: 900_000, size: Bytes::new(1800) };
        let mut phantom = Phantom::new(spec, Rate::from_gbps(8));
        let mut length_at = |us: u64| phantom.arrives(Time::ZERO + Delta::from_us(us), 1000).get();
        assert_eq!([0, 1, 2, 3].map(&mut length_at), [0, 100, 200, 300]);
        assert_eq!([4, 4, 4].map(&mut length_at), [400, 1400, 1800], "as long as it may be");
        assert_eq!([6, 7, 20].map(&mut length_at), [0, 100, 0]);
    }

    #[test]
    fn another_rate_drains_from_then_on() {
        let spec = PhantomSpec { drain_ppm: 1_000_000, size: Bytes::new(100_000) };
        let (mut phantom, at) = (Phantom::new(spec, Rate::from_gbps(8)), |us| Time::ZERO + Delta::from_us(us));
        phantom.arrives(at(0), 5000);
        phantom.set_rate(at(1), Rate::from_gbps(4));
        assert_eq!(phantom.arrives(at(3), 1000), Bytes::new(3000));
    }
}
