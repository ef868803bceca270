//! Networks and algorithms that the fluid simulation refuses, each by the key of a scenario.

use crate::refusal::{Refusal, refuse};
use crate::tcp::{check_drops, check_tcp};
use farloop_cc::{AnyParams, Needs};
use farloop_network::spec::{
    DisciplineSpec, Ecmp, EcnAt, EcnSpec, FlowSpec, IntCarriage, JobSpec, LinkChange, LinkPfc, LinkSpec, NetworkSpec,
    NodeKind, NodeSpec, PfcSpec, SwitchSpec, TransportKind, TransportSpec,
};

/// Checks that the fluid simulation has every feature of this network. Each field is modelled, means nothing to rates, or is refused here:
/// the compiler asks about a new one.
///
/// # Errors
/// The first feature that it does not have.
pub fn check(spec: &NetworkSpec) -> Result<(), Refusal> {
    let NetworkSpec {
        nodes,
        links,
        detours: _, // the ways of flows follow them
        paths: _,   // the ways of flows follow them, too
        events,
        transport,
        algorithms,
        agents,
        flows,
        follows: _,
        jobs,
        intra_rtt: _,
        record: _,
        end: _,
        seed: _,
        clock_offsets,
        stalls,
        bond: _,      // paths follow it
        nic_order: _, // a host's flows share its link max-min fairly, whatever their packets' order
        tie_order: _, // no two packets meet
    } = spec;
    nodes.iter().try_for_each(check_node)?;
    links.iter().try_for_each(check_link)?;
    events.events.iter().try_for_each(|event| check_change(&event.change))?;
    check_transport(transport)?;
    if transport.kind == TransportKind::Tcp {
        check_tcp(&transport.tcp)?;
        check_drops(nodes)?;
    }
    algorithms.iter().try_for_each(check_algorithm)?;
    if let Some(agent) = agents.first() {
        let problem = format!("\"{}\" acts on packets at switches", agent.params.info().name);
        return refuse("agent", problem, "expected no [[agent]], or gear = \"packets\"");
    }
    check_flows(flows)?;
    check_jobs(jobs, flows, transport.kind)?;
    if clock_offsets.iter().any(|offset| *offset != Default::default()) {
        return refuse("hosts.clock_offset", "hosts' links have their exact rates", "expected \"0ppm\"");
    }
    if stalls.is_some() {
        return refuse("hosts.stall", "hosts do not stall", "expected \"0ps\", or gear = \"packets\"");
    }
    Ok(())
}

fn check_node(node: &NodeSpec) -> Result<(), Refusal> {
    let NodeSpec { name, datacenter: _, kind } = node;
    match kind {
        NodeKind::Host => Ok(()),
        NodeKind::Circuit(_) => {
            let problem = format!("\"{name}\" is a circuit switch, whose circuits rates do not wait for");
            refuse("network", problem, "expected a network without circuit switches, or gear = \"packets\"")
        }
        NodeKind::Switch(switch) => check_switch(name, switch),
    }
}

fn check_switch(name: &str, switch: &SwitchSpec) -> Result<(), Refusal> {
    let SwitchSpec {
        buffer: _,
        alpha: _,
        queue_limit: _,
        pfc,
        ecn,
        ecmp,
        discipline,
        flow_queues: _, // of port agents
        scheduling,
        elephants: _, // of switches that schedule
        int: _,
        agents: _, // algorithms that have some are refused
        trim,
    } = switch;
    if let Some(PfcSpec { xoff: _, alpha_rate: _, hysteresis: _, headroom: _ }) = pfc {
        // A queue that would pass its threshold ends the run.
    }
    if let Some(EcnSpec { kmin: _, kmax: _, pmax: _, rate: _, at, drops_others: _, last_hop: _ }) = ecn
        && let EcnAt::Phantom(_) = at
    {
        let problem = format!("\"{name}\" marks by a phantom queue");
        return refuse("switch.ecn_at", problem, "expected \"arrival\" or \"departure\", or gear = \"packets\"");
    }
    match ecmp {
        Ecmp::Flow | Ecmp::Symmetric | Ecmp::Entropy | Ecmp::Source | Ecmp::Ucmp => {}
        Ecmp::Lcmp(_) => {
            let problem = format!("\"{name}\" chooses paths by its queues");
            return refuse(
                "switch.ecmp",
                problem,
                "expected \"flow\", \"symmetric\" or \"ucmp\", or gear = \"packets\"",
            );
        }
        Ecmp::Packet | Ecmp::Adaptive => {
            let problem = format!("\"{name}\" spreads the packets of a flow over several ways");
            return refuse("switch.ecmp", problem, "expected \"flow\" or \"symmetric\", or gear = \"packets\"");
        }
    }
    if *discipline != DisciplineSpec::Fifo {
        let problem = format!("at \"{name}\" flows take turns");
        return refuse("switch.discipline", problem, "expected \"fifo\", or gear = \"packets\"");
    }
    if scheduling.is_some() {
        let problem = format!("\"{name}\" schedules circuits");
        return refuse("circuits.scheduling", problem, "expected \"none\", or gear = \"packets\"");
    }
    if trim.is_some() {
        let problem = format!("\"{name}\" trims packets");
        return refuse("switch.trim", problem, "expected \"none\", or gear = \"packets\"");
    }
    Ok(())
}

