//! PARAM's traces: what a rank does by them, what they share, and what is refused.

use super::chakra::Folder;
use farloop_job::collectives::{Algorithm, Choice, Location, expand};
use farloop_job::formats::{Format, NO_OPTIONS, Options, detect, read, read_within};
use farloop_job::ideal::{Network, run};
use farloop_job::memory::{Budget, MemoryLimit};
use farloop_job::validate::check;
use farloop_job::{Collective, Job, Missing, Work};
use farloop_units::{Delta, Rate};

fn job(files: &[String], options: &Options) -> Result<Job, String> {
    read(files, Format::Param, options, &mut |_, _| true).map_err(|e| e.to_string())
}

/// The job of one trace for all ranks.
fn shared(name: &str, operations: &str, ranks: u32) -> Result<Job, String> {
    let folder = Folder::new(name);
    job(&[folder.file("t.json", operations.as_bytes())], &Options { ranks: Some(ranks), ..NO_OPTIONS })
}

/// An operation with as many elements of four bytes in as out.
fn operation(comms: &str, elements: u64, rest: &str) -> String {
    format!(
        "{{\"comms\": \"{comms}\", \"in_msg_size\": {elements}, \"out_msg_size\": {elements}, \"dtype\": \"Float\"{rest}}}"
    )
}

fn list(operations: &[String]) -> String {
    format!("[{}]", operations.join(",\n "))
}

fn wait(request: u64) -> String {
    format!("{{\"comms\": \"wait\", \"req\": {request}}}")
}

/// Nanoseconds that the job takes where a message takes 10 ns, and a byte 1 ns.
fn end(job: &Job) -> u64 {
    let whole = expand(job, Choice::Fixed(Algorithm::Ring), &|_| Location::default()).unwrap();
    check(&whole, &mut |_, _| true).unwrap();
    let network = Network::alpha_beta(Delta::from_ns(10), Rate::from_gbps(8));
    run(&whole, &network, 1, false, &mut |_, _| true).unwrap().end.as_ps() / 1000
}

/// The operations of a rank, and those that each waits for.
fn work(job: &Job, rank: usize) -> Vec<Work> {
    job.programs[rank].operations().iter().map(|operation| operation.work).collect()
}

fn init(id: u64, ranks: &str) -> String {
    format!("{{\"comms\": \"init\", \"req\": -1, \"pg_id\": {id}, \"global_ranks\": [{ranks}]}}")
}

#[test]
fn four_traces_are_four_ranks() {
    let folder = Folder::new("param-four");
    let trace = |rank: u64| {
        let pair = if rank < 2 { 1 } else { 2 };
        let gather = format!(
            "{{\"comms\": \"_allgather_base\", \"req\": 2, \"in_msg_size\": 500, \"out_msg_size\": 1000, \"dtype\": \"BFloat16\", \
             \"pg_id\": {pair}, \"world_size\": 2}}"
        );
        let reduce = operation(
            "AllReduce",
            1000,
            ", \"req\": 1, \"pg_id\": 0, \"world_size\": 4, \"markers\": [\"## [}\\\" ##\"]",
        );
        // A group may be declared behind its operations.
        list(&[init(0, "0, 1, 2, 3"), init(2, "2, 3"), reduce, gather, wait(1), wait(2), init(1, "0, 1")])
    };
    // In any order of the arguments; two digits follow one.
    let files: Vec<String> =
        [2, 0, 3, 1].map(|rank| folder.file(&format!("{rank}.json"), trace(rank).as_bytes())).into();
    assert_eq!(detect(&files[0]).unwrap(), Format::Param);
    let made = job(&files, &NO_OPTIONS).unwrap();
    assert!(made.files[0].ends_with("/0.json") && made.notes.is_empty(), "{:?}", made.notes);
    let groups: Vec<_> = made.groups.iter().map(|group| (group.name.as_str(), group.ranks.to_vec())).collect();
    assert_eq!(groups, [("0", vec![0, 1, 2, 3]), ("1", vec![0, 1]), ("2", vec![2, 3])]);
    let reduce = Work::Collective { kind: Collective::AllReduce, group: 0, bytes: 4000 };
    // Of an all-gather farloop counts what all have, in two bytes each.
    let gather = Work::Collective { kind: Collective::AllGather, group: 2, bytes: 2000 };
    assert_eq!(work(&made, 3), [reduce, gather, Work::Join, Work::Join]);
    assert_eq!(made.programs[3].dependencies(), [(2, 0, false), (3, 1, false), (3, 2, false)]);
    assert_eq!(made.programs[3].operations()[2].place, 4);
    end(&made);
    assert_eq!(
        job(&files[..2], &NO_OPTIONS).unwrap_err(),
        format!("{}: rank 1 is missing; expected a file for each", files[0])
    );
    let other = job(&files, &Options { ranks: Some(8), ..NO_OPTIONS }).unwrap_err();
    assert!(other.ends_with("0.json: 4 files for 8 ranks; expected one for each rank, or one for all"), "{other}");
    let unnumbered = [files[0].clone(), folder.file("a.json", b"[]")];
    assert!(job(&unnumbered, &NO_OPTIONS).unwrap_err().ends_with("expected such as trace.0.json"));
    let else_where = folder.file("1.json", list(&[init(1, "0, 2")]).as_bytes());
    assert_eq!(
        job(&files, &NO_OPTIONS).unwrap_err(),
        format!(
            "{else_where}: operation 0: pg_id 1 with other global_ranks than before; expected the same in all traces"
        )
    );
}

