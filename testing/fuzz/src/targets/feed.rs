//! What programs whose paging is recorded tell the collector: by messages, in rings.

use super::paging;
use crate::room;
use crate::target::{Said, Shape, Target, about};
use fathomp_feed::facts::Facts;
use fathomp_feed::file::{Opening, RingFile};
use fathomp_feed::layout::Geometry;
use fathomp_feed::message::{
    ClockNote, HEADER_BYTES, Header, Hello, Kind, Role, VERSION, Welcome, put_note, put_words,
    words,
};
use fathomp_feed::record::{self, Record};
use fathomp_feed::scribe::{Past, Scribe};
use fathomp_paging::reader::Recording;
use fathomp_paging::stream;
use fathomp_paging::{Activity, Cause, Counter, Counts, Ending, MarkKind, State};
use fathomp_sys::clock;
use fathomp_types::Ticks;
use std::fs;

/// Messages on a stream.
pub(super) const MESSAGES: Target = Target {
    name: "feed-messages",
    what: "messages of recorded processes and other hosts to a collector",
    shape: Shape::Bytes,
    seeds: messages,
    read: read_messages,
};

/// Records as words.
pub(super) const WORDS: Target = Target {
    name: "feed-words",
    what: "records of a recorded thread, and the stream made of them",
    shape: Shape::Words,
    seeds: word_seeds,
    read: read_words,
};

/// A ring file.
pub(super) const RING_FILE: Target = Target {
    name: "feed-ring-file",
    what: "ring files of recorded processes",
    shape: Shape::Words,
    seeds: ring_files,
    read: read_ring_file,
};

/// What is in a stream already.
pub(super) const PAST: Target = Target {
    name: "feed-past",
    what: "a stream that a collector goes on with",
    shape: Shape::Blocks,
    seeds: paging::streams,
    read: read_past,
};

fn messages() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut one = Vec::new();
    let hello = Hello {
        version: VERSION,
        key: "0123456789abcdef0123456789abcdef".to_owned(),
        host: "elsewhere".to_owned(),
        boot: "another".to_owned(),
        role: Role::Process {
            stem: "7-abc".to_owned(),
            facts: Box::default(),
        },
    };
    put_note(&mut one, Kind::Hello, &hello);
    all.extend_from_slice(&one);
    put_note(&mut one, Kind::Clock, &ClockNote::default());
    all.extend_from_slice(&one);
    put_words(&mut one, 3, 0, &a_thread());
    all.extend_from_slice(&one);
    vec![all]
}

fn read_messages(mut input: &[u8]) -> Said {
    let mut said = Vec::new();
    while let Ok(header) = Header::from_bytes(input) {
        let Some(body) = input.get(HEADER_BYTES..HEADER_BYTES + header.bytes) else {
            break;
        };
        let understood = match header.kind {
            Kind::Hello => serde_json::from_slice::<Hello>(body).is_ok(),
            Kind::Welcome => serde_json::from_slice::<Welcome>(body).is_ok(),
            Kind::Clock => serde_json::from_slice::<ClockNote>(body).is_ok(),
            Kind::Facts => serde_json::from_slice::<Facts>(body).is_ok(),
            Kind::Words => {
                let words: Vec<u64> = words(body).collect();
                scribed(&words);
                true
            }
            _ => true,
        };
        said.push((header.kind as u32, understood));
        input = &input[HEADER_BYTES + header.bytes..];
    }
    Said::read((said.get(..4), about(said.len()), input.is_empty()))
}

