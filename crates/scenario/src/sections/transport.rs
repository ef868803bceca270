//! The keys of `[transport]`: those of all kinds of endpoints, and those of each.

use super::{CodingChoice, MAX_DELAY, StartChoice};
use farloop_net::spec::{CodingSpec, Start};
use farloop_units::{Bytes, Delta, ParamSpec, Params, choice, params};

const MAX_TIMEOUT: Delta = Delta::from_secs(60);

choice! {
    /// The kind of endpoints.
    pub enum TransportChoice {
        /// RoCE-like: in order only, NACK, go-back-N.
        Rdma = "rdma",
        /// TCP.
        Tcp = "tcp",
        /// Ultra Ethernet's.
        Multipath = "multipath",
    }
}

choice! {
    /// The telemetry records that packets carry.
    pub enum IntCarriageChoice {
        /// Every hop's, at no cost on the wire.
        All = "all",
        /// Gear's TCP option with three entries; queues that drain late displace those that drain soon.
        Three = "three",
        /// One entry: the hop with the longest queue.
        MaxQueue = "max_queue",
    }
}

params! {
    /// The key of `[transport]` that decides about some of the others.
    pub struct TransportKey {
        /// "rdma": RoCE-like, in-order delivery, NACK, go-back-N. "tcp": TCP as in the RFCs. "multipath": packets in any order over many
        /// paths, repaired one by one (Ultra Ethernet 1.0). It decides which other keys there are.
        kind: TransportChoice = TransportChoice::Rdma;
    }
}

params! {
    /// `[transport]`: packet format of all flows.
    pub struct Transport {
        /// Largest IP packet: payload, header and the algorithm's own header.
        mtu: Bytes = Bytes::new(1500), in Bytes::new(64) => Bytes::new(65_535);
        /// IP and transport headers inside the MTU.
        header: Bytes = Bytes::new(40), in Bytes::ZERO => Bytes::new(1000);
        /// Bytes on the wire in addition to the IP packet: preamble 8, Ethernet header 14, FCS 4, gap 12.
        framing: Bytes = Bytes::new(38), in Bytes::ZERO => Bytes::new(1000);
        /// Size of an ACK or signal as an IP packet, without the algorithm's own header.
        ack: Bytes = Bytes::new(64), in Bytes::new(1) => Bytes::new(9000);
        /// Window and rate with which all flows start. "own": the algorithm's own start. "line-rate": the rate of the host's
        /// link, and the window that it fills in a base round-trip time. "bdp": the same with the rate of the slowest link on the
        /// path. "10 segments", or 10: that many full packets per base round-trip time, at most at line rate. This sets both
        /// window and rate; the algorithm still decides whether to use slow start. Not with an initial_cwnd or initial_rate.
        start: StartChoice = StartChoice(Start::Own);
        /// Which telemetry (INT) records a packet carries. "all": those of every hop, with wide counters. "three": the TCP option
        /// of Gear (ToN 2025, §IV-A) with three entries; when it is full, a queue that drains later replaces the one that drains
        /// soonest. "max_queue": only the hop with the longest queue (Gear, §IV-B4).
        int_carriage: IntCarriageChoice = IntCarriageChoice::All;
        /// Header bytes of the telemetry, in every packet and ACK of algorithms that read it; "none" for the carriage's own: 0 for "all",
        /// 40 B for "three", 16 B for "max_queue".
        int_bytes: Option<Bytes> = None, in Some(Bytes::ZERO) => Some(Bytes::new(1000));
        /// ACKs and signals travel in a class of strict priority that is never paused; otherwise with the data.
        control_priority: bool = true;
        /// The round-trip time inside a datacenter that algorithms assume; "none" for the largest one between the first host of a
        /// datacenter and its other hosts, with or without flows.
        intra_rtt: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(MAX_DELAY);
    }
}

params! {
    /// `[transport]` with `kind = "rdma"`.
    pub struct RdmaKeys {
        /// Retransmission timeout of flows inside a datacenter (Gear, §IV-A).
        rto_intra: Delta = Delta::from_ms(1), in Delta::from_us(1) => MAX_TIMEOUT;
        /// Retransmission timeout of flows across datacenters (Gear, §IV-A), at least one and a half times the flow's base RTT.
        rto_cross: Delta = Delta::from_ms(200), in Delta::from_us(1) => MAX_TIMEOUT;
    }
}