#[test]
fn a_wait_waits_for_its_operation_and_a_group_does_one_after_the_other() {
    // A ring of two with 4,000 B at 1 B/ns: 2 x (10 + 1999).
    let ring = 2 * (10 + 1999);
    let reduce = |request: u64| operation("all_reduce", 1000, &format!(", \"req\": {request}"));
    let broadcast = operation("broadcast", 25, ", \"req\": 9, \"pg_id\": 5");
    let of = |operations: &[String]| shared("param-wait", &list(operations), 2).unwrap();
    assert_eq!(end(&of(&[reduce(1), reduce(2)])), 2 * ring);
    // A broadcast of another group goes beside it, unless the rank waits before: 100 B are there after 10 + 99 ns.
    let beside = [init(5, "0, 1"), reduce(1), broadcast.clone(), wait(9)];
    let behind = [init(5, "0, 1"), reduce(1), wait(1), broadcast, wait(9)];
    assert!(end(&of(&beside)) < ring + 109);
    assert_eq!(end(&of(&behind)), ring + 109);
    // Without req the oldest one is waited for.
    let queued = [init(5, "0, 1"), operation("all_reduce", 1000, ""), operation("broadcast", 25, ", \"pg_id\": 5")];
    let made =
        of(&[&queued[..], &["{\"comms\": \"wait\"}".into(), "{\"comms\": \"wait\", \"req\": null}".into()]].concat());
    assert_eq!(made.programs[0].dependencies(), [(2, 0, false), (3, 1, false), (3, 2, false)]);
    assert_eq!(made.notes, ["one trace for all 2 ranks"]);
    let idle = of(&[reduce(1), wait(3)]);
    assert_eq!(idle.notes[1], "1 waits name no operation that their rank has posted; they hold nothing up");
}

#[test]
fn operations_begin_at_their_time_at_the_earliest() {
    let ring = 2 * (10 + 1999);
    let at = |time: u64, request: u64| {
        operation("all_reduce", 1000, &format!(", \"req\": {request}, \"startTime_ns\": {time}"))
    };
    let of = |operations: &[String]| shared("param-time", &list(operations), 2).unwrap();
    let made = of(&[at(100, 1), at(90, 2), at(9000, 3)]);
    assert_eq!(end(&made), 9000 + ring);
    let computing: Vec<_> = work(&made, 0).into_iter().filter(|work| matches!(work, Work::Compute(_))).collect();
    assert_eq!(computing, [Work::Compute(Delta::from_ns(100)), Work::Compute(Delta::from_ns(8900))]);
    assert!(made.notes[1].starts_with("operations begin at their startTime_ns at the earliest"), "{:?}", made.notes);
    // What comes late is not delayed any more.
    assert_eq!(end(&of(&[at(100, 1), wait(1), at(200, 2)])), 100 + 2 * ring);
}

