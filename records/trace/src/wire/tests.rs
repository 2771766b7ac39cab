//! What is written is read again, and nothing else is believed.

use super::*;
use crate::record::{Message, Transfer};
use fathomp_types::mpi::{self, TransferKind};
use proptest::prelude::*;

prop_compose! {
    fn instance()(
        numbers in proptest::array::uniform12(any::<u32>()),
        times in proptest::array::uniform4(0..u64::MAX / 4),
        parent in proptest::option::of(any::<u64>()),
        merged in prop_oneof![Just(1_u32), 2..u32::MAX],
        states in proptest::array::uniform11((any::<bool>(), any::<u64>(), any::<u32>())),
        dsm in proptest::array::uniform28(prop_oneof![Just(0), any::<u64>()]),
    ) -> Instance {
        let mut instance = Instance {
            site: SiteId(numbers[0]),
            instance: InstanceId(u64::from(numbers[1]) << 20),
            parent: InstanceId(parent.unwrap_or(0)),
            merged,
            thread_num: numbers[2],
            team_size: numbers[3],
            level: numbers[4] & 0xffff,
            fork: Ticks(times[0]),
            begin: Ticks(times[1]),
            end: Ticks(times[1] + times[2]),
            busy: Ticks(if merged > 1 { times[3] } else { times[2] }),
            loops: numbers[5],
            chunks: u64::from(numbers[6] % 3),
            iterations: u64::from(numbers[7] % 3) << 40,
            tasks_created: u64::from(numbers[8] % 2),
            tasks_run: u64::from(numbers[9] % 2),
            tasks_undeferred: u64::from(numbers[9] / 2 % 2),
            tasks_dependent: u64::from(numbers[8] / 2 % 2 * 700),
            single_wait: Ticks(u64::from(numbers[8] / 8 % 2) << 20),
            longest_task: Ticks(u64::from(numbers[8] / 4 % 2) << 40),
            set: u64::from(numbers[10] % 3) << 48,
            decider: Decider::from_number((numbers[11] % 11) as u8),
            floats: (numbers[11] >> 8 & 0xf) as u8,
            dsm: Some(Box::new(DsmCounts(dsm))).filter(|counts| !counts.is_zero()),
            ..Instance::default()
        };
        for (number, (present, ticks, waits)) in states.into_iter().enumerate().skip(1) {
            if present {
                instance.states.0[number] = Ticks(ticks);
                instance.waits.0[number] = waits;
            }
        }
        instance
    }
}

fn other() -> impl Strategy<Value = Record> {
    let (kinds, time) = (1_u8..6, 0..u64::MAX / 2);
    (any::<u32>(), any::<u64>(), kinds, time.clone(), time).prop_flat_map(
        |(site, number, kind, begin, length)| {
            let site = SiteId(site);
            let end = Ticks(begin + length);
            let interval = Record::Interval(Interval {
                state: State::ALL[usize::from(kind)],
                begin: Ticks(begin),
                end,
                site,
            });
            let share = Record::Loop(LoopShare {
                site,
                instance: InstanceId(number),
                kind: LoopKind::from_number(kind).unwrap_or(LoopKind::Static),
                ordered: number % 2 == 0,
                chunk: number % 7,
                iterations: number,
                chunks: number % 5,
                begin: Ticks(begin),
                end,
                longest: Ticks(0),
            });
            let reading = Record::from(CounterReading {
                since: Ticks(begin),
                at: end,
                site,
                counts: Counters {
                    minor_faults: number % 3,
                    involuntary_switches: number % 2,
                    cycles: (kind > 2).then_some(number),
                    instructions: (kind > 3).then_some(0),
                    processor_ns: (kind > 1).then_some(number),
                    ..Counters::default()
                },
            });
            let mut dsm = DsmCounts::default();
            dsm.0[number as usize % DsmCount::COUNT] = number;
            let phase = Record::from(Phase {
                site,
                instance: InstanceId(number),
                begin: Ticks(begin),
                end,
                dsm,
            });
            let message = Record::Message(Message {
                site,
                function: number as u16,
                begin: Ticks(begin),
                end,
                bytes: (number % 3 > 0).then_some(number / 2),
                peer: (number % 2 > 0).then_some(number as u32 / 2),
                communicator: number as u32 % 7,
                waits_for_all: number % 5 > 2,
            });
            let transfer = Record::Transfer(Transfer {
                at: end,
                what: mpi::Transfer {
                    kind: TransferKind::from_number(kind % 6).unwrap_or_default(),
                    request: number as u32,
                    peer: number as i32 % 9 - 1,
                    tag: number as i32 % 11 - 1,
                    communicator: kind.into(),
                    bytes: number,
                },
            });
            prop_oneof![
                Just(interval),
                Just(share),
                Just(reading),
                Just(phase),
                Just(message),
                Just(transfer)
            ]
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![instance().prop_map(Record::from), other()]
}

proptest! {
    #[test]
    fn records_come_back_as_written(records in proptest::collection::vec(record(), 0..20)) {
        let mut words = Vec::new();
        for record in &records {
            write_record(&mut words, record);
        }
        let mut rest = &words[..];
        let mut back = Vec::new();
        while !rest.is_empty() {
            let (entry, length) = read(rest).unwrap();
            rest = &rest[length..];
            match entry {
                Entry::Record(record) => back.push(record),
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!(back, records);
    }

    #[test]
    fn words_a_later_version_adds_are_passed_over(record in record()) {
        let mut words = Vec::new();
        write_record(&mut words, &record);
        words.push(u64::MAX);
        words[0] += 1 << 8;
        let (entry, length) = read(&words).unwrap();
        prop_assert_eq!(length, words.len());
        prop_assert_eq!(entry, Entry::Record(record));
    }

    #[test]
    fn sets_of_values_come_back_as_written(
        site in any::<u32>(),
        set in any::<u64>(),
        values in proptest::collection::vec(proptest::option::of(any::<i64>()), 0..=64),
    ) {
        let known = (0..).zip(&values).fold(0, |known, (number, value)| {
            known | u64::from(value.is_some()) << number
        });
        let plain: Vec<i64> = values.iter().map(|value| value.unwrap_or(7)).collect();
        let mut words = Vec::new();
        write_words(&mut words, SiteId(site), set, known, &plain);
        prop_assert!(words.len() <= SET_WORDS);
        let written = WordSet { set, site: SiteId(site), values, dry: Vec::new() };
        prop_assert_eq!(read(&words), Ok((Entry::Words(written), words.len())));
        for cut in 1..words.len() {
            prop_assert!(read(&words[..cut]).is_err());
        }
    }

    #[test]
    fn no_words_make_it_panic(words in proptest::collection::vec(any::<u64>(), 0..80)) {
        let _ = read(&words);
    }

    #[test]
    fn the_length_is_known_beforehand(instance in instance()) {
        let mut words = Vec::new();
        write_instance(&mut words, &instance);
        prop_assert_eq!((words[0] >> 8 & 0xff) as usize, words.len());
    }
}

#[test]
fn unwritten_memory_is_no_record() {
    assert_eq!(read(&[0, 0]), Err(Malformed));
    assert_eq!(read(&[]), Err(Malformed));
    assert_eq!(read(&[INTERVAL | 3 << 8, 1]), Err(Malformed));
}

#[test]
fn kinds_of_a_later_version_are_passed_over() {
    assert_eq!(read(&[200 | 2 << 8, 7]), Ok((Entry::Unknown, 2)));
}