/// What a thread says from its begin to its end.
fn a_thread() -> Vec<u64> {
    let mut counts = Counts::ZERO;
    counts[Counter::MinorFaults] = 3;
    counts[Counter::MajorFaults] = 1 << 40;
    let records = [
        Record::Begin {
            at: Ticks(100),
            number: 0,
            os_id: 77,
        },
        Record::Identity {
            rank: Some(1),
            node: None,
            openmp_thread: Some(0),
            selected: Some(true),
        },
        Record::Interval {
            at: Ticks(1_000),
            state: State::active(Activity::Compute),
            cause: Cause(1),
            merged: 1,
            counts,
        },
        Record::Mark {
            at: Ticks(1_100),
            kind: MarkKind::Barrier,
            name: 1,
        },
        Record::Gap { at: Ticks(2_000) },
        Record::Omitted {
            ticks: Ticks(50),
            state: State::active(Activity::Io),
            stays: 4,
            counts,
        },
        Record::Interval {
            at: Ticks(3_000),
            state: State::active(Activity::Io),
            cause: Cause(2),
            merged: 1,
            counts: Counts::ZERO,
        },
        Record::End {
            at: Ticks(3_500),
            ending: Ending::Exit,
        },
    ];
    let mut words: Vec<u64> = Vec::new();
    for one in &records {
        record::put(&mut words, one, u32::MAX);
    }
    words
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn word_seeds() -> Vec<Vec<u8>> {
    vec![bytes(&a_thread())]
}

/// What a scribe makes of words can be read.
fn scribed(words: &[u64]) -> Said {
    let mut out = stream::start().to_vec();
    let mut scribe = Scribe::default();
    scribe.take(words, &mut out);
    scribe.flush(true, &mut out);
    scribe.introduce(&mut out);
    let taken = scribe.taken();
    let name = stream::file_name(7, Ticks(1), None);
    let recording = Recording::from_bytes(Some(br#"{"format": 1}"#), [(name, out)]);
    let recording = recording.expect("a stream that was just written");
    let records = usize::try_from(taken.records).unwrap_or(usize::MAX);
    Said::all([
        Said::read((about(records), taken.damaged)),
        paging::check(&recording),
    ])
}

fn read_words(input: &[u8]) -> Said {
    let words: Vec<u64> = words(input).collect();
    let mut rest = words.as_slice();
    while let Ok((_, length)) = record::read(rest) {
        assert!(length > 0 && length <= rest.len(), "a record without end");
        rest = &rest[length..];
    }
    let end = record::whole(&words, record::WORDS_MOST);
    assert!(end <= words.len(), "more whole records than words");
    scribed(&words)
}

fn ring_files() -> Vec<Vec<u8>> {
    let path = room::path().join("made.pagingrings");
    let opening = Opening {
        parent: 1,
        begin: clock::pair(),
        unix_ns: 1,
        nanos_per_tick: 1.0,
        program: "solver".to_owned(),
        forked: false,
        order: Some(3),
    };
    let _ = fs::remove_file(&path);
    let file = RingFile::create(&path, Geometry::for_rings(64, 2), &opening).expect("a ring file");
    if let Some(ring) = file.ring(0) {
        let mut cursor = ring.append();
        for word in a_thread() {
            fathomp_ring::Sink::put(&mut cursor, word);
        }
        cursor.commit();
    }
    vec![fs::read(&path).expect("a ring file")]
}

fn read_ring_file(input: &[u8]) -> Said {
    let path = room::put("foreign.pagingrings", input);
    let file = match RingFile::open(&path) {
        Ok(file) => file,
        Err(error) => return Said::refused(&error),
    };
    assert!(file.is_whole(), "a file shorter than its geometry");
    let facts = serde_json::to_vec(&file.facts()).expect("facts as JSON");
    let _ = (file.pid(), file.start_time(), file.has_ended());
    let mut taken = 0;
    for slot in 0..file.slots_used().min(file.geometry().slots) {
        let Some(ring) = file.ring(slot) else {
            continue;
        };
        let mut words = Vec::new();
        if ring
            .copy(ring.consumed(), ring.written(), &mut words)
            .is_ok()
        {
            taken += words.len();
            scribed(&words);
        }
        let mut scribe = Scribe::default();
        scribe.resume(0, Ticks(5));
        if let Some(sums) = file.merged(slot) {
            scribe.merged(Ticks(5), sums.each());
        }
        if let Some(sums) = file.omitted(slot) {
            scribe.omitted(sums.each());
        }
        scribe.flush(true, &mut Vec::new());
    }
    Said::read([about(facts.len()), about(taken)])
}

fn read_past(input: &[u8]) -> Said {
    let mut past = Past::default();
    past.add(0, input);
    let mut scribe = Scribe::default();
    scribe.resume_after(0, past);
    let mut out = stream::start().to_vec();
    scribe.take(&a_thread(), &mut out);
    scribe.flush(true, &mut out);
    Said::read((past.ended, past.blocks.min(4), past.mark_blocks.min(4)))
}
