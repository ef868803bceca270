use super::*;
use crate::job::{Places, ProgramBuilder};
use crate::memory::MemoryMeter;
use crate::validate::check;
use farloop_test_support::cases;
use proptest::prelude::*;

const TEXT: &str = "num_ranks 2 // two\n/* a\n comment */\nrank 0 {\nl1: calc 100 cpu 1\nl2: send 8b to 1 tag 4 cpu 0 nic 2\n\
    l2 requires l1\nl3: calc 5\nl3 irequires l2\n}\n\nrank 1 {\nrecv 8b from 0 tag 4\nl2: calc 1\n}\n";

fn unlimited_meter() -> MemoryMeter {
    MemoryMeter::new(crate::memory::MemoryLimit::NONE, 0)
}

fn from_text(text: &str) -> Result<Job, JobError> {
    let mut by_rank = Vec::new();
    goal_text::read(
        &mut text.as_bytes(),
        "x.goal",
        text.len() as u64,
        &mut |_, _| true,
        &mut unlimited_meter(),
        &mut |rank, program| {
            by_rank.push((rank, program));
            Ok(())
        },
    )?;
    by_rank.sort_by_key(|f| f.0);
    let mut job = Job::new("x.goal", by_rank.into_iter().map(|f| f.1).collect());
    job.places = Places::Lines;
    Ok(job)
}

fn from_binary(bytes: &[u8]) -> Result<Job, JobError> {
    let mut programs = Vec::new();
    let mut reader = bytes;
    goal_binary::read(
        &mut reader,
        "x.bin",
        bytes.len() as u64,
        &mut |_, _| true,
        &mut unlimited_meter(),
        &mut |_, program| {
            programs.push(program);
            Ok(())
        },
    )?;
    Ok(Job::new("x.bin", programs))
}