choice! {
    /// The chooser of paths for a multipath flow's packets.
    pub enum PathsChoice {
        /// One path for each flow.
        Single = "single",
        /// All in turn.
        Oblivious = "oblivious",
        /// All in turn but the congested ones.
        Bitmap = "bitmap",
        /// Those that were free, again.
        Reps = "reps",
        /// Those that were free, else all in turn.
        Mixed = "mixed",
        /// Another one after congestion.
        Plb = "plb",
        /// Another one after a pause.
        Flowlet = "flowlet",
        /// Some in turn, and others after a timeout for those that were silent.
        Subflows = "subflows",
        /// Any, drawn for each packet.
        Random = "random",
        /// Good ones in turn; dead ones are replaced and probed.
        Mrc = "mrc",
    }
}

choice! {
    /// The endpoints whose settings multipath endpoints have.
    pub enum EndpointsChoice {
        /// None: the defaults.
        None = "none",
        /// Multipath Reliable Connection.
        Mrc = "mrc",
    }
}

params! {
    /// `[transport]` with `kind = "multipath"`.
    pub struct MultipathKeys {
        /// Other defaults for the keys below, each of which you can still set. "mrc": Multipath Reliable Connection 1.0, paths = "mrc" and
        /// an ACK for 4.096kB of new payload. "none": the defaults of this table.
        preset: EndpointsChoice = EndpointsChoice::None;
        /// What chooses the entropy value of each packet, by which switches with ecmp = "flow" choose its path. `farloop list paths` says
        /// what each does; its parameters are in `[transport.NAME]`. The default is that of uet-htsim.
        paths: PathsChoice = PathsChoice::Mixed;
        /// Least retransmission timeout of a packet, at least one and a half times the flow's base RTT; "none" for 15us and six base RTTs
        /// (uet-htsim: 15us and the time that six queues of a bandwidth-delay product take). It grows with measured round-trip times.
        rto: Option<Delta> = None, in Some(Delta::from_us(1)) => Some(MAX_TIMEOUT);
        /// The same of flows across datacenters; "none" for `rto` (Uno_SC25, sim/lcp.cpp:389-394: base RTT and the time that five queues
        /// take inside, eight across).
        rto_across: Option<Delta> = None, in Some(Delta::from_us(1)) => Some(MAX_TIMEOUT);
        /// Timeouts grow with measured round-trip times, and double when a packet is lost again (RFC 6298, §5.5); otherwise each packet
        /// waits for `rto` (Uno_SC25, sim/lcp.cpp:2079 and 2324).
        rto_growth: bool = true;
        /// A new packet leaves only if the window has room for all of it (Uno_SC25, sim/lcp.cpp:2000), a packet that is sent again if it
        /// has room for a byte (sim/lcp.cpp:2260); otherwise any packet leaves if the window has room for a byte (uet-htsim).
        whole_packets: bool = false;
        /// Pacing goes on from the time at which a packet might leave, as it enters its host's queue (Uno_SC25, sim/lcp.cpp:2098,
        /// sim/lcp_pacer.cpp:11 and 30), so that a wait for the flow's turn there delays no later packet; otherwise from its departure.
        entry_pacing: bool = false;
        /// With entry_pacing: packets count from their entry into the host's queue. Round-trip times begin with it (Uno_SC25,
        /// sim/lcp.cpp:2053), and a packet that is sent again goes behind new ones of its flow that entered before its loss was found
        /// (sim/queue.cpp:439); otherwise before them. It asks for overtaken = "none" and switches that drop.
        entry_times: bool = false;
        /// The receiver sends an ACK at the latest for this much new payload; "none" for 16.384kB (uet-htsim), or a quarter of the flow's
        /// bandwidth-delay product where that is less; "1B" for one per packet. It answers the first packet, marked ones and those whose
        /// sender asks (the last one, one behind which the window is full) at once.
        ack_bytes: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000));
        /// Packets are taken as lost when later ones overtake them: when so many windows, at most 1.5 BDP and at least five packets, have
        /// been delivered beyond a gap (uet-htsim, `runSleek`: 1.5); "none" to wait for NACKs and timeouts, as uet-htsim does by default.
        overtaken: Option<f64> = Some(1.5), in Some(0.01) => Some(1000.0);
        /// Blocks of data and repair packets, of which as many as are data suffice: "8+2" (Uno), "none", or "own": as the flow's algorithm
        /// has them, which is none for all but Uno. Messages of a [[job]] have no blocks.
        coding: CodingChoice = CodingChoice(CodingSpec::Own);
    }
}

