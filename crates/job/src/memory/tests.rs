use super::*;
use crate::collectives::{Algorithm, Layout, Location, does, schedule, traffic};
use crate::formats::{NO_OPTIONS, aicb, goal_binary, goal_text};
use crate::generate::{Plan, Stall, Zero, generate, generate_within, size};
use crate::job::Collective;

const GB: u64 = 1_000_000_000;

fn limited_budget(limit: u64) -> Budget<'static> {
    Budget { limit: MemoryLimit(Some(limit)), ..Budget::NONE }
}

#[test]
fn traffic_is_that_of_the_schedule() {
    for algorithm in Algorithm::ALL {
        for kind in Collective::ALL {
            for n in [1u32, 2, 3, 5, 8, 12, 16] {
                for (per_site, bytes) in [(u32::MAX, 1000), (4, 3_000_000), (2, 200_000_000), (n.div_ceil(2), 1)] {
                    let sites: Vec<u32> = (0..n).map(|rank| rank / per_site).collect();
                    if !does(algorithm, kind, &sites) {
                        continue;
                    }
                    let made = schedule(algorithm, kind, bytes, &sites);
                    let steps: usize = made.steps.iter().map(Vec::len).sum();
                    let of = |(member, steps): (usize, &Vec<crate::collectives::Step>)| {
                        let sends = steps.iter().filter(|step| step.send);
                        sends.map(|step| (member, step.peer, step.lane)).collect::<Vec<_>>()
                    };
                    let channels: std::collections::BTreeSet<_> = made.steps.iter().enumerate().flat_map(of).collect();
                    let places: Vec<Location> = sites.iter().map(|&site| Location { site, host: site }).collect();
                    let counted = traffic(algorithm, kind, bytes, &Layout::from_locations(&places));
                    let at = format!("{algorithm:?} {kind:?} {n} {per_site} {bytes}");
                    assert_eq!(counted.steps, steps as f64, "{at}");
                    let channels = channels.len() as f64;
                    // Rings of two meet in both directions, and a ring across sites has neighbours of one inside.
                    assert!((channels..=1.5 * channels).contains(&counted.channels), "{at}: {counted:?} {channels}");
                }
            }
        }
    }
}

fn plans() -> Vec<Plan> {
    let plain = Plan { layers: 8, microbatches: 4, ..Plan::default() };
    let parallel = Plan { tensor: 2, data: 4, pipeline: 2, ..plain.clone() };
    let mixture = Plan { model: crate::generate::Model::Mixtral, expert: 2, ..parallel.clone() };
    let training = Plan { inner_steps: 6, fragments: 2, delay_steps: 1, replicas: 2, ..parallel.clone() };
    let stalls = Plan { stall: Stall::Exponential, stall_probability: 1.0, ..parallel.clone() };
    vec![
        Plan { interleave: 2, ..parallel.clone() },
        Plan { zero: Zero::Gradients, ..parallel.clone() },
        Plan { zero: Zero::Parameters, ..parallel.clone() },
        Plan { zero: Zero::Parameters, outermost: crate::generate::Outermost::Data, ..mixture.clone() },
        Plan { expert: 4, ..mixture.clone() },
        Plan { overlap: false, scale: 16, ..mixture.clone() },
        plain,
        parallel,
        mixture,
        training,
        stalls,
    ]
}

#[test]
fn a_plan_is_as_large_as_the_job_that_is_made_of_it() {
    let at = |site: u32| Location { site, host: site };
    for sites in [&(|_| at(0)) as &dyn Fn(u32) -> Location, &|rank| at(rank / 4), &|rank| at(rank % 2)] {
        for plan in plans() {
            let (counted, made) = (size(&plan, sites), of_job(&generate(&plan, "plan").unwrap(), sites));
            let without = |size: &Size| Size { calls: Vec::new(), dependencies: 0, ..size.clone() };
            assert_eq!(without(&counted), without(&made), "{plan:?}");
            let ratio = counted.dependencies as f64 / made.dependencies as f64;
            assert!((0.6..1.7).contains(&ratio), "{ratio}");
            // Kind, bytes and how often, whichever sites their groups have.
            let calls = |size: &Size| {
                let mut by = std::collections::BTreeMap::new();
                for call in &size.calls {
                    *by.entry((call.kind, call.bytes, call.locations.len())).or_insert(0) += call.count;
                }
                by
            };
            assert_eq!(calls(&counted), calls(&made), "{plan:?}");
            let schedules = |size: &Size| size.calls.iter().map(|call| call.schedules).sum::<u128>();
            assert!(schedules(&counted) >= schedules(&made), "{plan:?}");
        }
    }
}

const WORKLOAD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 2 vpp: 1 ga: 1 all_gpus: 32\n2\n\
    a -1 100 ALLREDUCE 4096 200 ALLTOALL_EP 4096 300 NONE 0 100\n\
    b -1 100 ALLREDUCE 4096 200 NONE 0 300 ALLGATHER_DP_EP 77 100\n";