fn check_change(change: &LinkChange) -> Result<(), Refusal> {
    let problem = match change {
        LinkChange::Rate(_) | LinkChange::Delay(_) => return Ok(()),
        LinkChange::Down | LinkChange::Up => "a link fails, and flows wait for new routes and timeouts",
        LinkChange::Loss(_) | LinkChange::Corruption(_) => "a link loses or damages packets at random",
        LinkChange::LoseData(_) | LinkChange::LoseAcks(_) | LinkChange::LateData(..) => {
            "a link loses or delays single packets"
        }
    };
    refuse("event", problem, "expected changes of rate and delay, or gear = \"packets\"")
}

fn check_link(link: &LinkSpec) -> Result<(), Refusal> {
    let LinkSpec { a: _, b: _, rate: _, delay: _, loss, corruption, pfc } = link;
    if *loss > 0.0 || *corruption > 0.0 {
        return refuse(
            "network",
            "a link loses or damages packets at random",
            "expected links without loss, or gear = \"packets\"",
        );
    }
    if *pfc != LinkPfc::Local {
        let problem = "a link has PFC of its own, and rates know pauses within datacenters only";
        return refuse("network", problem, "expected links with pfc = \"auto\", or gear = \"packets\"");
    }
    Ok(())
}

fn check_transport(transport: &TransportSpec) -> Result<(), Refusal> {
    let TransportSpec {
        kind,
        mtu: _,
        header: _,
        framing: _,
        ack: _,
        start: _,
        int_carriage,
        int_bytes: _,
        rto_intra: _, // no data is lost without a NACK that tells
        rto_cross: _,
        tcp: _, // where it counts: `check_tcp`
        multipath: _,
        control_priority,
    } = transport;
    match kind {
        TransportKind::Rdma | TransportKind::Tcp => {}
        TransportKind::Multipath => {
            let problem = "multipath endpoints are not simulated as rates";
            return refuse("transport.kind", problem, "expected \"rdma\" or \"tcp\", or gear = \"packets\"");
        }
    }
    if *int_carriage != IntCarriage::All {
        let problem = "packets that carry some of their hops' telemetry are not simulated";
        return refuse("transport.int_carriage", problem, "expected \"all\", or gear = \"packets\"");
    }
    if !control_priority {
        return refuse(
            "transport.control_priority",
            "ACKs do not wait in queues",
            "expected true, or gear = \"packets\"",
        );
    }
    Ok(())
}

fn check_flows(flows: &[FlowSpec]) -> Result<(), Refusal> {
    for flow in flows {
        let FlowSpec {
            src: _,
            dst: _,
            start: _,
            stop: _,
            size: _,
            algorithm: _,
            class,
            elephant: _, // of switches that schedule
            initial_rate: _,
            initial_cwnd: _,
            port: _, // its path begins and ends there
        } = flow;
        if *class != flows[0].class {
            return refuse(
                "flow.class",
                "flows of several data classes share links",
                "expected one class, or gear = \"packets\"",
            );
        }
    }
    Ok(())
}

fn check_jobs(jobs: &[JobSpec], flows: &[FlowSpec], kind: TransportKind) -> Result<(), Refusal> {
    if kind != TransportKind::Rdma && !jobs.is_empty() {
        return refuse("transport.kind", "messages of jobs take queue pairs of RDMA", "expected \"rdma\"");
    }
    let first = flows.first().map(|flow| flow.class).or(jobs.first().map(|job| job.class));
    for job in jobs {
        let JobSpec {
            name,
            job: _,
            hosts: _,
            start: _,
            iterations: _,
            algorithm: _,
            cross_algorithm: _,
            class,
            host: _,
            domain: _,
            ports: _, // paths follow them
        } = job;
        if Some(*class) != first {
            let problem = format!("messages of \"{name}\" share links with another data class");
            return refuse("job", problem, "expected one class, or gear = \"packets\"");
        }
    }
    Ok(())
}

/// Checks that senders run this algorithm alone, and that it needs nothing that rates do not have.
///
/// # Errors
/// The first need that they do not meet.
pub fn check_algorithm(algorithm: &AnyParams) -> Result<(), Refusal> {
    let Needs {
        ecn: _,
        int: _,
        header_bytes: _,
        fields,
        port_agent,
        border_agent: _, // one of port agents
        symmetric: _,
        accurate_ecn: _,
        delivery_rate: _, // over TCP
        even_pacing: _,
        exact_window: _,
        multipath,
        credit,
        coding: _, // over multipath endpoints
    } = algorithm.needs();
    let name = algorithm.describe().name;
    let refuse = |problem: &str| {
        let problem = format!("\"{name}\" {problem}");
        refuse("algorithm.name", problem, "expected an algorithm that senders run alone, or gear = \"packets\"")
    };
    if port_agent {
        return refuse("acts at ports of switches");
    }
    if credit {
        return refuse("waits for credit of receivers");
    }
    if multipath {
        return refuse("needs multipath endpoints");
    }
    if fields > 0 {
        return refuse("has header fields of its own");
    }
    Ok(())
}
