//! Bytes as a job's file in each format: read, checked, expanded and timed, or refused in one line. Nothing panics, and nothing takes more
//! memory than it may. GOAL's text becomes flows as well.
//!
//! libFuzzer changes the bytes so that they reach code that none has reached (`make fuzz-importers`). The first byte chooses the format.

#![no_main]

use farloop_job::collectives::{Algorithm, Choice};
use farloop_job::formats::goal_flows::Trace;
use farloop_job::formats::{Format, Options};
use farloop_job::import::{Request, import, network};
use farloop_job::memory::MemoryLimit;
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;

/// Bytes that a job may take.
const LIMIT: u64 = 300 << 20;

/// Reports of progress after which a job is left alone: large ones are none of the readers' faults.
const PATIENCE: u32 = 40;

fn file() -> PathBuf {
    let folder = if std::path::Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
    folder.join(format!("farloop-importers-{}", std::process::id()))
}

/// Converts a GOAL text to flows.
fn convert(content: &[u8]) {
    let converted = Trace::read(&mut &*content, "x.goal", 0, &mut |_, _| true).and_then(|trace| {
        let hosts: Vec<String> = trace.ranks().map(|rank| format!("h{rank}")).collect();
        trace.flows(&hosts, false, &mut |_, _| false)
    });
    if let Err(error) = converted {
        check(&error.to_string());
    }
}

fn check(error: &str) {
    assert!(!error.is_empty() && error.lines().count() == 1 && error.len() < 20_000, "{error}");
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, content)) = bytes.split_first() else { return };
    let path = file();
    std::fs::write(&path, content).expect("there is room for a small file");
    let name = path.display().to_string();
    let choices = [Choice::Fixed(Algorithm::Ring), Choice::Fixed(Algorithm::Hierarchical)];
    let options = Options { flops: Some(1e12), memory_bandwidth: Some(1e12), groups: None, ranks: None };
    let request = Request {
        files: vec![name],
        // 0 leaves it to the content.
        format: (usize::from(*first) % (Format::ALL.len() + 1)).checked_sub(1).map(|number| Format::ALL[number]),
        options: Options { ranks: (first & 64 != 0).then_some(4), ..options },
        choice: choices[usize::from(first >> 7)],
        ranks_per: (4, 1),
        network: Some(network("5us", "400Gbps", None, None, ("0ns", "0ns", "none")).expect("plain texts")),
        out: None,
        expanded: false,
        limit: MemoryLimit(Some(LIMIT)),
    };
    if request.format == Some(Format::Goal) {
        convert(content);
    }
    let mut reports = 0;
    let mut go_on = |_: &str, _: u64, _: u64| {
        reports += 1;
        reports < PATIENCE
    };
    if let Err(error) = import(&request, &mut |_| Err(std::io::ErrorKind::PermissionDenied.into()), &mut go_on) {
        check(&error.to_string());
    }
    let _ = std::fs::remove_file(&path);
});
