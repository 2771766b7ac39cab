//! What a drainer that was killed did not move to the recording any more.

use super::parse::Parser;
use crate::drain::{Budget, Limits, Output, Source, Stream};
use crate::live::EXTENSION;
use fathomp_ring::drain::ring_files;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Adds what is left in the live directory to the streams it belongs to,
/// without changing it.
pub(super) fn salvage(
    live: &Path,
    parsers: &mut BTreeMap<OsString, Parser>,
    problems: &mut Vec<String>,
) {
    let Ok(names) = ring_files(live, EXTENSION) else {
        // Memory is lost with a restart of the machine.
        problems.push(format!(
            "The recorder was killed, and what the program left in {} is gone: the last moments \
             before that are missing.",
            live.display()
        ));
        return;
    };
    for name in names {
        let path = live.join(name);
        let name = path.file_stem().unwrap_or_default().to_owned();
        let parser = parsers.entry(name).or_default();
        if parser.is_complete() {
            continue;
        }
        match Source::open(&path) {
            Ok(source) if !source.has_ended() => problems.push(format!(
                "Process {} may still be running: what it has recorded lately is not shown. Read \
                 the recording again when it has ended.",
                source.pid()
            )),
            Ok(source) => one(source, parser),
            Err(error) => problems.push(format!(
                "What is left in {} could not be read: {error}.",
                path.display()
            )),
        }
    }
}

fn one(source: Source, parser: &mut Parser) {
    let (mut slots, sites) = parser.resume_at();
    slots.truncate(source.slots_used());
    let mut lost = 0_u64;
    for (index, slot) in slots.iter_mut().enumerate() {
        let Some(ring) = source.ring(index) else {
            continue;
        };
        // Words given back to the program were written to the stream, or were
        // in sums that went with the drainer.
        let consumed = ring.consumed();
        let plausible = ring.written().wrapping_sub(consumed) <= ring.capacity();
        if plausible && consumed > slot.position {
            lost = lost.saturating_add(consumed - slot.position);
            slot.position = consumed;
        }
    }
    let mut budget = Budget::new(Limits {
        limit_bytes: u64::MAX,
    });
    let mut stream = Stream::resume(source, Output::Memory(Vec::new()), slots, sites);
    stream.close(&mut budget, false);
    // Memory does not run full.
    let _ = stream.seal(&mut budget, false);
    if let Output::Memory(bytes) = stream.into_output() {
        parser.blocks(&bytes);
    }
    parser.salvaged(lost);
}
