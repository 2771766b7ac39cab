use super::*;
use fathomp_paging::faults::{Fault, FaultsNote, FaultsWriter, Found, Mapping};

const HEAP: u64 = 0x50_0000;

fn file(events: &[FaultEvent]) -> FaultsFile {
    let mut bytes = Vec::new();
    let note = FaultsNote {
        presence_known: true,
        ..FaultsNote::default()
    };
    let mut writer = FaultsWriter::new(&mut bytes, u64::MAX, note).unwrap();
    for event in events {
        writer.put(event).unwrap();
    }
    writer.finish().unwrap();
    FaultsFile::new(bytes).unwrap()
}

fn fault(at: u64, thread: u32, address: u64, found: Found) -> FaultEvent {
    FaultEvent::Fault(Fault {
        at,
        process: 10,
        thread,
        address,
        instruction: 0x1000,
        found,
    })
}

fn map(at: u64, start: u64, bytes: u64, protection: u32, name: &str) -> FaultEvent {
    FaultEvent::Mapping(Mapping {
        at,
        process: 10,
        start,
        end: start + bytes,
        protection,
        flags: 2,
        name: name.to_owned(),
        offset: 0,
    })
}

#[test]
fn each_fault_is_what_it_is() {
    let page = |number: u64| HEAP + number * 4096;
    let facts = fault_facts(&file(&[
        map(0, HEAP, 8 * 4096, 3, "[heap]"),
        fault(10, 10, page(0), Found::Nothing),
        fault(20, 11, page(0) + 8, Found::Nothing),
        fault(30, 11, page(1), Found::Page),
        fault(40, 10, page(2), Found::Nothing),
        FaultEvent::Served {
            at: 90,
            process: 10,
            thread: 10,
            address: page(2) + 1,
        },
        map(95, page(4), 4096, 0, "[heap]"),
        fault(96, 10, page(4), Found::Nothing),
        fault(97, 11, 0x1, Found::Nothing),
    ]));
    assert_eq!(
        facts.counts,
        FaultCounts {
            first_touch: 2,
            repeated: 1,
            copy_on_write: 1,
            refused: 1,
            major: 1,
        }
    );
    assert_eq!(facts.waited_ns, 50);
    let touch = TouchRow {
        process: 10,
        first: 10,
        later: 11,
        faults: 1,
    };
    assert_eq!(facts.touches, [touch]);
    assert_eq!(facts.mappings[0].kind, MappingKind::Heap);
    assert_eq!(facts.mappings[0].counts.total(), 5);
    assert_eq!(facts.mappings[1].kind, MappingKind::Unknown);
    let by_thread: Vec<_> = facts.threads.iter().map(|row| row.counts.total()).collect();
    assert_eq!(by_thread, [3, 3]);
    let totals = [
        facts
            .lines
            .iter()
            .map(|row| row.counts.total())
            .sum::<u64>(),
        facts.variables.iter().map(|row| row.counts.total()).sum(),
        facts.mappings.iter().map(|row| row.counts.total()).sum(),
    ];
    assert_eq!(totals, [6; 3]);
}

#[test]
fn memory_that_is_mapped_again_is_touched_for_the_first_time_again() {
    let facts = fault_facts(&file(&[
        map(0, HEAP, 4096, 3, "//anon"),
        fault(1, 10, HEAP, Found::Nothing),
        map(2, HEAP, 4096, 3, "//anon"),
        fault(3, 10, HEAP, Found::Nothing),
        fault(4, 10, HEAP, Found::Nothing),
    ]));
    assert_eq!((facts.counts.first_touch, facts.counts.repeated), (2, 1));
}

#[test]
fn a_thread_s_stack_is_where_its_stack_pointer_is() {
    let facts = fault_facts(&file(&[
        map(0, HEAP, 64 * 4096, 3, "//anon"),
        FaultEvent::Stack {
            at: 1,
            process: 10,
            thread: 10,
            pointer: HEAP + 4096 * 60,
        },
        fault(1, 10, HEAP + 4096 * 59, Found::Nothing),
    ]));
    assert_eq!(facts.mappings[0].kind, MappingKind::Stack);
    assert_eq!(facts.variables[0].name, "stack");
}

#[test]
fn the_picture_holds_every_fault_of_its_mappings() {
    let mut events = vec![map(0, HEAP, 100 * 4096, 3, "[heap]")];
    events.extend(
        (0..100).map(|page| fault(1000 + page * 7, 10, HEAP + page * 4096, Found::Nothing)),
    );
    let facts = fault_facts(&file(&events));
    let heat = &facts.heat;
    assert_eq!((heat.begin_ns, heat.end_ns), (1000, 1000 + 99 * 7));
    assert_eq!(heat.rows.first().unwrap().start, HEAP);
    assert_eq!(heat.rows.last().unwrap().end, HEAP + 100 * 4096);
    let all: u32 = heat.rows.iter().flat_map(|row| &row.faults).sum();
    assert_eq!(all, 100);
    assert_eq!(heat.rows[0].faults[0], 1);
}

#[test]
fn nothing_gives_nothing() {
    let facts = fault_facts(&file(&[]));
    assert_eq!(facts.counts.total(), 0);
    assert!(facts.lines.is_empty() && facts.heat.rows.is_empty());
}

#[test]
fn another_program_has_other_memory() {
    let facts = fault_facts(&file(&[
        map(0, HEAP, 4096, 3, "[heap]"),
        fault(1, 10, HEAP, Found::Nothing),
        FaultEvent::Program {
            at: 2,
            process: 10,
            name: "other".to_owned(),
        },
        fault(3, 10, HEAP, Found::Nothing),
    ]));
    assert_eq!(facts.counts.first_touch, 2);
    assert_eq!(facts.threads[0].program, "other");
    assert_eq!(facts.mappings.len(), 2);
}
