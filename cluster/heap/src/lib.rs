//! Allocates addresses in a range without touching the memory there.
//!
//! What is allocated where is kept apart from the range, so that pages which
//! nodes share hold nothing but the program's data, and freeing touches none of
//! them. Small sizes are rounded up to one of 32 classes and come from slabs of
//! 64 KiB, lowest address first: the fewer pages are in use, the fewer travel.
//! Larger sizes are whole pages: those of a block of the same size that was freed, if there
//! are any, so that what lies there lay there before; else the best fit of free pages, which are
//! joined with their neighbours. Nothing here locks.
#![forbid(unsafe_code)]

mod class;
mod kept;
mod pages;
mod slab;

use class::Class;
use pages::Pages;
use slab::Slab;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Bytes in a page, the unit in which the range is divided.
pub const PAGE_BYTES: usize = 4096;

/// An address that cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFree {
    /// It lies outside the range.
    #[error("{0:#x} is not an address of this heap")]
    Foreign(usize),
    /// Nothing is allocated there: it was freed before, or never given out.
    #[error("{0:#x} is not allocated (freed twice?)")]
    NotAllocated(usize),
    /// It lies inside an allocation or its slot, not at the start.
    #[error("{0:#x} is not the start of an allocation")]
    Inside(usize),
}

/// See the crate's documentation.
#[derive(Debug, Hash)]
pub struct Heap {
    base: usize,
    pages: Pages,
    /// For each page the block that begins there or, of a slab, lies there.
    /// Grows with the part of the range that was ever used.
    owners: Vec<Option<BlockId>>,
    blocks: Vec<Block>,
    /// Places in `blocks` to be used again.
    vacant: Vec<BlockId>,
    shelves: [Shelf; Class::COUNT],
}

/// Index of a block, plus one.
type BlockId = std::num::NonZeroU32;

#[derive(Debug, Hash)]
enum Block {
    Vacant,
    Slab(Slab),
    Large { first_page: u32, pages: u32 },
}

/// The slabs of a class that have room.
#[derive(Debug, Default, Hash)]
struct Shelf {
    /// The slab to allocate from; kept even if it is empty or full.
    current: Option<BlockId>,
    /// Others, by address, so that the lowest is used next.
    others: BTreeSet<(u32, BlockId)>,
}

impl Heap {
    /// A heap for the whole pages between `base` and `base + len`. At most
    /// 16 TiB are used.
    #[must_use]
    pub fn new(base: usize, len: usize) -> Self {
        let end = base.saturating_add(len) / PAGE_BYTES;
        let first = base.div_ceil(PAGE_BYTES);
        // The number of the page behind the last has to be a u32, too.
        let count = u32::try_from(end.saturating_sub(first)).unwrap_or(u32::MAX - 1);
        Self {
            base: first.saturating_mul(PAGE_BYTES),
            pages: Pages::new(first, count),
            owners: Vec::new(),
            blocks: Vec::new(),
            vacant: Vec::new(),
            shelves: std::array::from_fn(|_| Shelf::default()),
        }
    }

    /// A number that two heaps share if they have given out the same and will go on alike.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Address of `bytes` free bytes, aligned to `align`, a power of two, and in
    /// any case to 16. No bytes are treated as one. `None` if there is no such
    /// room or `align` is no power of two.
    #[inline]
    pub fn allocate(&mut self, bytes: usize, align: usize) -> Option<usize> {
        match Class::of(bytes, align) {
            Some(class) => self.allocate_small(class),
            None => self.allocate_large(bytes, align),
        }
    }

    fn allocate_small(&mut self, class: Class) -> Option<usize> {
        let shelf = &mut self.shelves[class.index()];
        if let Some(id) = shelf.current
            && let Some(Block::Slab(slab)) = self.blocks.get_mut(index(id))
            && let Some(offset) = slab.take()
        {
            return Some(self.base + slab.start() + offset);
        }
        self.allocate_elsewhere(class)
    }

    /// The current slab is full: from another, or from a new one.
    #[cold]
    fn allocate_elsewhere(&mut self, class: Class) -> Option<usize> {
        let next = self.shelves[class.index()].others.pop_first();
        let id = match next {
            Some((_, id)) => id,
            None => self.new_slab(class)?,
        };
        self.shelves[class.index()].current = Some(id);
        let Block::Slab(slab) = &mut self.blocks[index(id)] else {
            return None;
        };
        slab.take().map(|offset| self.base + slab.start() + offset)
    }

    fn new_slab(&mut self, class: Class) -> Option<BlockId> {
        let first = self.take_pages(Slab::PAGES, 1)?;
        let id = self.add(Block::Slab(Slab::new(first, class)))?;
        self.own(first..first + Slab::PAGES, Some(id));
        Some(id)
    }

    fn allocate_large(&mut self, bytes: usize, align: usize) -> Option<usize> {
        if !align.is_power_of_two() {
            return None;
        }
        let pages = u32::try_from(bytes.div_ceil(PAGE_BYTES)).ok()?.max(1);
        let align_pages = (align / PAGE_BYTES).max(1);
        let first_page = self.take_pages(pages, align_pages)?;
        let id = self.add(Block::Large { first_page, pages })?;
        self.own(first_page..first_page + 1, Some(id));
        Some(self.base + first_page as usize * PAGE_BYTES)
    }

