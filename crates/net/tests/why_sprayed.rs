//! Where the time of sprayed flows goes: over all NIC ports of their hosts, with the plane and entropy value of what is lost or late.

use crate::common::*;
use crate::limits::lives_add_up;
use crate::mrc::{fabric, one_flow, switch_fails};
use crate::why::{adds_up, part, run};
use farloop_net::spec::*;
use farloop_trace::why::{Answer, Limit, Sending, Why};
use farloop_units::{Bytes, Delta, Time, Value};

/// The NIC port of host 0 in each plane: its link comes first among those of the plane, and hosts are the first nodes of their links.
fn ports_of_first_host(spec: &NetworkSpec) -> Vec<u32> {
    (0..).zip(&spec.links).filter(|(_, link)| link.a == 0).map(|(number, _)| 2 * number).collect()
}

/// Returns true if a port belongs to a node, or leads to it.
fn touches(spec: &NetworkSpec, port: u32, name: &str) -> bool {
    let link = &spec.links[port as usize / 2];
    [link.a, link.b].iter().any(|node| spec.nodes[*node as usize].name == name)
}

fn explain_all(spec: &NetworkSpec) -> Vec<Answer> {
    let plain = run(spec);
    lives_add_up(&plain);
    let flows = 0..spec.flows.len() as u32;
    flows.map(|flow| adds_up(spec, flow, &plain).expect("it begins")).collect()
}

#[test]
fn healthy_planes_have_no_repairs_and_hold_nothing_back() {
    for planes in [1, 2, 4] {
        let flows = [(0, 2), (1, 2), (3, 0)];
        let flows = flows.map(|(from, to)| flow(from, to, Time::ZERO, Bytes::new(1460 * 300)));
        let spec = fabric(planes, &[], flows.into());
        for answer in explain_all(&spec) {
            assert_eq!(part(&answer, |blame| blame.why == Why::Hold), 0, "{planes} planes");
        }
        let [first, ..] = &explain_all(&spec)[..] else { panic!("three flows") };
        let last = first.last.expect("it sent data");
        assert!(ports_of_first_host(&spec).contains(&last.port) && last.entropy.is_some(), "{last:?}");
        let rivals = part(first, |blame| blame.why == Why::Queue && blame.rival == Some(1));
        assert!(rivals > 0, "{planes} planes: two flows share the links of host 2");
    }
}

#[test]
fn a_loss_names_plane_and_entropy_value_and_the_state_that_the_value_has_now() {
    let mut spec = fabric(2, &[], one_flow(4_000));
    switch_fails(&mut spec, 300, "p0s2");
    let own = ports_of_first_host(&spec);
    let [answer] = &explain_all(&spec)[..] else { panic!("one flow") };
    let counted = run(&spec).flows[0].counts.retransmitted;
    assert_eq!(answer.repairs.len() as u64, counted);
    let lost: Vec<_> = answer.repairs.iter().filter_map(|repair| Some((repair, repair.lost?))).collect();
    assert!(!lost.is_empty() && lost.len() as u64 <= counted);
    for (repair, port) in lost {
        assert!(touches(&spec, port, "p0s2"), "{repair:?}");
        let Sending { port, sequence, .. } = repair.before;
        assert_eq!((port, sequence), (own[0], repair.again.sequence), "{repair:?} left by the first plane");
        assert!(repair.state == Some("assumed bad"), "{repair:?}");
        assert!(repair.again.at > repair.before.at && own.contains(&repair.again.port));
    }
}

#[test]
fn without_states_losses_go_on_and_name_none() {
    let mut spec = fabric(2, &[("states", Value::Bool(false))], one_flow(2_000));
    switch_fails(&mut spec, 100, "p1s3");
    let [answer] = &explain_all(&spec)[..] else { panic!("one flow") };
    let states: Vec<_> = answer.repairs.iter().filter_map(|repair| repair.state).collect();
    assert!(answer.repairs.len() > 20, "{}", answer.repairs.len());
    assert!(states.iter().all(|state| *state == "good"), "{states:?}");
    let again = |repair: &farloop_trace::why::Repair| answer.repairs.iter().any(|r| r.before == repair.again);
    assert!(answer.repairs.iter().any(again), "some are lost twice");
    // The path has a repair, whose part says which packet was lost.
    let parts = answer.parts();
    let repairs: Vec<_> = parts.keys().filter(|blame| blame.why == Why::Recovery && blame.port.is_some()).collect();
    assert!(repairs.iter().any(|blame| blame.entropy.is_some()), "{repairs:?}");
}

/// Whatever is lost, by one plane or several, under several algorithms: the parts add up.
#[test]
fn parts_of_sprayed_flows_add_up() {
    for (seed, (planes, name, paths)) in (1..).zip([
        (1, "mrc", "mrc"),
        (2, "nscc", "oblivious"),
        (3, "swift", "reps"),
        (4, "mrc", "mrc"),
        (8, "nscc", "bitmap"),
    ]) {
        let sizes = [1, 1460, 40_000, 600_000, 300_000];
        let flows = (0..)
            .zip(sizes)
            .map(|(i, size)| flow(i % 4, (i + 1 + i / 2) % 4, Time::ZERO + us(20 * u64::from(i)), Bytes::new(size)));
        let mut spec = fabric(planes, &[], flows.filter(|flow| flow.src != flow.dst).collect());
        spec.algorithms = vec![algorithm(name, &[])];
        spec.transport.multipath.paths = farloop_cc::paths::chooser(paths).expect("known");
        for link in &mut spec.links {
            link.loss = 0.004;
        }
        spec.seed = seed;
        spec.end = Time::ZERO + Delta::from_ms(20);
        for answer in explain_all(&spec) {
            let window = part(&answer, |blame| blame.limit == Limit::Window);
            assert!(window <= (answer.end - answer.start).as_ps());
        }
    }
}
