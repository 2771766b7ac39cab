//! The table of names: causes, barriers, phases. It lies in shared memory, is only ever
//! appended to, and a name's number is its place.

use crate::layout::{header, names};
use fathomp_ring::Word;
use fathomp_sys::process;
use fathomp_sys::shm::{SharedFile, WORD};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longer names are cut.
const NAME_BYTES_MOST: usize = 255;

/// Producer: a table of names of this process.
#[derive(Debug)]
pub struct Names {
    file: &'static SharedFile,
    /// Held while a name is added.
    busy: AtomicBool,
}

impl Names {
    /// An empty table in a new file.
    #[must_use]
    pub fn new(file: &'static SharedFile) -> Self {
        file.words()[header::NAMES].release(1);
        Self {
            file,
            busy: AtomicBool::new(false),
        }
    }

    /// Takes over the names of another file, with their numbers. The room must be
    /// [there](Self::make_room).
    pub fn adopt(&self, other: &SharedFile) {
        let count = count(other.words());
        for number in 1..count {
            let mut name = [0; NAME_BYTES_MOST];
            let length = copy(other.words(), number, &mut name);
            self.append(&name[..length]);
        }
    }

    /// Makes sure that names can be added without touching memory that is not there.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn make_room(&self) -> std::io::Result<()> {
        // A page of the index and two of names serve most processes.
        let page = 4096 / WORD;
        self.file.populate(names::BEGIN..names::BEGIN + page)?;
        self.file.populate(names::HEAP..names::HEAP + page)
    }

    /// The number of a name; 0 if there is no room for more, or another thread is in the
    /// midst of adding one and does not come to an end. Neither allocates nor waits long.
    pub fn number(&self, name: &[u8]) -> u32 {
        // Zero bytes end names in messages.
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = &name[..name.len().min(NAME_BYTES_MOST)];
        if name.is_empty() {
            return 0;
        }
        let words = self.file.words();
        if let Some(number) = find(words, name, 1) {
            return number;
        }
        if !self.lock() {
            return 0;
        }
        let number = find(words, name, 1).unwrap_or_else(|| self.append(name));
        self.busy.store(false, Ordering::Release);
        number
    }

    /// The holder may have been interrupted by the very signal handler that asks here, so
    /// this gives up after a while.
    fn lock(&self) -> bool {
        const TRIES: usize = 1000;
        (0..TRIES).any(|_| {
            let free = !self.busy.load(Ordering::Relaxed)
                && self
                    .busy
                    .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok();
            if !free {
                process::yield_now();
            }
            free
        })
    }

    /// Only by the holder of the lock.
    fn append(&self, name: &[u8]) -> u32 {
        let words = self.file.words();
        let number = count(words);
        let used = words[header::NAMES_USED].get() as usize;
        let wanted = name.len().div_ceil(WORD);
        let page = 4096 / WORD;
        // Beyond the pages that exist, a page is made when it is begun.
        let index = names::BEGIN + number;
        let heap = names::HEAP + used;
        let made = |at: usize, words: usize| -> bool {
            let begins = at.is_multiple_of(page) || at / page != (at + words - 1) / page;
            !begins || self.file.populate(at..at + words).is_ok()
        };
        if number >= names::MOST
            || used + wanted > names::HEAP_WORDS
            || !made(index, 1)
            || !made(heap, wanted)
        {
            let lost = words[header::NAMES_LOST].get();
            words[header::NAMES_LOST].set(lost + 1);
            return 0;
        }
        for (place, bytes) in name.chunks(WORD).enumerate() {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            words[heap + place].set(u64::from_le_bytes(word));
        }
        let entry = hash(name) << 32 | (name.len() as u64) << 24 | used as u64;
        words[index].set(entry);
        words[header::NAMES_USED].set((used + wanted) as u64);
        words[header::NAMES].release(number as u64 + 1);
        number as u32
    }
}

/// Names in a table, number 0 included.
#[must_use]
pub fn count(words: &[std::sync::atomic::AtomicU64]) -> usize {
    let count = words[header::NAMES].acquire();
    usize::try_from(count)
        .unwrap_or(names::MOST)
        .min(names::MOST)
}