fn text(job: &Job) -> String {
    let mut out = Vec::new();
    goal_write::write(job, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn binary(job: &Job) -> Vec<u8> {
    let mut out = Vec::new();
    goal_binary::write(job, &mut out).unwrap();
    out
}

#[test]
fn goal_text_says_what_it_says() {
    let job = from_text(TEXT).unwrap();
    check(&job, &mut |_, _| true).unwrap();
    let first = job.programs[0].operations();
    assert_eq!((first[0].stream, first[1].nic, first[1].place), (1, 2, 6));
    assert_eq!(job.programs[0].dependencies(), [(1, 0, false), (2, 1, true)]);
    assert!(from_text(&text(&job)).unwrap().same_as(&job));
    assert!(from_binary(&binary(&job)).unwrap().same_as(&job));
}

#[test]
fn what_is_wrong_in_a_text_is_named_with_its_line() {
    let rank = |inside: &str| format!("num_ranks 2\nrank 0 {{\n{inside}\n}}\nrank 1 {{\n}}\n");
    for (text, expected) in [
        (String::new(), "x.goal: expected \"num_ranks N\" on its first line"),
        ("rank 0 {\n}\n".into(), "x.goal:1: expected \"num_ranks N\" before"),
        ("num_ranks 2\nrank 0 {\n}\n".into(), "x.goal: rank 1 is missing; expected each of 0 to 1"),
        (
            "num_ranks 1\nrank 0 {\nl1: calc 5\n".into(),
            "x.goal:3: the end of the file inside of a rank; expected \"}\"",
        ),
        ("num_ranks 1\nrank 1 {\n}\n".into(), "x.goal:2: rank 1 of 1; expected each of 0 to 0 at most once"),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n".into(), "x.goal:4: rank 0 a second time"),
        (rank("calc -5"), "x.goal:3: calc -5: expected "),
        (rank("l1: send -8b to 1"), "x.goal:3: l1: send -8b to 1: expected "),
        (
            rank("calc 99999999999999999999"),
            "x.goal:3: 99999999999999999999 is too large; expected at most 9223372036854775",
        ),
        (rank("send 8b to 2 tag 0"), "x.goal:3: there is no rank 2; expected one of 0 to 1"),
        (rank("send 8b to -1 tag 0"), "x.goal:3: a message to rank -1"),
        (rank("send 8b from 1 tag 0"), "x.goal:3: send 8b from 1 tag 0: expected"),
        (rank("send 8b to 1 tag 0 tag 1"), "x.goal:3: tag: a second time; expected each of tag, cpu, nic at most once"),
        (rank("calc 8 tag 1"), "x.goal:3: tag: unknown; expected each of cpu, nic"),
        (rank("l1: calc 1\nl1: calc 2"), "x.goal:4: the label l1 a second time"),
        (rank("l1: calc 1\nl1 requires l2"), "x.goal:4: there is no operation l2 in this rank"),
        (rank("send 8b to 1 cpu -1"), "x.goal:3: send 8b to 1 cpu -1: expected"),
        (rank("send 8b to 1 cpu 256"), "x.goal:3: 256 is too large; expected at most 255"),
        (rank("send 8b to 1 tag -1"), "x.goal:3: a message with tag -1"),
        ("num_ranks 0\n".into(), "x.goal:1: num_ranks 0: expected"),
        (rank("l1: frob 1"), "x.goal:3: l1: frob 1: expected"),
        (rank("/* never"), "x.goal:6: a comment does not end"),
    ] {
        let error = from_text(&text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn words_of_operations_are_labels_as_well() {
    let job = from_text("\u{feff}num_ranks 1\nrank 0{\ncalc:calc 5\nsend : calc 6\nsend requires calc\n}").unwrap();
    assert_eq!(job.programs[0].dependencies(), [(1, 0, false)]);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let two = |a: &str, b: &str| from_text(&format!("num_ranks 2\nrank 0 {{\n{a}\n}}\nrank 1 {{\n{b}\n}}\n")).unwrap();
    let refused = |a: &str, b: &str| check(&two(a, b), &mut |_, _| true).unwrap_err().to_string();
    let cycle = refused("l1: calc 1\nl2: calc 1\nl1 requires l2\nl2 irequires l1", "calc 1");
    assert!(cycle.starts_with("x.goal:") && cycle.contains("wait for one another: line"), "{cycle}");
    assert!(refused("send 8b to 1 tag 3", "calc 1").starts_with("x.goal:3: rank 1 receives no such message (tag 3)"));
    assert!(refused("calc 1", "recv 8b from 0 tag 3").starts_with("x.goal:6: rank 0 sends no such message to rank 1"));
    assert!(refused("send 9b to 1", "recv 8b from 0").starts_with("x.goal:6: takes 8 bytes of a message that has 9"));
    let waits = refused(
        "l1: recv 1b from 1\nl2: send 1b to 1\nl2 requires l1",
        "l1: recv 1b from 0\nl2: send 1b to 0\nl2 requires l1",
    );
    assert!(waits.starts_with("x.goal:3: this receive waits for ever: rank 1"), "{waits}");
    assert!(refused("recv 8b from -1", "calc 1").starts_with("x.goal:3: more receives than messages"));
    assert!(refused("send 8b to 1\nsend 8b to 1", "recv 8b from -1").contains("rank 1 receives fewer messages"));
    check(&two("recv 8b from -1 tag -1", "send 8b to 0 tag 5"), &mut |_, _| true).unwrap();
}

#[test]
fn a_binary_cut_anywhere_is_refused() {
    let whole = binary(&from_text(TEXT).unwrap());
    for length in 0..whole.len() {
        let error = from_binary(&whole[..length]).unwrap_err().to_string();
        assert!(error.starts_with("x.bin: byte ") && error.lines().count() == 1, "{error}");
    }
    let changed = |at: usize, to: u8| {
        let mut bytes = whole.clone();
        bytes[at] = to;
        from_binary(&bytes).unwrap_err().to_string()
    };
    assert!(changed(0, 38).contains("expected 4223"));
    // The type of the first operation: behind header, table, counts and one root.
    assert!(changed(14 + 32 + 8 + 4 + 4, 9).contains("operation of type 9"));
    assert!(changed(14, 9).contains("is said to take bytes 9"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]
    #[test]
    fn jobs_come_back_from_text_and_binary(
        plan in prop::collection::vec((0u32..3, 0u32..3, 0u64..1 << 40, 0u16..256, 0u8..5, any::<bool>()), 0..50)
    ) {
        let mut builders: Vec<ProgramBuilder> = (0..3).map(|_| ProgramBuilder::new()).collect();
        for &(rank, peer, amount, stream, nic, flag) in &plan {
            let work = match (flag, amount % 3) {
                (_, 0) => crate::Work::Compute(farloop_units::Delta::from_ns(amount)),
                (true, _) => crate::Work::Send { to: peer, tag: stream.into(), bytes: amount },
                (false, 1) => crate::Work::Receive { from: crate::ANY, tag: crate::ANY, bytes: amount },
                (false, _) => crate::Work::Receive { from: peer, tag: 5, bytes: amount },
            };
            let builder = &mut builders[rank as usize];
            let nic = if let crate::Work::Compute(_) = work { 0 } else { nic };
            let at = builder.push(crate::Operation { work, stream, nic, phase: 0, place: 0 });
            if at > 0 {
                let other = (amount % u64::from(at)) as u32;
                // Also dependencies on later operations.
                let (later, sooner) = if nic == 3 { (other, at) } else { (at, other) };
                if flag { builder.requires(later, sooner) } else { builder.irequires(later, sooner) }
            }
        }
        let job = Job::new("random", builders.into_iter().map(ProgramBuilder::finish).collect());
        prop_assert!(from_text(&text(&job)).unwrap().same_as(&job));
        let bytes = binary(&job);
        prop_assert!(from_binary(&bytes).unwrap().same_as(&job));
        prop_assert_eq!(binary(&from_binary(&bytes).unwrap()), bytes);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..200, to in any::<u8>()) {
        let _ = from_binary(&bytes);
        let _ = from_text(&String::from_utf8_lossy(&bytes));
        let mut whole = binary(&from_text(TEXT).unwrap());
        let place = at % whole.len();
        whole[place] = to;
        let _ = from_binary(&whole);
    }
}

#[test]
fn each_format_is_found_by_its_name_and_no_two_take_the_same_files() {
    for &format in Format::ALL {
        assert_eq!(Format::by_name(format.name()), Some(format));
        assert!(format.spec().extension.starts_with('.'), "{format:?}");
    }
    let unique = |of: fn(&FormatSpec) -> &'static str| {
        let mut all: Vec<&str> = Format::ALL.iter().map(|f| of(f.spec())).collect();
        all.sort_unstable();
        all.windows(2).all(|pair| pair[0] != pair[1])
    };
    assert!(unique(|spec| spec.name) && unique(|spec| spec.extension));
    let count = |fits: fn(&Detection) -> bool| Format::ALL.iter().filter(|f| fits(&f.spec().detection)).count();
    assert_eq!(count(|d| matches!(d, Detection::Text)), 1, "other text has one format");
    assert_eq!(count(|d| matches!(d, Detection::Bytes)), 1, "other bytes have one format");
}