choice! {
    /// TCP's method of loss detection.
    pub enum RecoveryChoice {
        /// Duplicate ACKs alone.
        NewReno = "newreno",
        /// Selective acknowledgements.
        Sack = "sack",
        /// Selective acknowledgements and time.
        Rack = "rack",
    }
}

choice! {
    /// The way of congestion marks back to TCP's source.
    pub enum EcnChoice {
        /// As the algorithm needs it.
        Auto = "auto",
        /// Echoed until confirmed.
        Classic = "classic",
        /// Each ACK echoes the mark of what it covers.
        Rfc8257 = "rfc8257",
        /// Counted.
        AccEcn = "accecn",
    }
}

choice! {
    /// The option of Accurate ECN.
    pub enum AccEcnOptionChoice {
        /// None.
        Off = "off",
        /// In ACKs with room for it.
        Sent = "sent",
        /// Sent, and taken off on the way.
        Stripped = "stripped",
    }
}

choice! {
    /// The marks that a receiver with Accurate ECN acknowledges at once.
    pub enum AccEcnAcksChoice {
        /// As in RFC 9768.
        Rfc9768 = "rfc9768",
        /// As in Linux 7.0.
        Linux = "linux",
    }
}

choice! {
    /// The quantity that TCP's `min_rto` bounds.
    pub enum RtoFloorChoice {
        /// The timeout.
        Total = "total",
        /// Its variance term.
        Variance = "variance",
    }
}

choice! {
    /// The event that ends the back-off of TCP's timeout.
    pub enum BackoffEndChoice {
        /// A round-trip time sample.
        Sample = "sample",
        /// Any ACK that restarts the timer.
        AnyAck = "any-ack",
    }
}

choice! {
    /// Whose hosts.
    pub enum HostsChoice {
        /// Nobody's: the defaults below.
        None = "none",
        /// Linux 4.9.
        Linux49 = "linux-4.9",
        /// Linux 6.
        Linux6 = "linux-6",
    }
}

choice! {
    /// TCP's pacing for algorithms that give no rate.
    pub enum PacingChoice {
        /// No: bursts as the window allows.
        None = "none",
        /// As Linux does.
        Linux = "linux",
    }
}

choice! {
    /// The lifetime of TCP connections.
    pub enum ConnectionsChoice {
        /// As long as a flow.
        PerFlow = "per-flow",
        /// From flow to flow.
        Persistent = "persistent",
    }
}

