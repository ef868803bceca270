//! The event calendar: what it costs to find the earliest event and put it off, which is what every event of a simulation does.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use farloop_engine::{Calendar, RandomStream};
use farloop_units::{Delta, Time};
use std::hint::black_box;

/// A calendar with `ids` events at random times within 10 µs.
fn filled(ids: usize, random: &mut RandomStream) -> Calendar {
    let mut calendar = Calendar::new(ids);
    for id in 0..ids as u32 {
        calendar.set(id, Time::from_ps(random.below(10_000_000)));
    }
    calendar
}

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("calendar");
    group.throughput(Throughput::Elements(1));
    // A dumbbell, a leaf-spine network, a fat-tree of 1024 hosts.
    for ids in [32, 1024, 16_384] {
        let mut random = RandomStream::new(1, "bench", ids as u64);
        let mut calendar = filled(ids, &mut random);
        group.bench_function(BenchmarkId::new("hold", ids), |b| {
            b.iter(|| {
                let (now, id) = calendar.peek().expect("never empty");
                calendar.set(id, now + Delta::from_ps(random.below(10_000_000)));
            });
        });
        let mut calendar = filled(ids, &mut random);
        group.bench_function(BenchmarkId::new("set", ids), |b| {
            b.iter(|| {
                let id = random.below(ids as u64) as u32;
                calendar.set(id, Time::from_ps(random.below(10_000_000)));
            });
        });
        group.bench_function(BenchmarkId::new("peek", ids), |b| b.iter(|| black_box(&mut calendar).peek()));
    }
    group.finish();
}

criterion_group!(calendar, benches);
criterion_main!(calendar);
