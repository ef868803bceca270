//! Memory that networks take: for each port, and for each flow.
#![allow(unsafe_code)] // an allocator that counts

mod common;
use common::*;
use farloop_net::spec::*;
use farloop_net::{Cores, Simulation};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that are allocated, and the most at once.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MAX_HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MAX_HELD.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 64 racks of 64 hosts below 64 spines: 8,192 links. Each host sends so many bytes to one of the next rack.
fn plane(size: u64, senders: u32) -> NetworkSpec {
    let sprays = || SwitchSpec { ecmp: Ecmp::Entropy, ..plain_switch() };
    let mut nodes: Vec<NodeSpec> = (0..128).map(|i| switch(&format!("s{i}"), sprays())).collect();
    nodes.extend((0..4096).map(|i| host(&format!("h{i}"))));
    let rate = Rate::from_gbps(400);
    let delay = Delta::from_ns(500);
    let mut links: Vec<LinkSpec> = (0..4096).map(|i| link(128 + i, i / 64, rate, delay)).collect();
    links.extend((0..64).flat_map(|leaf| (64..128).map(move |spine| link(leaf, spine, rate, delay))));
    let flows = (0..senders).map(|i| flow(128 + i, 128 + (i + 64) % 4096, Time::ZERO, Bytes::new(size))).collect();
    NetworkSpec {
        transport: TransportSpec { mtu: Bytes::new(4096), ..transport(TransportKind::Multipath) },
        end: Time::from_ps(1_000_000_000),
        ..network(nodes, links, algorithm("nscc", &[]), flows)
    }
}

/// The most bytes at once from the specification to the result, and those of packets.
fn measure(size: u64, senders: u32, cores: Cores) -> (usize, usize) {
    let before = HELD.load(Ordering::Relaxed);
    MAX_HELD.store(before, Ordering::Relaxed);
    let simulation = Simulation::build(plane(size, senders), cores, &mut || true).expect("valid");
    let result = simulation.run(&mut |_| true).expect("runs to its end");
    sound(&result);
    assert!(result.flows.iter().all(|flow| flow.finish.is_some()));
    (MAX_HELD.load(Ordering::Relaxed) - before, result.totals.packet_memory as usize)
}

#[test]
fn ports_and_flows_take_little_memory() {
    let ports = 2 * 8192;
    let (empty, _) = measure(4096, 1, Cores::ONE);
    let (cut, _) = measure(4096, 1, Cores::with_parts(16, 1));
    let (busy, packets) = measure(100_000, 4096, Cores::ONE);
    let of_port = [empty, cut].map(|bytes| bytes / ports);
    let of_flow = (busy - empty - packets) / 4096;
    println!("{of_port:?} B a port whole and in 16 parts, {of_flow} B a flow, {packets} B of packets");
    // A link that is cut has ports in both parts.
    assert!(of_port[0] <= 1_400 && of_port[1] <= 2_300, "{of_port:?}");
    assert!(of_flow <= 5_000, "{of_flow}");
}
