//! `[transport]`: which kind of endpoints, and its keys.

use crate::diagnostic::Diagnostic;
use crate::host_presets;
use crate::reader::{Section, names, read_one, refuse_others, word};
use crate::sections::*;
use farloop_cc::paths::{ChooserParams, chooser, choosers};
use farloop_net::spec::{
    self, AccEcnOption, CodingSpec, EcnFeedback, IntCarriage, LinuxPacing, MultipathSpec, Start, TcpSpec,
    TransportKind, TransportSpec,
};
use farloop_units::{Delta, ParamType};

/// The keys of one kind.
#[derive(Clone, PartialEq, Debug)]
pub enum EndpointKeys {
    /// `kind = "rdma"`.
    Rdma(RdmaKeys),
    /// `kind = "tcp"`.
    Tcp(TcpKeys),
    /// `kind = "multipath"`, with the chooser that `paths` names.
    Multipath(MultipathKeys, ChooserParams),
}

impl EndpointKeys {
    /// Whose hosts TCP is as.
    pub(crate) fn preset(&self) -> HostsChoice {
        match self {
            EndpointKeys::Rdma(_) | EndpointKeys::Multipath(..) => HostsChoice::None,
            EndpointKeys::Tcp(keys) => keys.preset,
        }
    }

    /// Returns true if it is TCP.
    pub fn is_tcp(&self) -> bool {
        matches!(self, EndpointKeys::Tcp(_))
    }
}

/// Reads `[transport]`.
pub(crate) fn read(root: &Section<'_>) -> Result<(Transport, EndpointKeys), Diagnostic> {
    let section = root.section("transport")?;
    let kind = read_one::<TransportKey>(&section, "kind")?.kind;
    let alternatives = transport_alternatives();
    refuse_others(&section, "kind", &word(&kind), &alternatives)?;
    let specs = alternatives.iter().find(|(w, _)| *w == word(&kind)).map(|(_, specs)| names(specs));
    // Both parts of the table are read on their own, the other's keys being known.
    let tables =
        if kind == TransportChoice::Multipath { choosers().map(|info| info.name).collect() } else { Vec::new() };
    let others = [vec!["kind"], specs.unwrap_or_default(), tables].concat();
    section.check_keys(others.iter().copied())?;
    let common = section.read(&[], &others)?;
    Ok(match kind {
        TransportChoice::Rdma => (common, EndpointKeys::Rdma(section.read(&[], &others)?)),
        TransportChoice::Tcp => {
            let TcpKeys { preset, .. } = section.read(&[], &others)?;
            let keys = section.read_onto(host_presets::keys(preset), &[], &others)?;
            check_tcp(&section, &keys)?;
            check_start(&section, &common, &keys)?;
            (common, EndpointKeys::Tcp(keys))
        }
        TransportChoice::Multipath => {
            let MultipathKeys { preset, .. } = section.read(&[], &others)?;
            let keys = section.read_onto(host_presets::multipath_keys(preset), &[], &others)?;
            check_mrc(&section, &keys)?;
            let chooser = read_choosers(&section, &word(&keys.paths))?;
            (common, EndpointKeys::Multipath(keys, chooser))
        }
    })
}

/// Reads `[transport.NAME]` of all choosers, whichever is taken; gives the one that is.
fn read_choosers(section: &Section<'_>, taken: &str) -> Result<ChooserParams, Diagnostic> {
    let mut chosen = chooser(taken).expect("the words of the key are the choosers' names");
    for info in choosers() {
        let inner = section.section(info.name)?;
        inner.check_keys(info.params.iter().map(|s| &*s.name))?;
        let mut params = chooser(info.name).expect("it is listed");
        for spec in &info.params {
            let Some(entry) = inner.table.and_then(|t| t.get(&spec.name)) else { continue };
            inner.set(spec, &entry.item, |value| params.set(&spec.name, value))?;
        }
        if info.name == taken {
            chosen = params;
        }
    }
    Ok(chosen)
}

