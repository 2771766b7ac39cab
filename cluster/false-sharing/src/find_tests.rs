//! Findings of a program that is made up.

use super::*;
use crate::gather::{Layout, gather};
use crate::log::{Frame, Record};
use std::ops::Range;

const PAGE: u64 = 0x1_0000;

/// `long hits[8]` at the page's beginning, `int a, b` behind it, a structure allocated
/// at 0x2000, and what the linker writes at 0x3000.
struct Program;

impl Layout for Program {
    fn access_bytes(&self, _: u64) -> Option<u64> {
        Some(8)
    }
    fn scalar(&self, _: u64) -> Option<Range<u64>> {
        None
    }
}

impl Names for Program {
    fn variable(&self, address: u64) -> Option<Spot> {
        let spot = |name: &str, base, part: String| {
            Some(Spot {
                name: name.to_owned(),
                base,
                part,
                declared: None,
            })
        };
        match address.checked_sub(PAGE)? {
            at @ 0..64 => spot("hits", PAGE, format!("hits[{}]", at / 8)),
            64..68 => spot("a", PAGE + 64, "a".to_owned()),
            68..72 => spot("b", PAGE + 68, "b".to_owned()),
            _ => None,
        }
    }
    fn is_linkage(&self, address: u64) -> bool {
        (0x3000..0x4000).contains(&address)
    }
    fn code(&self, instruction: u64) -> Option<Site> {
        let label = format!("file.c:{instruction}");
        Some(Site {
            label,
            ..Site::default()
        })
    }
    fn region(&self, region: Region) -> Site {
        self.code(region.function).unwrap()
    }
    fn local(&self, frames: &[Frame], address: u64) -> Option<Spot> {
        let [_, frame, ..] = frames.first()?;
        (address + 64 == *frame).then(|| Spot {
            name: "sum".to_owned(),
            base: address,
            part: "sum".to_owned(),
            declared: None,
        })
    }
    fn block(&self, _: &[u64], offset: u64) -> Option<(String, String)> {
        Some(("per".to_owned(), format!("per[{}]", offset / 16)))
    }
}

fn wrote(page: u64, ranges: &[(u16, u16)]) -> Record {
    Record::Wrote {
        page,
        ranges: ranges.iter().map(|(start, end)| *start..*end).collect(),
        locked: false,
    }
}

fn found(parts: Vec<Vec<Record>>, prices: Prices) -> Findings {
    let threads = parts.len() as u16;
    let parts = parts.into_iter().map(|mut part| {
        part.push(Record::Phase(Region {
            function: 5,
            call: 6,
        }));
        part.push(Record::Exit);
        part.into_iter().map(Ok)
    });
    let gathered = gather(parts.collect(), &Program).unwrap();
    let situation = Situation {
        threads,
        prices,
        atomics: Vec::new(),
    };
    find(&gathered, &Program, situation)
}

const PRICES: Prices = Prices {
    plain_ns: Some(10.0),
    atomic_ns: Some(100.0),
};

#[test]
fn elements_and_neighbours_are_named() {
    let parts = vec![
        vec![wrote(PAGE, &[(0, 8), (64, 68)])],
        vec![wrote(PAGE, &[(8, 16), (68, 72)])],
    ];
    let all = found(parts, PRICES);
    assert!(all.complete && all.notes.is_empty(), "{:?}", all.notes);
    let names: Vec<_> = all.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["hits", "a and b"]);
    let hits = &all.lines[0];
    assert_eq!(hits.parts, ["hits[0]", "hits[1]"]);
    assert_eq!(
        hits.sentence,
        "2 threads write different bytes of hits[0] and hits[1] in one cache line: false sharing, in 1 phase"
    );
    assert_eq!(hits.est_cost_ns, Some(20.0));
    assert!(hits.mend.contains("alignas(64)"));
    assert_eq!(hits.regions[0].label, "file.c:5");
    assert!(all.lines[1].mend.contains("Give each of a and b"));
    assert_eq!(all.false_sharing().count(), 2);
}

#[test]
fn blocks_are_named_by_who_allocated_them() {
    let mut first = vec![wrote(0x2000, &[(0, 8)])];
    first.push(Record::Block {
        address: 0x2000,
        bytes: 64,
        frames: vec![12],
    });
    let all = found(
        vec![first, vec![wrote(0x2000, &[(16, 24)])]],
        Prices::default(),
    );
    let line = &all.lines[0];
    assert_eq!((line.name.as_str(), line.parts.len()), ("per", 2));
    assert_eq!(line.allocation[0].label, "file.c:11");
    assert_eq!(line.est_cost_ns, None);
    assert!(all.notes[0].contains("two processors"), "{:?}", all.notes);
}

#[test]
fn what_the_linker_writes_is_left_out() {
    let part = |range| vec![wrote(0x3000, &[range])];
    assert!(
        found(vec![part((0, 8)), part((8, 16))], PRICES)
            .lines
            .is_empty()
    );
    // Without a name it is named by its address.
    let part = |range| vec![wrote(0x9000, &[range])];
    let all = found(vec![part((0, 8)), part((8, 16))], PRICES);
    assert_eq!(all.lines[0].name, "the line at 0x9000");
}

#[test]
fn a_counter_beside_what_all_write_is_falsely_shared() {
    let atomic = Record::Atomic {
        address: PAGE + 64,
        bytes: 4,
        instruction: 1,
        times: 50,
    };
    let first = vec![atomic.clone(), wrote(PAGE, &[(68, 72)])];
    let all = found(vec![first, vec![atomic]], PRICES);
    let kinds: Vec<_> = all
        .lines
        .iter()
        .map(|l| (l.kind, l.name.as_str()))
        .collect();
    assert_eq!(kinds, [(Kind::False, "b"), (Kind::True, "a")]);
    let shared = &all.lines[1];
    assert!(shared.sentence.contains("by atomic instructions"));
    assert!(shared.est_cost_ns.unwrap() >= 10_000.0);
}

#[test]
fn what_is_only_read_comes_last_and_costs_nothing() {
    let read = |offset| Record::Access {
        write: false,
        address: PAGE + offset,
        instruction: 3,
        times: 1,
    };
    let all = found(vec![vec![read(0)], vec![read(8)]], PRICES);
    let line = &all.lines[0];
    assert_eq!((line.kind, line.name.as_str()), (Kind::ReadMostly, "hits"));
    assert_eq!(line.est_cost_ns, None);
    assert_eq!(all.false_sharing().count(), 0);
    let alone = found(vec![vec![read(0)], vec![]], PRICES);
    assert!(alone.lines.is_empty());
}

#[test]
fn what_one_writes_and_another_reads_is_handed_on() {
    let read = Record::Access {
        write: false,
        address: PAGE + 8,
        instruction: 3,
        times: 1,
    };
    let second = vec![wrote(PAGE, &[(16, 24)]), read];
    let all = found(vec![vec![wrote(PAGE, &[(8, 16)])], second], PRICES);
    let line = &all.lines[0];
    assert_eq!((line.kind, line.handed_on), (Kind::True, true));
    assert!(line.sentence.contains("what others of them write"));
    let both = vec![wrote(PAGE, &[(8, 16)])];
    let all = found(vec![both.clone(), both], PRICES);
    assert!(!all.lines[0].handed_on && all.lines[0].mend.contains("--check-races"));
}
