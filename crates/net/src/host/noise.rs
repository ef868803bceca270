//! Delay noise of hosts: the time that kernel and NIC of an end host take, longer for one packet than for the next.
//!
//! Every packet that a host sends arrives later by a uniform random time from 0 to x, but never before one that the host sent before, nor
//! closer behind it than its own transmission time: as if packets had come from the host's stack into the NIC with that delay. A round
//! trip has two such delays, of the sender and of the receiver, so that its standard deviation in an empty network is x/√6. Scenarios set
//! that.

use farloop_engine::RandomStream;
use farloop_network::spec::max_delay;
use farloop_units::{Delta, Time};

/// Noise of one host.
pub(crate) struct Noise {
    random: RandomStream,
    /// When the last packet arrives at the other end of the link.
    last: Time,
}

impl Noise {
    /// Drawn from this stream.
    pub fn new(random: RandomStream) -> Noise {
        Noise { random, last: Time::ZERO }
    }

    /// Draws the delay of a packet beyond `at_rest`, its arrival without noise. It takes `time` on the wire; `sigma` is the standard
    /// deviation of the round trip.
    pub fn delay(&mut self, at_rest: Time, time: Delta, sigma: Delta) -> Delta {
        let drawn = self.random.below(max_delay(sigma).as_ps() + 1);
        let at = at_rest.saturating_add(Delta::from_ps(drawn)).max(self.last.saturating_add(time));
        self.last = at;
        at.since(at_rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_order_and_distance_and_none_is_later_than_the_longest() {
        let mut noise = Noise::new(RandomStream::new(1, "delay noise", 0));
        let (time, sigma) = (Delta::from_us(12), Delta::from_us(17));
        let mut last = Time::ZERO;
        for k in 1..2000u64 {
            let at_rest = Time::ZERO + time * k;
            let at = at_rest + noise.delay(at_rest, time, sigma);
            assert!(at >= last + time || k == 1, "{k}");
            assert!(at - at_rest <= max_delay(sigma), "{k}");
            last = at;
        }
    }
}
