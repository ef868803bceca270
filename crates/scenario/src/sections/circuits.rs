//! The keys of `[circuits]` and `[[circuit_slot]]`.

use crate::acceltor;
use farloop_net::spec::{ElephantSpec, Overflow, SchedulingSpec, WarmUpSpec};
use farloop_units::{Bytes, Delta, choice, params};

/// As in the other sections.
const MAX_TIME: Delta = Delta::from_secs(3600);
const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000);

choice! {
    /// The packets of their racks that top-of-rack switches send by circuits.
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

choice! {
    /// The source of the set of elephants.
    pub enum ElephantsChoice {
        /// The scenario.
        Labelled = "labelled",
        /// The switches.
        Detected = "detected",
    }
}

params! {
    /// `[circuits]`: what circuit switches connect when.
    pub struct CircuitKeys {
        /// How long a matching holds. The default, as that of night: AccelToR, §IV-B.
        day: Delta = Delta::from_us(240), in Delta::from_ns(1) => MAX_TIME;
        /// Time after each day in which the switch connects no ports.
        night: Delta = Delta::from_us(20), in Delta::ZERO => MAX_TIME;
        /// CSV file with the slots, relative to the scenario: a row of column names, which are keys of [[circuit_slot]], then one row for
        /// each slot, with spaces between several circuits. "none" for the [[circuit_slot]] tables, or, without any, round robin.
        slots: Option<String> = None;
        /// Which data of its rack a top-of-rack switch sends to the circuit switch. "none": none, except by detours. "blocking":
        /// elephants, which wait for their circuit. "unblocking": elephants while they have a circuit; otherwise they use the
        /// packet network. "acceltor": elephants, which the packet network accelerates before the day of their circuit (AccelToR,
        /// Algorithm 1).
        scheduling: SchedulingChoice = SchedulingChoice::None;
        /// "blocking": most bytes that wait for circuits at a switch, in all queues together (1.5 MB: AccelToR, §IV-B).
        circuit_buffer: Bytes = Bytes::new(1_500_000), in Bytes::new(1) => LARGEST;
        /// "blocking": most bytes that wait for each rack; "none" for equal shares of circuit_buffer.
        rack_queue: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
        /// "blocking": most bytes that wait at each port to the packet network (300 kB: AccelToR, §IV-B).
        packet_queue: Bytes = Bytes::new(300_000), in Bytes::new(1) => LARGEST;
        /// "unblocking": most bytes that wait at all ports of a switch to circuits and packet network together (1.8 MB: AccelToR,
        /// §IV-B).
        shared_queue: Bytes = Bytes::new(1_800_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": most bytes of mice that wait at each port to the packet network (150 kB: AccelToR, §IV-B).
        high_queue: Bytes = Bytes::new(150_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": most bytes of elephants that wait there; they leave after the mice.
        low_queue: Bytes = Bytes::new(150_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": most bytes that wait for each day of circuits (500 kB: AccelToR, §IV-B).
        day_queue: Bytes = Bytes::new(500_000), in Bytes::new(1) => LARGEST;
        /// "acceltor": round-trip time through the packet network. An elephant uses that network until this long before its day
        /// begins; then it waits for the circuit. "none" for packet_rtt of [network] with topology = "hybrid".
        packet_rtt: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_TIME);
        /// "acceltor": round-trip time through the circuit; "none" for circuit_rtt of [network] with topology = "hybrid".
        circuit_rtt: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_TIME);
        /// "acceltor": give one more day a queue than acceleration needs, so flows that lost packets in their day recover
        /// (AccelToR, §III-E).
        safe_margin: bool = true;
        /// "acceltor": how many days have a queue; "none" for the number of Eq. 1, with or without safe_margin.
        days: Option<u32> = None, in Some(1) => Some(1_000);
        /// "acceltor": how many packets of an elephant go into the packet network before its day, counted since the switch last
        /// dropped one; later ones wait for the circuit (4 in the authors' simulation). "none": by time, until packet_rtt before
        /// the day, as in Algorithm 1.
        warm_up: Option<u32> = None, in Some(1) => Some(1_000_000);
        /// With warm_up: an elephant that sent fewer packets than this between its last two drops may send twice as many (25 in
        /// the authors' simulation).
        warm_up_few: u32 = 0, in 0 => 1_000_000;
        /// "acceltor": what happens to an elephant's packet when the queue of its day is full: "drop" drops it, "low" sends it into the
        /// packet network (AccelToR, §IV-G).
        overflow: OverflowChoice = OverflowChoice::Drop;
        /// "acceltor": how long an elephant's packets are dropped because its day is too far off. After that time its packets enter the
        /// packet network, until the flow sends one in time for its day (520us in the authors' simulation). "none" to drop all of them,
        /// as in the paper's text.
        rescue: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_TIME);
        /// Which flows are elephants. "labelled": those with elephant = true. "detected": a set that the switch keeps for each
        /// pair of racks. Labelled flows join it with their first packet while there is room. A flow leaves it after its last
        /// packet or when it is idle; the heaviest other flow takes its place (AccelToR, §III-F and G).
        elephants: ElephantsChoice = ElephantsChoice::Labelled;
        /// "detected": most elephants of a pair of racks; "none" for as many as day_queue has room for windows of 2^m full packets
        /// (AccelToR, §III-F).
        elephant_limit: Option<u32> = None, in Some(1) => Some(1_000_000);
        /// "detected": an elephant that sends no packet for this long loses its place. The switch forgets what other flows sent
        /// after one to two times this long. "none" for four weeks of the circuits, in which a timeout of Eq. 6 may double twice.
        elephant_idle: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_TIME);
        /// "detected": bytes on the wire that a flow must have sent recently to become an elephant (100 kB: Mahout, INFOCOM
        /// 2011).
        elephant_bytes: Bytes = Bytes::new(100_000), in Bytes::new(1) => LARGEST;
        /// "detected": rows of the Count-Min sketch that counts the bytes of flows. It overestimates a flow by more than e / sketch_width
        /// of all bytes counted with a probability of at most e^-sketch_rows.
        sketch_rows: u32 = 4, in 1 => 64;
        /// "detected": counters in each row, of 16 bytes; sketch_rows times sketch_width is 67108864 at most.
        sketch_width: u32 = 4096, in 1 => 10_000_000;
    }
}