    /// Free pages; if there are not enough, empty slabs are given up.
    fn take_pages(&mut self, pages: u32, align_pages: usize) -> Option<u32> {
        let first = self.pages.take(pages, align_pages);
        if first.is_some() {
            return first;
        }
        for class in 0..Class::COUNT {
            if let Some(id) = self.shelves[class].current
                && let Block::Slab(slab) = &self.blocks[index(id)]
                && slab.is_empty()
            {
                self.shelves[class].current = None;
                self.drop_slab(id);
            }
        }
        self.pages.take(pages, align_pages)
    }

    /// Frees what was allocated at `address` and returns how many bytes it had.
    ///
    /// # Errors
    /// If nothing was, or it does not begin there; nothing changes then.
    #[inline]
    pub fn release(&mut self, address: usize) -> Result<usize, BadFree> {
        let (id, offset) = self.find(address)?;
        match &mut self.blocks[index(id)] {
            Block::Vacant => Err(BadFree::NotAllocated(address)),
            Block::Slab(slab) => {
                let was_full = slab.is_full();
                slab.give(offset - slab.start())
                    .map_err(|error| error.at(address))?;
                let class = slab.class();
                if was_full || slab.is_empty() {
                    self.reshelve(id, class);
                }
                Ok(class.bytes())
            }
            Block::Large { first_page, pages } => {
                let (first, pages) = (*first_page, *pages);
                self.own(first..first + 1, None);
                self.remove(id);
                self.pages.give(first, pages);
                Ok(pages as usize * PAGE_BYTES)
            }
        }
    }

    /// A slab has become empty, or is no longer full.
    #[cold]
    fn reshelve(&mut self, id: BlockId, class: Class) {
        let Block::Slab(slab) = &self.blocks[index(id)] else {
            return;
        };
        let shelf = &mut self.shelves[class.index()];
        if shelf.current == Some(id) {
            return;
        }
        let place = (slab.first_page(), id);
        if slab.is_empty() {
            shelf.others.remove(&place);
            self.drop_slab(id);
        } else {
            shelf.others.insert(place);
        }
    }

    /// Gives the pages of an empty slab, which is on no shelf, back.
    fn drop_slab(&mut self, id: BlockId) {
        if let Block::Slab(slab) = &self.blocks[index(id)] {
            let first = slab.first_page();
            self.own(first..first + Slab::PAGES, None);
            self.remove(id);
            self.pages.give(first, Slab::PAGES);
        }
    }

    /// Bytes that may be used from `address` on, an allocation's start.
    #[must_use]
    pub fn size_of(&self, address: usize) -> Option<usize> {
        let (id, offset) = self.find(address).ok()?;
        match &self.blocks[index(id)] {
            Block::Vacant => None,
            Block::Slab(slab) => {
                let allocated = slab.is_allocated(offset - slab.start());
                allocated.then(|| slab.class().bytes())
            }
            Block::Large { pages, .. } => Some(*pages as usize * PAGE_BYTES),
        }
    }

    /// End of all pages that ever were part of a block: nobody has business with what lies
    /// behind.
    #[inline]
    #[must_use]
    pub fn used_end(&self) -> usize {
        self.base + self.pages.reached() * PAGE_BYTES
    }

    /// Whether `address` lies in this heap's range.
    #[must_use]
    pub fn contains(&self, address: usize) -> bool {
        address >= self.base && (address - self.base) / PAGE_BYTES < self.pages.count()
    }

    /// The block at `address`, and the address as a distance from the base.
    #[inline]
    fn find(&self, address: usize) -> Result<(BlockId, usize), BadFree> {
        if !self.contains(address) {
            return Err(BadFree::Foreign(address));
        }
        let offset = address - self.base;
        let owner = self.owners.get(offset / PAGE_BYTES).copied().flatten();
        let id = owner.ok_or(BadFree::NotAllocated(address))?;
        let is_large = matches!(self.blocks[index(id)], Block::Large { .. });
        if is_large && !offset.is_multiple_of(PAGE_BYTES) {
            return Err(BadFree::Inside(address));
        }
        Ok((id, offset))
    }

    fn own(&mut self, pages: Range<u32>, owner: Option<BlockId>) {
        let pages = pages.start as usize..pages.end as usize;
        if self.owners.len() < pages.end {
            self.owners.resize(pages.end, None);
        }
        self.owners[pages].fill(owner);
    }

    fn add(&mut self, block: Block) -> Option<BlockId> {
        if let Some(id) = self.vacant.pop() {
            self.blocks[index(id)] = block;
            return Some(id);
        }
        self.blocks.push(block);
        u32::try_from(self.blocks.len()).ok().and_then(BlockId::new)
    }

    fn remove(&mut self, id: BlockId) {
        self.blocks[index(id)] = Block::Vacant;
        self.vacant.push(id);
    }
}

#[inline]
fn index(id: BlockId) -> usize {
    id.get() as usize - 1
}

#[cfg(test)]
mod tests;
