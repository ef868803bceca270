//! The keys of `[circuits]` and `[[circuit_slot]]`.

use farloop_net::acceltor;
use farloop_net::spec::{Overflow, SchedulingSpec};
use farloop_units::{Bytes, Delta, choice, params};

/// As in the other sections.
const LONGEST: Delta = Delta::from_secs(3600);
const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000);

choice! {
    /// Which packets of their racks top-of-rack switches send by circuits.
    pub enum SchedulingChoice {
        /// None but by detours.
        None = "none",
        /// Elephants, which wait for their circuit.
        Blocking = "blocking",
        /// Elephants, while they have a circuit.
        Unblocking = "unblocking",
        /// Elephants, which are accelerated through the packet network before.
        AccelToR = "acceltor",
    }
}

choice! {
    /// Where a packet goes that finds the queue of its day full.
    pub enum OverflowChoice {
        /// Away with it.
        Drop = "drop",
        /// The packet network.
        Low = "low",
    }
}

params! {
    /// `[circuits]`: what circuit switches connect when.
    pub struct CircuitKeys {
        /// How long a matching holds. The default, as that of night: AccelToR, §IV-B.
        day: Delta = Delta::from_us(240), in Delta::from_ns(1) => LONGEST;
        /// How long nothing passes after each day.
        night: Delta = Delta::from_us(20), in Delta::ZERO => LONGEST;
        /// CSV file with the slots, relative to the scenario: a row of column names, which are keys of [[circuit_slot]], then one row for each slot, with spaces
        /// between several circuits. "none" for the [[circuit_slot]] tables, or, without any, round robin.
        slots: Option<String> = None;
        /// Which data of their racks the switches with hosts and a link to a circuit switch send there: "none" but by detours; "blocking": elephants, which wait for
        /// their circuit; "unblocking": elephants while they have a circuit, and by the packet network otherwise; "acceltor": elephants,
        /// which the packet network accelerates before the day of their circuit (AccelToR, Algorithm 1).
        scheduling: SchedulingChoice = SchedulingChoice::None;
        /// "blocking": what may wait for circuits at a switch, in all queues together (1.5 MB: AccelToR, §IV-B).
        circuit_buffer: Bytes = Bytes::new(1_500_000), in Bytes::new(1) => LARGEST;
        /// "blocking": what may wait for each rack; "none" for equal shares of circuit_buffer.
        rack_queue: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
        /// "blocking": what may wait at each port to the packet network (300 kB: AccelToR, §IV-B).
        packet_queue: Bytes = Bytes::new(300_000), in Bytes::new(1) => LARGEST;
        /// "unblocking": what may wait at all ports of a switch to circuits and packet network together (1.8 MB: AccelToR, §IV-B).
        shared_queue: Bytes = Bytes::new(1_800_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": what may wait at each port to the packet network, of mice (150 kB: AccelToR, §IV-B).
        high_queue: Bytes = Bytes::new(150_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": what may wait there of elephants, which leave after the mice.
        low_queue: Bytes = Bytes::new(150_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": what may wait for each day of circuits (500 kB: AccelToR, §IV-B).
        day_queue: Bytes = Bytes::new(500_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": round-trip time through the packet network: elephants are let into it until so long before their day, and then wait. "none" for packet_rtt of
        /// [network] with topology = "hybrid".
        packet_rtt: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(LONGEST);
        /// "acceltor": round-trip time through the circuit; "none" for circuit_rtt of [network] with topology = "hybrid".
        circuit_rtt: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(LONGEST);
        /// "acceltor": one more day has a queue than acceleration needs, so that flows which lost packets in their day recover (AccelToR, §III-E).
        safe_margin: bool = true;
        /// "acceltor": how many days have a queue; "none" for what Eq. 1 gives, with safe_margin or without.
        days: Option<u32> = None, in Some(1) => Some(1_000);
        /// "acceltor": where an elephant's packet goes that finds the queue of its day full: "drop", or into the packet network, "low" (AccelToR, §IV-G).
        overflow: OverflowChoice = OverflowChoice::Drop;
    }
}

impl CircuitKeys {
    /// What switches are to do, with AccelToR's numbers of the network where they have one.
    pub(crate) fn scheduling(&self, numbers: Option<&AccelToRNumbers>) -> Option<SchedulingSpec> {
        match self.scheduling {
            SchedulingChoice::None => None,
            SchedulingChoice::Blocking => Some(SchedulingSpec::Blocking {
                buffer: self.circuit_buffer,
                queue: self.rack_queue,
                packets: self.packet_queue,
            }),
            SchedulingChoice::Unblocking => Some(SchedulingSpec::Unblocking { buffer: self.shared_queue }),
            SchedulingChoice::AccelToR => numbers.map(|numbers| SchedulingSpec::AccelToR {
                high: self.high_queue,
                low: self.low_queue,
                queue: self.day_queue,
                days: self.days.unwrap_or(numbers.days),
                wait: numbers.packet_rtt,
                overflow: match self.overflow {
                    OverflowChoice::Drop => Overflow::Drop,
                    OverflowChoice::Low => Overflow::Low,
                },
            }),
        }
    }
}

params! {
    /// `[[circuit_slot]]`: a day with its matching, and the night after it.
    pub struct SlotKeys {
        /// Name of the circuit switch; "none" for all of them.
        circuit: Option<String> = None;
        /// How long the matching holds; "none" for that of [circuits].
        day: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(LONGEST);
        /// How long nothing passes then; "none" for that of [circuits].
        night: Option<Delta> = None, in Some(Delta::ZERO) => Some(LONGEST);
        /// The circuits, one way each, from neighbour to neighbour of the circuit switch: such as ["tor1->tor2", "tor2->tor1"].
        connect: Option<Vec<String>> = None;
    }
}

/// What AccelToR's arithmetic gives for a network ([`farloop_net::acceltor`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccelToRNumbers {
    /// Round-trip time through the packet network.
    pub packet_rtt: Delta,
    /// Round-trip time through the circuit.
    pub circuit_rtt: Delta,
    /// Round-trip times through the circuit in a day, n.
    pub rtts_per_day: u64,
    /// Round-trip times of acceleration, m (Theorem 1).
    pub acceleration: u32,
    /// Days before that of their circuit from which on packets are let in, K1 (Eq. 1).
    pub days_ahead: u64,
    /// Days with a queue, K, by Eq. 1.
    pub days: u32,
    /// Timeouts of hosts (Eq. 6).
    pub min_rto: Delta,
}

impl CircuitKeys {
    /// AccelToR's numbers with these round-trip times and this cycle of days.
    pub(crate) fn numbers(&self, packet_rtt: Delta, circuit_rtt: Delta, week: Delta) -> AccelToRNumbers {
        let rtts_per_day = acceltor::rtts_per_day(self.day, circuit_rtt);
        let acceleration = acceltor::acceleration(rtts_per_day);
        let days_ahead = acceltor::days_ahead(acceleration, packet_rtt, self.day, self.night);
        let days = acceltor::calendar_queues(days_ahead, self.safe_margin);
        AccelToRNumbers {
            packet_rtt,
            circuit_rtt,
            rtts_per_day,
            acceleration,
            days_ahead,
            days: u32::try_from(days).unwrap_or(u32::MAX),
            min_rto: acceltor::min_rto(week, self.day, acceleration, packet_rtt),
        }
    }
}
