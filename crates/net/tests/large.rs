//! Networks with more ports and hosts than the calendar of one part can number.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{BuildError, Cores, RunResult, Simulation};
use farloop_units::{Bytes, Rate, Time};

const RACKS: u32 = 16;

/// Racks of so many hosts each below one spine; a few flows from each rack to the next.
fn racks(hosts_per_rack: u32, kind: TransportKind) -> NetworkSpec {
    let mut nodes = vec![switch("spine", plain_switch())];
    nodes.extend((0..RACKS).map(|rack| switch(&format!("leaf{rack}"), plain_switch())));
    let hosts = RACKS * hosts_per_rack;
    nodes.extend((0..hosts).map(|i| host(&format!("h{i}"))));
    let rate = Rate::from_gbps(100);
    let mut links: Vec<LinkSpec> = (0..RACKS).map(|rack| link(1 + rack, 0, rate, us(1))).collect();
    links.extend((0..hosts).map(|i| link(1 + RACKS + i, 1 + i / hosts_per_rack, rate, us(1))));
    let at = |rack: u32, i: u32| 1 + RACKS + rack % RACKS * hosts_per_rack + i;
    let pairs = (0..RACKS).flat_map(|rack| (0..3).map(move |i| (rack, i)));
    let flows = pairs
        .map(|(rack, i)| flow(at(rack, i), at(rack + 1, i + 1), Time::ZERO, Bytes::new(20_000 + u64::from(rack))))
        .collect();
    NetworkSpec {
        transport: transport(kind),
        end: Time::from_ps(200_000_000),
        ..network(nodes, links, algorithm("fixed", &[]), flows)
    }
}

fn simulate(spec: &NetworkSpec, cores: Cores) -> Result<(usize, RunResult), BuildError> {
    let simulation = Simulation::build(spec.clone(), cores, &mut || true)?;
    let parts = simulation.parts();
    let mut result = simulation.run(&mut |_| true).expect("runs to its end");
    sound(&result);
    (result.totals.events, result.totals.packet_memory) = (0, 0);
    Ok((parts, result))
}

/// 176,000 hosts take 1,056,064 events; a calendar has 1,048,576.
#[test]
fn a_network_that_is_too_large_for_a_part_is_cut_on_one_thread_too() {
    let spec = racks(11_000, TransportKind::Rdma);
    let (parts, alone) = simulate(&spec, Cores::with_threads(1)).expect("it is cut");
    assert_eq!(parts, 2);
    assert!(alone.flows.iter().all(|flow| flow.finish.is_some()));
    let (parts, many) = simulate(&spec, Cores::with_parts(16, 2)).expect("it is cut");
    assert_eq!(parts, 16);
    assert!(alone == many, "the cut changes no number");
    let events = 1_056_064;
    for (spec, cores) in [(&spec, Cores::ONE), (&racks(11_000, TransportKind::Tcp), Cores::with_threads(1))] {
        let mut spec = spec.clone();
        spec.transport.tcp.persistent = true;
        let refused = Simulation::build(spec, cores, &mut || true).err();
        assert_eq!(refused, Some(BuildError::TooLarge { events }), "{cores:?}");
    }
}

#[test]
fn a_rack_that_is_too_large_is_refused() {
    let mut spec = racks(11_000, TransportKind::Rdma);
    for link in &mut spec.links[RACKS as usize..] {
        link.b = 1;
    }
    let refused = Simulation::build(spec, Cores::with_threads(1), &mut || true).err();
    let message = refused.expect("no cut helps").to_string();
    assert_eq!(
        message,
        "a part of the network that cannot be cut needs 1056064 event numbers; at most 1048576 are there"
    );
}