/// A name of a table, whatever stands there.
#[must_use]
pub fn name(words: &[std::sync::atomic::AtomicU64], number: usize) -> String {
    let mut name = [0; NAME_BYTES_MOST];
    let length = copy(words, number, &mut name);
    String::from_utf8_lossy(&name[..length]).into_owned()
}

/// The names of a table from a number on.
#[must_use]
pub fn since(words: &[std::sync::atomic::AtomicU64], first: usize) -> Vec<String> {
    (first..count(words))
        .map(|number| name(words, number))
        .collect()
}

fn find(words: &[std::sync::atomic::AtomicU64], name: &[u8], from: usize) -> Option<u32> {
    let wanted = hash(name) << 8 | name.len() as u64;
    (from..count(words)).find_map(|number| {
        let entry = words[names::BEGIN + number].get();
        let mut found = [0; NAME_BYTES_MOST];
        let same = entry >> 24 == wanted && {
            let length = copy(words, number, &mut found);
            &found[..length] == name
        };
        same.then_some(number as u32)
    })
}

/// Copies a name's bytes; gives their number.
fn copy(
    words: &[std::sync::atomic::AtomicU64],
    number: usize,
    out: &mut [u8; NAME_BYTES_MOST],
) -> usize {
    let entry = words.get(names::BEGIN + number).map_or(0, Word::get);
    let (length, at) = (entry >> 24 & 0xff, entry & 0xff_ffff);
    let (length, at) = (length as usize, at as usize);
    if number >= names::MOST || at + length.div_ceil(WORD) > names::HEAP_WORDS {
        return 0;
    }
    for (place, bytes) in out[..length].chunks_mut(WORD).enumerate() {
        let word = words.get(names::HEAP + at + place).map_or(0, Word::get);
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
    length
}

/// 32 bits of FNV-1a.
fn hash(name: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash = name.iter().fold(start, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Geometry;
    use std::sync::atomic::AtomicU64;

    fn table(name: &str) -> &'static SharedFile {
        let path = std::env::temp_dir().join(format!("fathomp-{name}-{}", std::process::id()));
        let words = Geometry::for_rings(512, 1).words();
        let file = SharedFile::create(&path, words).unwrap().leak();
        std::fs::remove_file(path).unwrap();
        file
    }

    #[test]
    fn a_name_keeps_its_number_also_in_a_child() {
        let file = table("names");
        let names = Names::new(file);
        names.make_room().unwrap();
        let all = ["read", "write", "MPI_Allreduce", "x", "reads"];
        let numbers: Vec<_> = all.iter().map(|one| names.number(one.as_bytes())).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert_eq!(names.number(b"MPI_Allreduce"), 3);
        assert_eq!(names.number(b""), 0);
        assert_eq!(name(file.words(), 3), "MPI_Allreduce");

        let other = table("names-of-child");
        let child = Names::new(other);
        child.make_room().unwrap();
        child.adopt(file);
        assert_eq!(child.number(b"x"), 4);
        assert_eq!(child.number(b"new"), 6);
    }

    #[test]
    fn a_full_table_counts_what_it_cannot_take() {
        let file = table("full");
        let names = Names::new(file);
        names.make_room().unwrap();
        for number in 1..names::MOST as u32 + 10 {
            let name =
                format!("name {number} that is not short at all, to fill the table {number}");
            let given = names.number(name.as_bytes());
            assert!(given == number || given == 0);
            assert_eq!(given == 0, names.number(name.as_bytes()) == 0);
        }
        assert!(file.words()[header::NAMES_LOST].get() > 0);
        let last = count(file.words()) - 1;
        assert!(name(file.words(), last).starts_with(&format!("name {last} ")));
    }

    #[test]
    fn whatever_stands_in_a_table_is_read_without_panic() {
        let words: Vec<_> = (0..names::BEGIN + names::WORDS)
            .map(|place| AtomicU64::new((place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        for number in 0..count(&words) + 3 {
            let _ = name(&words, number);
        }
    }

    #[test]
    fn threads_get_one_number_for_one_name() {
        let file = table("threads");
        let names = Names::new(file);
        names.make_room().unwrap();
        let got: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..100_u32)
                            .map(|number| names.number(number.to_string().as_bytes()))
                            .collect()
                    })
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(got.iter().all(|one| *one == got[0]), "{got:?}");
    }
}
