//! The numbers of places in the code.
//!
//! Finding a known place takes no lock: a place is published in the lookup
//! table by storing its number last. Numbering a new one takes a lock and asks
//! the loader, once per place.
//!
//! Addresses stand for places only as long as no module is unloaded: another may
//! come to lie at the same addresses. What the table says is therefore good for
//! one generation of modules; in the next, a place is located anew, and keeps
//! its number if it is still the same place of the same module.

use crate::layout::{Geometry, header, site};
use crate::model::SiteKind;
use fathomp_ring::Word;
use fathomp_ring::file::put_string;
use fathomp_sys::modules;
use fathomp_sys::private_heap::OnPrivateHeap;
use fathomp_sys::shm::SharedFile;
use fathomp_types::SiteId;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Places and their numbers.
#[derive(Debug)]
pub(crate) struct Sites {
    file: &'static SharedFile,
    words: &'static [AtomicU64],
    geometry: Geometry,
    lookup: Box<[Entry]>,
    writer: Mutex<Writer>,
}

/// An entry of the lookup table (open addressing, never deleted).
#[derive(Debug, Default)]
struct Entry {
    call: AtomicU64,
    function: AtomicU64,
    /// Generation of modules, kind ([`tag`], high half) and number; 0 while the
    /// entry is empty, which is no one's number here because the serial part is
    /// never looked up.
    number: AtomicU64,
}

/// What an entry that is good now has in its high half.
#[inline]
fn tag(kind: SiteKind) -> u64 {
    // Generations wrap after 2^24; that an entry sleeps through all of them and
    // wakes up in its own is not to be feared.
    (u64::from(modules::generation()) << 8 | kind as u64) & 0xffff_ffff
}

/// A place as its module knows it: kind, name of the module, addresses.
type Place = (u8, usize, u64, u64);

/// What only the numbering of new places touches.
#[derive(Debug)]
struct Writer {
    /// Where each module's name stands in the heap.
    modules: HashMap<PathBuf, usize>,
    /// Words of the heap in use. Word 0 stays empty: offset 0 means no name.
    heap_used: usize,
    /// Numbers given out, 0 for the serial part included.
    count: usize,
    /// Numbers of places that have been located.
    places: HashMap<Place, u64>,
}

impl Sites {
    /// An empty table with the serial part as number 0.
    pub(crate) fn new(file: &'static SharedFile, geometry: Geometry) -> Self {
        let words = file.words();
        let entries = (geometry.sites * 2).next_power_of_two();
        words[header::SITE_COUNT].store(1, Ordering::Release);
        Self {
            file,
            words,
            geometry,
            lookup: (0..entries).map(|_| Entry::default()).collect(),
            writer: Mutex::new(Writer {
                modules: HashMap::new(),
                heap_used: 1,
                count: 1,
                places: HashMap::new(),
            }),
        }
    }

    /// The number of a place; a new one if it has none.
    #[inline]
    pub(crate) fn number(&self, kind: SiteKind, call: u64, function: u64) -> SiteId {
        let tag = tag(kind);
        for entry in self.chain(call, function) {
            let number = entry.number.load(Ordering::Acquire);
            if number == 0 {
                break;
            }
            if number >> 32 == tag && entry.call.get() == call && entry.function.get() == function {
                return SiteId(number as u32);
            }
        }
        self.add(kind, call, function)
    }

    /// The entries at which a place may stand, in order.
    #[inline]
    fn chain(&self, call: u64, function: u64) -> impl Iterator<Item = &Entry> {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mask = self.lookup.len() - 1;
        let hash = (call ^ function.rotate_left(32)).wrapping_mul(GOLDEN);
        let first = (hash >> 32) as usize;
        (0..self.lookup.len()).map(move |step| &self.lookup[(first + step) & mask])
    }