#[test]
fn messages_go_to_the_ranks_that_the_trace_names() {
    let message = |comms: &str, from: u64, to: u64, rest: &str| {
        operation(comms, 10, &format!(", \"src_rank\": {from}, \"dst_rank\": {to}, \"use_batch\": false{rest}"))
    };
    // One trace has both ends; each rank skips what is not its own.
    let both = [message("send", 0, 1, ""), message("recv", 0, 1, ""), message("isend", 1, 0, ", \"req\": 1")];
    let made =
        shared("param-messages", &list(&[&both[..], &[message("irecv", 1, 0, ", \"req\": 2"), wait(2)]].concat()), 2);
    let made = made.unwrap();
    let (to, from) = (Work::Send { to: 1, tag: 0, bytes: 40 }, Work::Receive { from: 1, tag: 0, bytes: 40 });
    assert_eq!(work(&made, 0), [to, from, Work::Join]);
    assert_eq!(made.programs[0].dependencies(), [(1, 0, false), (2, 0, false), (2, 1, false)]);
    assert_eq!(made.programs[1].dependencies(), [(1, 0, false)]);
    // 40 B there and back.
    assert_eq!(end(&made), 2 * (10 + 39));
    // A batch ends with its last message.
    let batched =
        [message("send", 0, 1, "").replace("false", "true"), message("recv", 1, 0, "").replace("false", "true")];
    let batch = "{\"comms\": \"batch_isend_irecv\", \"req\": 4}".to_string();
    let rest = [message("isend", 1, 0, ", \"req\": 7"), message("recv", 0, 1, ""), batch, wait(4)];
    let made = shared("param-batch", &list(&[&batched[..], &rest[..]].concat()), 2).unwrap();
    assert_eq!(work(&made, 0), [to, from, Work::Join, Work::Join]);
    assert_eq!(made.programs[0].dependencies(), [(2, 0, false), (2, 1, false), (3, 2, false)]);
    end(&made);
}

#[test]
fn an_uneven_all_to_all_is_a_message_for_each_pair() {
    let folder = Folder::new("param-uneven");
    // Rank r sends 10 (r + 1) elements to every other rank, but none to rank 0.
    let part = |from: u64, to: u64| if from == to || to == 0 { 0 } else { 10 * (from + 1) };
    let files: Vec<String> = (0..3)
        .map(|rank| {
            let (input, output) = ([0, 1, 2].map(|to| part(rank, to)), [0, 1, 2].map(|from| part(from, rank)));
            let (sent, received): (u64, u64) = (input.iter().sum(), output.iter().sum());
            let text = format!(
                "[{{\"comms\": \"all_to_allv\", \"req\": 1, \"in_msg_size\": {sent}, \"out_msg_size\": {received}, \
                 \"in_split\": {input:?}, \"out_split\": {output:?}, \"dtype\": \"long\"}}, {}]",
                wait(1)
            );
            folder.file(&format!("u.{rank}.json"), text.as_bytes())
        })
        .collect();
    let made = job(&files, &NO_OPTIONS).unwrap();
    let (send, receive) = (Work::Send { to: 2, tag: 1, bytes: 160 }, Work::Receive { from: 0, tag: 1, bytes: 80 });
    let other = Work::Receive { from: 2, tag: 1, bytes: 240 };
    assert_eq!(work(&made, 1), [send, receive, other, Work::Join, Work::Join]);
    assert_eq!(work(&made, 0).len(), 4);
    assert_eq!(made.programs[1].dependencies(), [(3, 0, false), (3, 1, false), (3, 2, false), (4, 3, false)]);
    end(&made);
    // Without splits it is a collective, under each of its names.
    for name in ["all_to_allv", "ALLTOALL_BASE", "alltoallv"] {
        let made =
            shared("param-even", &list(&[operation(name, 30, ", \"in_split\": [], \"out_split\": []")]), 3).unwrap();
        assert_eq!(work(&made, 2), [Work::Collective { kind: Collective::AllToAll, group: 0, bytes: 120 }]);
    }
}