params! {
    /// `[transport]` with `kind = "tcp"`.
    pub struct TcpKeys {
        /// Hosts of a Linux version: other defaults for the keys below and for parameters of algorithms, each of which you can
        /// still set. "none": the defaults of this table.
        preset: HostsChoice = HostsChoice::None;
        /// How TCP detects and repairs losses. "newreno": duplicate ACKs and partial ACKs (RFC 6582). "sack": selective
        /// acknowledgements (RFC 6675). "rack": by time, with tail loss probes (RFC 8985).
        recovery: RecoveryChoice = RecoveryChoice::Sack;
        /// Flows begin with SYN and SYN-ACK; otherwise connections are open, and their round-trip time is known, when flows start.
        handshake: bool = false;
        /// How congestion marks come back to the source, of flows whose algorithm answers them. "auto": as the algorithm needs it,
        /// "rfc8257" or "classic". "classic": all ACKs echo a mark until the source confirms it (RFC 3168, §6.1). "rfc8257": each ACK
        /// echoes the mark of the packets that it covers; at a change one goes out at once (RFC 8257, §3.2). "accecn": ACKs count marked
        /// packets (Accurate ECN, RFC 9768), and the source reads them as Linux 7.0.
        ecn: EcnChoice = EcnChoice::Auto;
        /// With ecn = "accecn": the option that counts bytes, 8 B of an ACK. "sent": in every ACK with at most two blocks of selective
        /// acknowledgement. "stripped": the path takes it off. "off": no ACK has it.
        accecn_option: AccEcnOptionChoice = AccEcnOptionChoice::Sent;
        /// With ecn = "accecn": what is acknowledged at once. "rfc9768": a marked packet after one without a mark, and the second marked
        /// packet since the last ACK (RFC 9768, §3.2.2.5.1). "linux": each change of the mark, and the sixth marked packet, as in Linux
        /// 7.0.
        accecn_acks: AccEcnAcksChoice = AccEcnAcksChoice::Rfc9768;
        /// How long the receiver may delay an ACK (RFC 5681, §4.2; Linux: 40ms); "none" to acknowledge every packet.
        delayed_ack: Option<Delta> = None, in Some(Delta::from_us(1)) => Some(Delta::from_ms(500));
        /// With delayed_ack: the receiver sends an ACK at the latest after this many packets.
        ack_every: u32 = 2, in 1 => 64;
        /// With delayed_ack: this many packets at the beginning of a connection are acknowledged one by one (Linux: at least 16, and for
        /// as long as the receive window grows; tcp_incr_quickack, tcp_grow_window).
        quick_acks: u32 = 0, in 0 => 1_000_000;
        /// Lower bound of the retransmission timeout (Linux: 200ms; RFC 6298, §2.4: 1s).
        min_rto: Delta = Delta::from_ms(200), in Delta::from_us(1) => MAX_TIMEOUT;
        /// What min_rto bounds. "total": the timeout (RFC 6298, §2.4). "variance": its variance term, so that it is SRTT + max(4·RTTVAR,
        /// min_rto), as in Linux.
        rto_floor: RtoFloorChoice = RtoFloorChoice::Total;
        /// What ends the back-off of the timeout. "sample": a round-trip time sample (RFC 6298, §5); repeated packets without
        /// timestamps give none (Karn). "any-ack": any ACK that restarts the timer, as in ns-3.
        backoff_ends: BackoffEndChoice = BackoffEndChoice::Sample;
        /// Upper bound of the retransmission timeout, back-off included; at least min_rto and initial_rto (RFC 6298, §2.5: at least 60s;
        /// Linux: 120s).
        max_rto: Delta = Delta::from_secs(120), in Delta::from_us(1) => Delta::from_secs(3600);
        /// Retransmission timeout before the first round-trip time sample (RFC 6298, §2.1).
        initial_rto: Delta = Delta::from_secs(1), in Delta::from_us(1) => MAX_TIMEOUT;
        /// Retransmission timeouts in a row after which a flow gives up (Linux: 15).
        max_retries: u32 = 15, in 1 => 255;
        /// With handshake: repetitions of a SYN after which a flow gives up; "none" for 6 (Linux).
        syn_retries: Option<u32> = None, in Some(0) => Some(255);
        /// Window to start with, in packets, of flows that set neither initial_cwnd nor initial_rate; "none" for the algorithm's own (10
        /// for those of TCP; RFC 6928).
        initial_cwnd: Option<u32> = None, in Some(1) => Some(1_000_000);
        /// Receive window: how much unacknowledged data the sender may have. The default is about the largest (RFC 7323, §2.3).
        receive_window: Bytes = Bytes::new(1_000_000_000), in Bytes::new(1000) => Bytes::new(1_000_000_000);
        /// Send a new packet for each of the first two duplicate ACKs (RFC 3042).
        limited_transmit: bool = true;
        /// Duplicate ACKs, or packets beyond a gap, that mean a loss (RFC 5681, §3.2; RFC 6675).
        dup_ack_threshold: u32 = 3, in 1 => 1000;
        /// Packets and ACKs carry timestamps (RFC 7323), which reveal unnecessary retransmissions (Eifel, RFC 3522) and measure
        /// the round-trip time of repeated packets. Their 12 B are part of header and ack.
        timestamps: bool = true;
        /// The receiver reports data that arrives twice (D-SACK, RFC 2883), which reveals unnecessary retransmissions; not with
        /// recovery = "newreno". "none": on where there are selective acknowledgements.
        dsack: Option<bool> = None;
        /// At a timeout the sender forgets all selective acknowledgements (RFC 2018, §8) and sends everything again; not with
        /// recovery = "newreno". false: it keeps them, as Linux does.
        forget_sack: bool = false;
        /// Proportional rate reduction (RFC 6937; Linux, tcp_cwnd_reduction): during recovery the window falls to the algorithm's
        /// value in proportion to delivered data; otherwise at once. Not for algorithms that set their window by the delivery
        /// rate (bbr).
        prr: bool = false;
        /// Detect unnecessary timeouts by forward RTO recovery (F-RTO, RFC 5682).
        frto: bool = true;
        /// With recovery = "rack": send a probe packet when no ACKs arrive, long before the timeout (RFC 8985, §7); "none" for
        /// true.
        tail_loss_probe: Option<bool> = None;
        /// With tail loss probes: how long, beyond twice the round-trip time, the sender waits for the ACK of a lone packet
        /// before it probes; "none" for 200ms (RFC 8985, §7.2).
        max_ack_delay: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_TIMEOUT);
        /// With recovery = "rack": what a tail loss probe of several packets and the reordering timer wait in addition (RFC 8985: nothing;
        /// Linux, TCP_TIMEOUT_MIN_US: 2ms).
        timeout_min: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1);
        /// Tick of the hosts' timers, for retransmissions, probes and delayed ACKs: they fire at whole ticks, a little late, never early
        /// (Linux: a jiffy, 4ms with CONFIG_HZ = 250, and the timer wheel). 0s: exact timers.
        timer_tick: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1);
        /// With timestamps: their tick (RFC 7323, §5.4: 1ms to 1s; Linux: 1ms). What was sent and repeated within a tick cannot be told
        /// apart. 0s: exact timestamps.
        timestamp_tick: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1);
        /// Pacing where the algorithm gives no rate. "none": packets leave as the window allows. "linux": at the window over the smoothed
        /// round-trip time, times the gains below.
        pacing: PacingChoice = PacingChoice::None;
        /// With pacing = "linux": the gain below half the slow start threshold.
        pacing_gain_slow_start: f64 = 2.0, in 0.1 => 10.0;
        /// With pacing = "linux": the gain otherwise.
        pacing_gain: f64 = 1.2, in 0.1 => 10.0;
        /// Noise of the end hosts: each round-trip time sample is longer by a uniform random time up to this (GEMINI, ToN 2022,
        /// Table V).
        rtt_noise: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1);
        /// Noise of the end hosts in the delay of every packet, data and ACK: the standard deviation that round-trip times inside a
        /// datacenter have in an empty network (GEMINI, ToN 2022, §IV-B: 17us).
        delay_noise_intra: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1);
        /// As delay_noise_intra, for round-trip times across datacenters (GEMINI, ToN 2022, §IV-B: 58us).
        delay_noise_cross: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1);
        /// A connection starts with the slow start threshold that the last connection between the same hosts left when it ended
        /// (with connections = "persistent": when it became idle), as in Linux with tcp_no_metrics_save = 0.
        remember_ssthresh: bool = false;
        /// Hosts hand their NICs chunks of about a millisecond of the flow's rate (two packets to 64 kB), which leave back to
        /// back (Linux, tcp_tso_autosize, tcp_tso_should_defer). Paced flows send chunk by chunk, except gemini, which sends
        /// packet by packet as in its paper.
        segmentation_offload: bool = false;
        /// "per-flow": each flow opens its own connection. "persistent": a flow takes the oldest idle connection between its
        /// hosts, with the state that earlier flows left, and opens one if all are busy. Flows share connections if they have the
        /// same algorithm, class, initial_rate and initial_cwnd.
        connections: ConnectionsChoice = ConnectionsChoice::PerFlow;
        /// With connections = "persistent": the window halves for each retransmission timeout that a connection was idle, down to the
        /// initial window (Linux, tcp_slow_start_after_idle; RFC 2861); "none" for true.
        slow_start_after_idle: Option<bool> = None;
    }
}

/// The word of each kind, and all keys but `kind`.
pub fn transport_alternatives() -> Vec<(&'static str, Vec<ParamSpec>)> {
    let with = |own: Vec<ParamSpec>| Transport::specs().into_iter().chain(own).collect();
    vec![
        ("rdma", with(RdmaKeys::specs())),
        ("tcp", with(TcpKeys::specs())),
        ("multipath", with(MultipathKeys::specs())),
    ]
}