/// MRC has no blocks: its receivers answer packets, and its timers are those of probes.
fn check_mrc(section: &Section<'_>, keys: &MultipathKeys) -> Result<(), Diagnostic> {
    if keys.paths != PathsChoice::Mrc {
        return Ok(());
    }
    if keys.entry_times {
        let problem = "probes of paths = \"mrc\" find losses by the times at which packets left";
        return Err(section.diagnostic("entry_times", problem, "expected false, or other paths"));
    }
    if matches!(keys.coding.0, CodingSpec::Own | CodingSpec::None) {
        return Ok(());
    }
    let problem = "blocks are not repaired by the SACKs of paths = \"mrc\"";
    Err(section.diagnostic("coding", problem, "expected \"none\", or other paths"))
}

/// One start for all excludes another one; a preset's start for the hosts gives way.
fn check_start(section: &Section<'_>, common: &Transport, keys: &TcpKeys) -> Result<(), Diagnostic> {
    let written = section.table.is_some_and(|table| table.get("initial_cwnd").is_some());
    if common.start.0 == Start::Own || !written || keys.initial_cwnd.is_none() {
        return Ok(());
    }
    let problem = format!("flows begin by start = {}", display_start(&common.start));
    Err(section.diagnostic("initial_cwnd", problem, "expected start = \"own\", or no initial_cwnd"))
}

/// A start as a scenario writes it.
pub(crate) fn display_start(start: &StartChoice) -> String {
    start.to_value().map_or_else(String::new, |value| value.to_string())
}

/// A key that another one makes meaningless is refused, not ignored.
fn check_tcp(section: &Section<'_>, keys: &TcpKeys) -> Result<(), Diagnostic> {
    let recovery = word(&keys.recovery);
    let sack = keys.recovery != RecoveryChoice::NewReno;
    let rack = keys.recovery == RecoveryChoice::Rack;
    let persistent = keys.connections == ConnectionsChoice::Persistent;
    // A preset's settings for the hosts give way; only the scenario's own settings are refused.
    let written = |key: &str| section.table.is_some_and(|table| table.get(key).is_some());
    let counts = keys.ecn == EcnChoice::AccEcn;
    let no_counts = || format!("no marks are counted with ecn = \"{}\"", word(&keys.ecn));
    let no_sack = || format!("there are no selective acknowledgements with recovery = \"{recovery}\"");
    let no_probe = || format!("there are no tail loss probes with recovery = \"{recovery}\"");
    let problems = [
        ("dsack", keys.dsack.is_some() && !sack, no_sack(), "recovery = \"sack\" or \"rack\", or no dsack"),
        (
            "forget_sack",
            keys.forget_sack && !sack,
            no_sack(),
            "recovery = \"sack\" or \"rack\", or forget_sack = false",
        ),
        (
            "tail_loss_probe",
            keys.tail_loss_probe.is_some() && !rack,
            no_probe(),
            "recovery = \"rack\", or no tail_loss_probe",
        ),
        (
            "max_ack_delay",
            keys.max_ack_delay.is_some() && !rack,
            no_probe(),
            "recovery = \"rack\", or no max_ack_delay",
        ),
        (
            "max_ack_delay",
            keys.max_ack_delay.is_some() && keys.tail_loss_probe == Some(false),
            "there are no tail loss probes with tail_loss_probe = false".to_string(),
            "tail_loss_probe = true, or no max_ack_delay",
        ),
        (
            "accecn_option",
            keys.accecn_option != AccEcnOptionChoice::Sent && !counts,
            no_counts(),
            "ecn = \"accecn\", or no accecn_option",
        ),
        (
            "accecn_acks",
            keys.accecn_acks != AccEcnAcksChoice::Rfc9768 && !counts,
            no_counts(),
            "ecn = \"accecn\", or no accecn_acks",
        ),
        (
            "quick_acks",
            keys.quick_acks > 0 && keys.delayed_ack.is_none(),
            "no ACK is delayed".to_string(),
            "delayed_ack, or no quick_acks",
        ),
        (
            "timeout_min",
            written("timeout_min") && keys.timeout_min > Delta::ZERO && !rack,
            format!("there are neither tail loss probes nor a reordering timer with recovery = \"{recovery}\""),
            "recovery = \"rack\", or no timeout_min",
        ),
        (
            "timestamp_tick",
            written("timestamp_tick") && keys.timestamp_tick > Delta::ZERO && !keys.timestamps,
            "there are no timestamps with timestamps = false".to_string(),
            "timestamps = true, or no timestamp_tick",
        ),
        (
            "syn_retries",
            keys.syn_retries.is_some() && !keys.handshake,
            "no SYN is sent with handshake = false".to_string(),
            "handshake = true, or no syn_retries",
        ),
        (
            "slow_start_after_idle",
            keys.slow_start_after_idle.is_some() && !persistent,
            "no connection is ever idle with connections = \"per-flow\"".to_string(),
            "connections = \"persistent\", or no slow_start_after_idle",
        ),
        (
            "max_rto",
            keys.max_rto < keys.min_rto,
            format!("max_rto = \"{}\" is below min_rto = \"{}\"", keys.max_rto, keys.min_rto),
            "at least min_rto and initial_rto",
        ),
        (
            "max_rto",
            keys.max_rto < keys.initial_rto,
            format!("max_rto = \"{}\" is below initial_rto = \"{}\"", keys.max_rto, keys.initial_rto),
            "at least min_rto and initial_rto",
        ),
    ];
    match problems.into_iter().find(|(_, wrong, ..)| *wrong) {
        Some((key, _, problem, expected)) => Err(section.diagnostic(key, problem, format!("expected {expected}"))),
        None => Ok(()),
    }
}