#[test]
fn sizes_are_those_of_nccl() {
    let of = |name: &str, input: u64, output: u64, rest: &str| {
        let text = operation(name, input, rest)
            .replace(&format!("\"out_msg_size\": {input}"), &format!("\"out_msg_size\": {output}"));
        match work(&shared("param-sizes", &list(&[text]), 4).unwrap(), 1)[..] {
            [Work::Collective { kind, bytes, .. }] => (kind, bytes),
            ref other => panic!("{other:?}"),
        }
    };
    for (name, input, output, expected) in [
        ("reduce", 100, 100, (Collective::Reduce, 400)),
        ("all_gather", 100, 100, (Collective::AllGather, 1600)),
        ("all_gather_base", 100, 400, (Collective::AllGather, 1600)),
        ("gather", 100, 0, (Collective::Gather, 1600)),
        ("scatter", 0, 100, (Collective::Scatter, 1600)),
        ("reduce_scatter", 400, 100, (Collective::ReduceScatter, 1600)),
        ("reducescatterbase", 400, 100, (Collective::ReduceScatter, 1600)),
        ("all_to_all_single", 400, 400, (Collective::AllToAll, 1600)),
        ("broadcast", 100, 100, (Collective::Broadcast, 400)),
    ] {
        assert_eq!(of(name, input, output, ""), expected, "{name}");
    }
    let barrier = shared("param-barrier", "[{\"comms\": \"barrier\"}]", 2).unwrap();
    assert_eq!(work(&barrier, 1), [Work::Collective { kind: Collective::Barrier, group: 0, bytes: 0 }]);
}

#[test]
fn roots_are_the_first_of_their_groups() {
    let reduce = |rest: &str| operation("reduce", 10, rest);
    let text = list(&[
        init(1, "1, 2, 3"),
        reduce(""),
        reduce(", \"root\": 2"),
        reduce(", \"root\": 3, \"pg_id\": 1"),
        reduce(", \"root\": 2"),
    ]);
    let made = shared("param-roots", &text, 4).unwrap();
    let groups: Vec<_> = made.groups.iter().map(|group| (group.name.as_str(), group.ranks.to_vec())).collect();
    let expected =
        [("all ranks", vec![0, 1, 2, 3]), ("all ranks from 2", vec![2, 3, 0, 1]), ("1 from 3", vec![3, 1, 2])];
    assert_eq!(groups, expected);
    // Rank 0 is not of group 1, and skips its operation.
    assert_eq!((work(&made, 0).len(), work(&made, 1).len()), (3, 4));
    end(&made);
}

#[test]
fn one_trace_is_that_of_all_ranks_which_it_counts() {
    let folder = Folder::new("param-shared");
    let sized = operation("all_reduce", 10, ", \"world_size\": 6");
    let file = [folder.file("t.json", list(&[sized, wait(1)]).as_bytes())];
    let made = job(&file, &NO_OPTIONS).unwrap();
    assert_eq!((made.ranks(), made.groups[0].ranks.len()), (6, 6));
    assert!(std::sync::Arc::ptr_eq(&made.programs[0], &made.programs[5]));
    let refused = job(&file, &Options { ranks: Some(4), ..NO_OPTIONS }).unwrap_err();
    assert!(refused.ends_with("operation 0: world_size 6, but its group has 4 ranks; expected the same"), "{refused}");
    for text in [list(&[operation("all_reduce", 10, "")]), list(&[operation("all_reduce", 10, ", \"world_size\": 0")])]
    {
        let file = [folder.file("none.json", text.as_bytes())];
        let refused = read(&file, Format::Param, &NO_OPTIONS, &mut |_, _| true).unwrap_err();
        assert_eq!(refused.missing, Some(Missing::Ranks));
        assert!(
            refused.to_string().ends_with("none.json: no operation has world_size, the number of ranks"),
            "{refused}"
        );
    }
}