impl CircuitKeys {
    /// The scheduling of switches, with AccelToR's numbers of the network where they have one.
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
                warm_up: self.warm_up.map(|packets| WarmUpSpec { packets, few: self.warm_up_few }),
                overflow: match self.overflow {
                    OverflowChoice::Drop => Overflow::Drop,
                    OverflowChoice::Low => Overflow::Low,
                },
                rescue: self.rescue,
            }),
        }
    }

    /// The rules by which switches detect elephants, of which a pair of racks has at most `limit`; `cycle` is the
    /// duration of a week.
    pub(crate) fn finding(&self, limit: u32, cycle: Delta) -> ElephantSpec {
        let idle = self.elephant_idle.unwrap_or(Delta::from_ps(cycle.as_ps().saturating_mul(4)));
        ElephantSpec { limit, idle, bytes: self.elephant_bytes, rows: self.sketch_rows, width: self.sketch_width }
    }

    /// As many elephants of a pair of racks as the queue of a day has room for, of `packet` bytes each packet; one at least.
    pub(crate) fn most_elephants(&self, circuit_rtt: Delta, packet: Bytes) -> u32 {
        let m = acceltor::acceleration(acceltor::rtts_per_day(self.day, circuit_rtt));
        let most = acceltor::most_elephants(self.day_queue, m, packet);
        u32::try_from(most).unwrap_or(u32::MAX).max(1)
    }
}

params! {
    /// `[[circuit_slot]]`: a day with its matching, and the night after it.
    pub struct SlotKeys {
        /// Name of the circuit switch; "none" for all of them.
        circuit: Option<String> = None;
        /// How long the matching holds; "none" for that of [circuits].
        day: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(MAX_TIME);
        /// Time after it in which the switch connects no ports; "none" for that of [circuits].
        night: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_TIME);
        /// The circuits, one way each, from neighbour to neighbour of the circuit switch: such as ["tor1->tor2", "tor2->tor1"].
        connect: Option<Vec<String>> = None;
    }
}

/// AccelToR's numbers for a network (`acceltor.rs`).
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