    #[cold]
    #[inline(never)]
    fn add(&self, kind: SiteKind, call: u64, function: u64) -> SiteId {
        let _heap = OnPrivateHeap::begin();
        // Before the modules are looked at: if one goes meanwhile, the entry is
        // not good for long.
        let tag = tag(kind);
        let target = modules::locate(function as usize);
        // A compiler may enter a region by a jump at the end of another; then the call
        // came from elsewhere, such as the runtime.
        let located = modules::locate(call as usize).filter(|located| {
            let other = |target: &modules::Located| target.module != located.module;
            !target.as_ref().is_some_and(other)
        });
        let call_of_module = match (&located, &target) {
            (None, Some(_)) => 0,
            _ => call,
        };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have numbered it meanwhile.
        let mut free = None;
        for entry in self.chain(call, function) {
            let number = entry.number.load(Ordering::Acquire);
            if number == 0 {
                free = Some(entry);
                break;
            }
            let same_address = number >> 32 & 0xff == kind as u64
                && entry.call.get() == call
                && entry.function.get() == function;
            if same_address && number >> 32 == tag {
                return SiteId(number as u32);
            }
            // Of an earlier generation: only its number is wrong.
            if same_address {
                free = Some(entry);
                break;
            }
        }
        let address = |located: &Option<modules::Located>, raw: u64| match located {
            Some(located) => located.address,
            None => raw,
        };
        let addresses = (
            address(&located, call_of_module),
            address(&target, function),
        );
        let module = located.as_ref().or(target.as_ref()).map(|at| &*at.module);
        let known = module
            .map_or(Some(0), |module| writer.modules.get(module).copied())
            .map(|module| (kind as u8, module, addresses.0, addresses.1))
            .and_then(|place| writer.places.get(&place).copied());
        if let Some(number) = known {
            publish(free, [call, function], tag << 32 | number);
            return SiteId(number as u32);
        }
        let last = self.geometry.sites - 1;
        let base = Geometry::SITES + writer.count * site::WORDS;
        if writer.count > last || self.file.populate(base..base + site::WORDS).is_err() {
            self.words[header::SITES_LOST].fetch_add(1, Ordering::Relaxed);
            return SiteId(last as u32);
        }
        // The last entry is the common one of all places that find no other;
        // it has no address.
        let common = writer.count == last;
        let module = module.filter(|_| !common);
        let module = module.map_or(0, |module| self.name(&mut writer, module));
        let addresses = if common { (0, 0) } else { addresses };
        self.words[base + site::KIND].set(kind as u64);
        self.words[base + site::MODULE].set(module as u64);
        self.words[base + site::CALL].set(addresses.0);
        self.words[base + site::FUNCTION].set(addresses.1);
        let number = writer.count as u64;
        writer.count += 1;
        self.words[header::SITE_COUNT].store(writer.count as u64, Ordering::Release);
        if common {
            self.words[header::SITES_LOST].fetch_add(1, Ordering::Relaxed);
        } else {
            let place = (kind as u8, module, addresses.0, addresses.1);
            writer.places.insert(place, number);
            publish(free, [call, function], tag << 32 | number);
        }
        SiteId(number as u32)
    }

    /// Where the name of a module stands in the heap; 0 if it finds no room.
    fn name(&self, writer: &mut Writer, module: &Path) -> usize {
        if let Some(&offset) = writer.modules.get(module) {
            return offset;
        }
        let bytes = module.as_os_str().as_bytes();
        let needed = 1 + bytes.len().div_ceil(8);
        let offset = writer.heap_used;
        if offset + needed > self.geometry.heap_words {
            return 0;
        }
        let start = self.geometry.heap() + offset;
        if self.file.populate(start..start + needed).is_err() {
            return 0;
        }
        put_string(&self.words[start..start + needed], bytes);
        writer.heap_used += needed;
        writer.modules.insert(module.to_owned(), offset);
        offset
    }
}

/// Lets an entry be found: its number last. An entry of an earlier generation has
/// the same addresses already.
fn publish(entry: Option<&Entry>, [call, function]: [u64; 2], number: u64) {
    if let Some(entry) = entry {
        entry.call.set(call);
        entry.function.set(function);
        entry.number.store(number, Ordering::Release);
    }
}