#[test]
fn what_is_wrong_is_named_with_its_operation() {
    let reduce = |rest: &str| list(&[wait(1), operation("all_reduce", 10, rest)]);
    let split = |rest: &str| list(&[operation("all_to_allv", 10, rest)]);
    let message = |rest: &str| list(&[operation("isend", 10, rest)]);
    let large = 1u64 << 62;
    for (text, expected) in [
        (String::new(), "byte 0: expected a list of operations: [{\"comms\": ...}, ...]"),
        ("{\"comms\": \"wait\"}".into(), "byte 1: expected a list of operations"),
        ("[".into(), "byte 1: the file ends inside of its list; it is truncated"),
        ("[{\"comms\": \"wa".into(), "byte 14: the file ends inside of an operation; it is truncated"),
        ("[1]".into(), "byte 2: expected operations, {\"comms\": ...}, with commas between them"),
        ("[{\"comms\": \"wait\"} {}]".into(), "byte 20: expected operations"),
        ("[{\"comms\": \"wait\"},]".into(), "byte 20: expected operations"),
        ("[] []".into(), "byte 4: expected nothing behind the list"),
        ("[{\"comms\" \"wait\"}]".into(), "operation 0: is no JSON: expected `:`"),
        ("[{\"comms\": \"wait\"}, {\"comms\": [}]}]".into(), "operation 1: is no JSON: "),
        (
            format!("[{{\"comms\": \"{}\"}}]", "x".repeat(1 << 22)),
            "byte 4194306: an operation of more than 4194304 bytes; expected less",
        ),
        ("[{\"name\": \"x\"}]".into(), "operation 0: has no comms; expected comms, the name of a communication"),
        ("[{\"compute\": \"gemm\"}]".into(), "operation 0: compute: a trace does not have its time; expected comms"),
        ("[{\"comms\": 3}]".into(), "operation 0: comms 3: expected a word"),
        (
            "[{\"comms\": \"incast\"}]".into(),
            "operation 0: comms \"incast\": expected one of init, wait, barrier, all_reduce, ",
        ),
        ("[{\"comms\": \"all_reduce\"}]".into(), "operation 0: has no in_msg_size; expected a number of elements"),
        (reduce("").replace("\"Float\"", "null"), "operation 1: has no dtype; expected the type of its elements"),
        (reduce("").replace("Float", "fp8"), "operation 1: dtype \"fp8\": expected one of float, float32, float16, "),
        (reduce("").replace("10", "-10"), "operation 1: in_msg_size -10: expected 0 to 4611686018427387904"),
        (reduce("").replace("10", "1e1"), "operation 1: in_msg_size 10.0: expected 0 to "),
        (
            reduce("").replace("10", &large.to_string()),
            "operation 1: 4611686018427387904 elements of 4 bytes, times 1; expected at most 4611686018427387904 bytes in all",
        ),
        (reduce(", \"pg_id\": 7"), "operation 1: pg_id 7 has no init; expected one with its global_ranks"),
        (reduce(", \"pg_id\": 1.5"), "operation 1: pg_id 1.5: expected a whole number or a word"),
        (reduce(", \"req\": [1]"), "operation 1: req [1]: expected a whole number or a word"),
        (reduce(", \"startTime_ns\": -1"), "operation 1: startTime_ns -1: expected 0 to 9223372036854775"),
        (reduce(", \"world_size\": 9"), "operation 1: world_size 9, but its group has 2 ranks; expected the same"),
        (
            list(&["{\"comms\": \"init\", \"global_ranks\": [0]}".into()]),
            "operation 0: init without pg_id; expected its number",
        ),
        (list(&[init(0, "")]), "operation 0: init without global_ranks; expected the ranks of the group"),
        (list(&[wait(1), init(0, "2")]), "operation 1: global_ranks has 2; expected ranks of 0 to 1"),
        (list(&[init(0, "1, 0, 1")]), "operation 0: global_ranks has 1 twice; expected each rank once"),
        (list(&[init(0, "0"), init(0, "1")]), "operation 1: pg_id 0 with other global_ranks than before"),
        (
            list(&[operation("broadcast", 10, ", \"root\": 2")]),
            "operation 0: root 2 is not of the group all ranks; expected one of its ranks",
        ),
        (
            list(&[operation("all_gather_base", 10, "")]),
            "operation 0: in_msg_size 10 and out_msg_size 10 of 2 ranks; expected one to be 2 times the other",
        ),
        (split(", \"in_split\": 3"), "operation 0: in_split 3: expected a list of numbers"),
        (
            split(", \"in_split\": [10]"),
            "operation 0: in_split has 1 numbers; expected one for each of the group's 2 ranks",
        ),
        (
            split(", \"in_split\": [5, 5], \"out_split\": [5, 6]"),
            "operation 0: out_split adds up to 11; expected out_msg_size, 10",
        ),
        (
            split(", \"out_split\": [5, 5]"),
            "operation 0: has no in_split; expected both in_split and out_split, or neither",
        ),
        (split(", \"in_split\": [5, 5]"), "operation 0: has no out_split; expected both"),
        (message(", \"src_rank\": 0"), "operation 0: has no dst_rank; expected the number of a rank"),
        (message(", \"dst_rank\": 0"), "operation 0: has no src_rank; expected the number of a rank"),
        (
            list(&[operation("all_reduce", 10, ", \"req\": 1"), "{\"comms\": \"wait\"}".into()]),
            "operation 1: a wait without req; expected the req of an operation, as others have it",
        ),
    ] {
        let error = shared("param-wrong", &text, 2).unwrap_err();
        let reason = error.split_once(".json: ").unwrap().1;
        assert!(reason.starts_with(expected), "{reason}\n{expected}");
        assert_eq!(error.lines().count(), 1);
    }
    let lone = shared("param-lone", &message(", \"src_rank\": 0, \"dst_rank\": 1"), 2).unwrap();
    let error = check(&lone, &mut |_, _| true).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "operation 0: rank 0: rank 1 receives no such message (tag 0); expected as many receives as sends"
        ),
        "{error}"
    );
}