fn workload(limit: u64) -> Result<crate::Job, JobError> {
    aicb::read(&mut WORKLOAD.as_bytes(), "a.txt", &NO_OPTIONS, &limited_budget(limit))
}

#[test]
fn a_workload_is_as_large_as_the_job_that_is_made_of_it() {
    let job = workload(u64::MAX - 1).unwrap();
    let made = of_job(&job, &|rank| Location { site: rank / 8, host: rank });
    let parsed = aicb::parse(&mut WORKLOAD.as_bytes(), "a.txt").unwrap();
    // Sizes and strides of groups of 4 tensor-parallel ranks, 4 replicas in each of 2 stages, and 2 experts.
    let kinds = [(4, 1), (4, 4), (2, 4), (2, 8)];
    let counted = aicb::size(&parsed, 32, &kinds, &|rank| Location { site: rank / 8, host: rank });
    let without = |size: &Size| Size { calls: Vec::new(), dependencies: 0, ..size.clone() };
    assert_eq!(without(&counted), without(&made));
    let calls = |size: &Size| size.calls.iter().map(|call| call.count * call.locations.len() as u128).sum::<u128>();
    assert_eq!(calls(&counted), calls(&made));
    let dependencies = counted.dependencies as f64 / made.dependencies as f64;
    assert!((0.8..2.0).contains(&dependencies), "{dependencies}");
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_made() {
    // Hundreds of billions of operations; nothing of the kind is allocated, or the test would not end.
    let large = Plan { data: 16_384, tensor: 64, microbatches: 4096, layers: 1024, ..Plan::default() };
    let error = generate_within(&large, "large.toml", &limited_budget(64 * GB)).unwrap_err().to_string();
    assert!(error.starts_with("large.toml: the job may take "), "{error}");
    assert!(error.contains("there are 64.0 GB for it in all: ") && error.contains("--force-memory"), "{error}");
    assert_eq!(error.lines().count(), 1);
    let small = Plan { layers: 4, ..Plan::default() };
    assert!(generate_within(&small, "small.toml", &limited_budget(64 * GB)).is_ok());
    assert!(workload(1 << 20).unwrap_err().to_string().contains("a.txt: the job may take"));
}

/// A binary GOAL file of `nodes` operations, all of which name the same `shared` followers.
fn shared_followers(nodes: u32, shared: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let put = |out: &mut Vec<u8>, value: u32| out.extend_from_slice(&value.to_le_bytes());
    let length = 8 + 4 + u64::from(nodes) * 39 + u64::from(shared) * 4;
    out.extend_from_slice(&4223u64.to_le_bytes());
    put(&mut out, 1);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&22u64.to_le_bytes());
    out.extend_from_slice(&(22 + length).to_le_bytes());
    [nodes, 1, 0].into_iter().for_each(|value| put(&mut out, value));
    for node in 0..nodes {
        put(&mut out, if node < shared { nodes } else { 0 });
        out.push(3);
        put(&mut out, 0);
        out.extend_from_slice(&1u64.to_le_bytes());
        put(&mut out, 0);
        out.extend_from_slice(&[0, 0]);
        for value in [shared, 0, 0, 0] {
            put(&mut out, value);
        }
    }
    (0..shared).for_each(|follower| put(&mut out, follower));
    out
}

#[test]
fn readers_count_as_they_go_on() {
    // 20,000 x 10,000 dependencies from 820 kB: 2.6 GB.
    let bytes = shared_followers(20_000, 10_000);
    let mut meter = MemoryMeter::new(MemoryLimit(Some(GB)), bytes.len() as u64);
    let read =
        goal_binary::read(&mut &bytes[..], "j.bin", bytes.len() as u64, &mut |_, _| true, &mut meter, &mut |_, _| {
            Ok(())
        });
    let error = read.unwrap_err().to_string();
    assert!(error.starts_with("j.bin: the job may take ") && error.contains("1.0 GB for it in all"), "{error}");

    let text = format!("num_ranks 1\nrank 0 {{\n{}", "calc 1\n".repeat(100_000));
    let mut meter = MemoryMeter::new(MemoryLimit(Some(PROCESS + (1 << 20))), text.len() as u64);
    let read = goal_text::read(
        &mut text.as_bytes(),
        "j.goal",
        text.len() as u64,
        &mut |_, _| true,
        &mut meter,
        &mut |_, _| Ok(()),
    );
    // It stops at a part of the file, and estimates the whole.
    let error = read.unwrap_err().to_string();
    assert!(error.contains("operations, dependencies and groups 4.") || error.contains("groups 5."), "{error}");
}

#[test]
fn sizes_have_units() {
    for (bytes, shown) in [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (999_960, "1.0 MB"),
        (23 * GB, "23.0 GB"),
        (u64::MAX, "18447 PB"),
    ] {
        assert_eq!(text(bytes), shown);
    }
}
