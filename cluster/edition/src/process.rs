//! What the runtime asks of a process that is a node, and how the library begins and ends.

use crate::races;
use crate::start;
use crate::world::{Kind, bytes, note};
use fathomp_node::heap;
use fathomp_node::start::node;
use fathomp_omp::cluster::{self, Memory, Process, Setting};
use fathomp_sys::text_patch::Section;

struct Edition;

/// The loader calls it: `fathomp-runtime`'s build script puts it into the library's list of what is
/// to run first.
#[unsafe(no_mangle)]
extern "C" fn fathomp_edition_load() {
    cluster::provide(&Edition);
    fathomp_abi::load();
}

/// The loader calls it at the process's end, likewise.
#[unsafe(no_mangle)]
extern "C" fn fathomp_edition_finish() {
    fathomp_abi::finish();
}

/// Stands for the address of the program's code that asks: it is none of a library's.
const PROGRAM: usize = 0;

impl Process for Edition {
    fn expect_nodes(&self) {
        start::expect();
    }

    fn finish(&self) {
        if let Some(node) = node() {
            races::say(node);
            node.finish();
        }
    }

    fn flush(&self) {
        if let Some(node) = node() {
            node.flush();
        }
    }

    fn begin_update(&self, address: usize, bytes: usize) -> Option<usize> {
        // Programs that call these have none of their atomics carried to other nodes, so that what
        // this does need not be known.
        node()?.begin_atomic(&Section {
            instruction: 0,
            address,
            bytes,
            does: None,
            blind: None,
            movable: bytes.is_power_of_two() && address.is_multiple_of(bytes),
        })
    }

    fn end_update(&self) {
        if let Some(node) = node() {
            node.end_atomic();
        }
    }

    fn allocate(&self, bytes: usize, align: usize) -> Memory {
        match heap::allocate(bytes, align, PROGRAM) {
            Some(heap::Block::At(address)) => Memory::At(address),
            Some(heap::Block::Exhausted) => Memory::Exhausted,
            None => Memory::NotShared,
        }
    }

    fn free(&self, address: usize) -> bool {
        let shared = heap::is_shared(address);
        if shared {
            heap::free(address);
        }
        shared
    }

    fn sets(&self, routine: &str, setting: Setting<'_>) {
        let number = |number: i32| bytes(number.cast_unsigned().into());
        match setting {
            Setting::AffinityFormat(format) => {
                note(routine, Kind::AffinityFormat, b"", format.as_bytes());
            }
            Setting::Teams(teams) => note(routine, Kind::Teams, b"", &number(teams)),
            Setting::TeamsThreadLimit(limit) => {
                note(routine, Kind::TeamsThreadLimit, b"", &number(limit));
            }
        }
    }
}