/// The network model's specification of it.
pub(crate) fn spec(keys: &Transport, endpoint: &EndpointKeys) -> TransportSpec {
    let int_carriage = match keys.int_carriage {
        IntCarriageChoice::All => IntCarriage::All,
        IntCarriageChoice::Three => IntCarriage::Three,
        IntCarriageChoice::MaxQueue => IntCarriage::MaxQueue,
    };
    let mut multipath = MultipathSpec::default();
    let (kind, rdma, tcp) = match endpoint {
        EndpointKeys::Rdma(rdma) => (TransportKind::Rdma, rdma.clone(), TcpKeys::default()),
        EndpointKeys::Tcp(tcp) => (TransportKind::Tcp, RdmaKeys::default(), tcp.clone()),
        EndpointKeys::Multipath(keys, paths) => {
            multipath = multipath_spec(keys, paths);
            (TransportKind::Multipath, RdmaKeys::default(), TcpKeys::default())
        }
    };
    TransportSpec {
        kind,
        mtu: keys.mtu,
        header: keys.header,
        framing: keys.framing,
        ack: keys.ack,
        start: keys.start.0,
        int_carriage,
        int_bytes: keys.int_bytes.unwrap_or_else(|| int_carriage.header_bytes()),
        rto_intra: rdma.rto_intra,
        rto_cross: rdma.rto_cross,
        tcp: tcp_spec(&tcp),
        multipath,
        control_priority: keys.control_priority,
    }
}

fn multipath_spec(keys: &MultipathKeys, paths: &ChooserParams) -> MultipathSpec {
    let &MultipathKeys {
        preset: _,
        paths: _,
        rto,
        rto_across,
        rto_growth,
        whole_packets,
        entry_pacing,
        entry_times,
        ack_bytes,
        overtaken,
        coding,
    } = keys;
    MultipathSpec {
        paths: paths.clone(),
        rto,
        rto_across,
        rto_growth,
        whole_packets,
        entry_pacing,
        entry_times,
        ack_bytes,
        overtaken,
        coding: coding.0,
    }
}