#[test]
fn what_grows_is_counted_and_a_reader_may_be_stopped() {
    let folder = Folder::new("param-memory");
    let limit = Budget { limit: MemoryLimit(Some(400 << 20)), ..Budget::NONE };
    let refused = |text: String, ranks: u32| {
        let files = [folder.file("m.json", text.as_bytes())];
        read_within(&files, Format::Param, &Options { ranks: Some(ranks), ..NO_OPTIONS }, &limit, &mut |_, _| true)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    // Ranks that differ have a program each, and groups for each root a list: 10 kB become gigabytes.
    for (text, ranks) in [
        (
            list(&vec![operation("all_reduce", 1, ", \"pg_id\": 0"); 2]).replacen(
                '[',
                "[{\"comms\": \"init\", \"pg_id\": 0, \"global_ranks\": [0]},",
                1,
            ),
            1 << 20,
        ),
        (
            list(&(0..100).map(|root| operation("reduce", 1, &format!(", \"root\": {root}"))).collect::<Vec<_>>()),
            1 << 18,
        ),
        ("[]".to_string(), 1 << 24),
    ] {
        let error = refused(text, ranks);
        assert!(error.contains("the job may take ") && error.contains("expected less of these"), "{error}");
    }
    let many = folder.file("m.0.json", list(&vec![wait(1); 5000]).as_bytes());
    let other = folder.file("m.1.json", b"[]");
    let mut reports = Vec::new();
    read(&[many.clone(), other.clone()], Format::Param, &NO_OPTIONS, &mut |read, total| {
        reports.push((read, total));
        true
    })
    .unwrap();
    let all = std::fs::metadata(&many).unwrap().len() + 2;
    assert!(
        reports.is_sorted() && reports.len() == 2 * 5 + 2 && reports.iter().all(|report| report.1 == all),
        "{reports:?}"
    );
    for calls in 0..reports.len() {
        let mut left = calls;
        let stopped = read(&[many.clone(), other.clone()], Format::Param, &NO_OPTIONS, &mut |_, _| {
            left = left.wrapping_sub(1);
            left != usize::MAX
        });
        assert!(stopped.unwrap_err().cancelled);
    }
}
