//! Where NCCL's choice for an all-reduce is over 10 % slower on the ideal network than one that it rejects, as a table of docs/jobs.md.
//!
//! `cargo run --release -p farloop-job --example nccl_choices -- 4 8 16 64 256 1024` takes numbers of hosts, each with a rank at 400 Gbps.

use farloop_job::collectives::nccl::{self, Chosen, Machine, Members};
use farloop_job::collectives::{Location, send_merged};
use farloop_job::ideal::{Network, run};
use farloop_units::{Delta, Rate};

const MACHINE: Machine = Machine { rank_rate: 50e9, host_rate: f64::INFINITY, domain: 450e9 };

/// Microseconds of an all-reduce that is sent like this.
fn measure(chosen: Chosen, bytes: u64, ranks: u32, latency: Delta) -> f64 {
    let locations: Vec<Location> = (0..ranks).map(|host| Location { site: 0, host }).collect();
    let job = send_merged(&MACHINE, chosen, bytes, &locations).to_job("all-reduce");
    let network = Network::alpha_beta(latency, Rate::from_gbps(400));
    run(&job, &network, 1, false, &mut |_, _| true).expect("it ends").end.as_secs_f64() * 1e6
}

/// No all-reduce that is sent like this takes less, microseconds.
fn least(chosen: Chosen, bytes: u64, ranks: u32, latency: f64) -> f64 {
    let (n, wire) = (f64::from(ranks), farloop_job::collectives::channels::wire(chosen.protocol, bytes) as f64);
    let steps = if chosen.tree { 2.0 * n.log2().floor() } else { 2.0 * (n - 1.0) };
    let sent = if chosen.tree { 1.0 } else { 2.0 * (n - 1.0) / n } * wire / (MACHINE.rank_rate / 1e6);
    (steps * latency).max(sent)
}

/// NCCL's model with the latency of this network in the place of its own.
fn informed(chosen: Chosen, bytes: u64, members: Members, latency: f64) -> f64 {
    let own = nccl::latency(&MACHINE, bytes, members, chosen);
    nccl::time(&MACHINE, bytes, members, chosen) - own + least(chosen, 0, members.ranks, latency)
}

fn main() {
    let name = |c: Chosen| format!("{} {}", if c.tree { "tree" } else { "ring" }, c.protocol.name());
    println!("| hosts | size | latency | chosen | µs | fastest | µs | times | cause |");
    println!("| ---: | ---: | ---: | --- | ---: | --- | ---: | ---: | --- |");
    let (mut cases, mut listed) = (0, 0);
    for ranks in std::env::args().skip(1).map(|n| n.parse().expect("a number of hosts")) {
        let members = Members { ranks, hosts: ranks };
        for (size, bytes) in
            [("1 kB", 3), ("10 kB", 4), ("100 kB", 5), ("1 MB", 6), ("10 MB", 7), ("100 MB", 8), ("1 GB", 9)]
                .map(|(text, power)| (text, 10u64.pow(power)))
        {
            for latency in [0.5, 5.0, 50.0] {
                cases += 1;
                let chosen = nccl::choose(&MACHINE, bytes, members);
                let delta = Delta::from_secs_f64(latency * 1e-6);
                let own = measure(chosen, bytes, ranks, delta);
                let mut best = (own, chosen);
                for other in Chosen::candidates().filter(|&o| o != chosen) {
                    if least(other, bytes, ranks, latency) < best.0.min(own / 1.1) {
                        let time = measure(other, bytes, ranks, delta);
                        if time < best.0 {
                            best = (time, other);
                        }
                    }
                }
                if own > 1.1 * best.0 {
                    listed += 1;
                    let flips = informed(best.1, bytes, members, latency) < informed(chosen, bytes, members, latency);
                    let cause = if flips { "latency" } else { "bandwidth" };
                    let (a, b, times) = (name(chosen), name(best.1), own / best.0);
                    println!(
                        "| {ranks} | {size} | {latency} µs | {a} | {own:.1} | {b} | {:.1} | {times:.2} | {cause} |",
                        best.0
                    );
                }
            }
        }
        eprintln!("{ranks}: {listed} of {cases}");
    }
    println!("\n{listed} of {cases} cases.");
}