fn tcp_spec(keys: &TcpKeys) -> TcpSpec {
    let default = TcpSpec::default();
    let linux = LinuxPacing { slow_start: keys.pacing_gain_slow_start, otherwise: keys.pacing_gain };
    TcpSpec {
        recovery: match keys.recovery {
            RecoveryChoice::NewReno => spec::Recovery::NewReno,
            RecoveryChoice::Sack => spec::Recovery::Sack,
            RecoveryChoice::Rack => spec::Recovery::Rack,
        },
        handshake: keys.handshake,
        ecn: match keys.ecn {
            EcnChoice::Auto => EcnFeedback::Auto,
            EcnChoice::Classic => EcnFeedback::Classic,
            EcnChoice::Rfc8257 => EcnFeedback::Rfc8257,
            EcnChoice::AccEcn => EcnFeedback::AccEcn,
        },
        accecn_option: match keys.accecn_option {
            AccEcnOptionChoice::Off => AccEcnOption::Off,
            AccEcnOptionChoice::Sent => AccEcnOption::Sent,
            AccEcnOptionChoice::Stripped => AccEcnOption::Stripped,
        },
        accecn_acks: match keys.accecn_acks {
            AccEcnAcksChoice::Rfc9768 => spec::AccEcnAcks::Rfc9768,
            AccEcnAcksChoice::Linux => spec::AccEcnAcks::Linux,
        },
        delayed_ack: keys.delayed_ack,
        ack_every: keys.ack_every,
        quick_acks: keys.quick_acks,
        min_rto: keys.min_rto,
        rto_floor: match keys.rto_floor {
            RtoFloorChoice::Total => spec::RtoFloor::Total,
            RtoFloorChoice::Variance => spec::RtoFloor::Variance,
        },
        backoff_ends: match keys.backoff_ends {
            BackoffEndChoice::Sample => spec::BackoffEnd::Sample,
            BackoffEndChoice::AnyAck => spec::BackoffEnd::AnyAck,
        },
        max_rto: keys.max_rto,
        initial_rto: keys.initial_rto,
        max_retries: keys.max_retries,
        syn_retries: keys.syn_retries.unwrap_or(default.syn_retries),
        initial_cwnd: keys.initial_cwnd,
        receive_window: keys.receive_window,
        limited_transmit: keys.limited_transmit,
        dup_ack_threshold: keys.dup_ack_threshold,
        timestamps: keys.timestamps,
        dsack: keys.dsack.unwrap_or(default.dsack),
        forget_sack: keys.forget_sack,
        prr: keys.prr,
        frto: keys.frto,
        tail_loss_probe: keys.tail_loss_probe.unwrap_or(default.tail_loss_probe),
        max_ack_delay: keys.max_ack_delay.unwrap_or(default.max_ack_delay),
        timeout_min: keys.timeout_min,
        timer_tick: keys.timer_tick,
        timestamp_tick: keys.timestamp_tick,
        pacing: (keys.pacing == PacingChoice::Linux).then_some(linux),
        rtt_noise: keys.rtt_noise,
        delay_noise_intra: keys.delay_noise_intra,
        delay_noise_cross: keys.delay_noise_cross,
        remember_ssthresh: keys.remember_ssthresh,
        segmentation_offload: keys.segmentation_offload,
        persistent: keys.connections == ConnectionsChoice::Persistent,
        slow_start_after_idle: keys.slow_start_after_idle.unwrap_or(default.slow_start_after_idle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Params;

    #[test]
    fn the_defaults_are_those_of_the_network_model() {
        assert_eq!(tcp_spec(&TcpKeys::default()), TcpSpec::default());
        let keys = MultipathKeys::default();
        let paths = chooser(&word(&keys.paths)).expect("a chooser");
        assert_eq!(multipath_spec(&keys, &paths), MultipathSpec::default());
    }

    #[test]
    fn the_words_of_the_key_are_the_choosers() {
        let spec = MultipathKeys::specs().into_iter().find(|s| s.name == "paths").expect("a key");
        let farloop_units::Kind::Choice(words) = spec.kind else { panic!("{:?}", spec.kind) };
        let names: Vec<&str> = choosers().map(|info| info.name).collect();
        assert_eq!(words.iter().collect::<Vec<_>>(), names);
    }
}
