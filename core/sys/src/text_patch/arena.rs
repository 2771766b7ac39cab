//! Memory for trampolines, at places that jumps can reach.

use crate::shm::page_size;
use std::io;
use std::ops::Range;

/// Address space taken at once where there is no reason to take less, bytes.
const CHUNK: usize = 64 * 1024;
/// How many places are tried before giving up.
const TRIES: usize = 4096;
/// Lowest address ever tried: the kernel's default `vm.mmap_min_addr`.
const LOWEST: usize = 64 * 1024;
/// What is left free behind a program for its `brk` heap to grow into, if
/// there is no place before it, bytes.
const BREAK_ROOM: usize = 512 << 20;

/// Mapped pages, writable until [`Arena::seal`] and executable from then on.
/// Unmapped when dropped before that.
pub(super) struct Arena {
    chunks: Vec<Chunk>,
}

struct Chunk {
    all: Range<usize>,
    /// First byte not given away yet.
    next: usize,
}

impl Arena {
    pub(super) fn new() -> Self {
        Self { chunks: vec![] }
    }

    /// Writes what `build` makes for a place of `size` bytes somewhere around
    /// `code`, and returns the place.
    pub(super) fn near(
        &mut self,
        code: &Range<usize>,
        size: usize,
        build: impl Fn(usize) -> Option<Vec<u8>>,
    ) -> Option<usize> {
        let below = (1..TRIES).map_while(|step| {
            let place = (code.start / CHUNK * CHUNK).checked_sub(step * CHUNK)?;
            (place >= LOWEST).then_some(place)
        });
        let above = (1..TRIES).map_while(|step| {
            let place = code.end.checked_next_multiple_of(CHUNK)?;
            place.checked_add(BREAK_ROOM)?.checked_add(step * CHUNK)
        });
        let mapped: Vec<usize> = self.chunks.iter().map(|chunk| chunk.next).collect();
        mapped
            .into_iter()
            .chain(below)
            .chain(above)
            .find_map(|place| self.write(place, size, &build))
    }

    /// The same, at a place from `first` to `last`.
    pub(super) fn within(
        &mut self,
        (first, last): (usize, usize),
        size: usize,
        build: impl Fn(usize) -> Option<Vec<u8>>,
    ) -> Option<usize> {
        let mapped: Vec<usize> = self
            .chunks
            .iter()
            .map(|chunk| chunk.next.max(first))
            .filter(|place| *place <= last)
            .collect();
        let fresh = (0..TRIES)
            .map(|step| (first.max(LOWEST)).saturating_add(step * CHUNK))
            .take_while(|place| *place <= last);
        mapped
            .into_iter()
            .chain(fresh)
            .find_map(|place| self.write(place, size, &build))
    }

    /// Writes at exactly `place` if it is free or can be mapped.
    fn write(
        &mut self,
        place: usize,
        size: usize,
        build: impl Fn(usize) -> Option<Vec<u8>>,
    ) -> Option<usize> {
        let end = place.checked_add(size)?;
        let bytes = build(place).filter(|bytes| bytes.len() == size)?;
        let fits = |chunk: &Chunk| chunk.next <= place && end <= chunk.all.end;
        let index = match self.chunks.iter().position(fits) {
            Some(index) => index,
            None => {
                let page = page_size();
                let start = place / page * page;
                // A tight place is worth a page, not a chunk.
                let length = if place.is_multiple_of(CHUNK) {
                    CHUNK
                } else {
                    page
                };
                let length = (end - start).next_multiple_of(page).max(length);
                self.chunks.push(map(start, length)?);
                self.chunks.len() - 1
            }
        };
        // SAFETY: `place..end` lies in a chunk of ours that is mapped writable
        // and was not given away before; nothing else refers to it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place as *mut u8, size) };
        self.chunks[index].next = end;
        Some(place)
    }

    /// Makes all of it executable and no longer writable, for ever.
    pub(super) fn seal(mut self) -> io::Result<()> {
        for chunk in &self.chunks {
            // SAFETY: pages that only we use, and only as code from here on.
            let done = unsafe {
                libc::mprotect(
                    chunk.all.start as *mut libc::c_void,
                    chunk.all.len(),
                    libc::PROT_READ | libc::PROT_EXEC,
                )
            };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        self.chunks.clear();
        Ok(())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // SAFETY: mapped by `map`; without `seal` nothing refers to it.
            unsafe { libc::munmap(chunk.all.start as *mut libc::c_void, chunk.all.len()) };
        }
    }
}

/// Maps pages at `start` if nothing is mapped there.
fn map(start: usize, length: usize) -> Option<Chunk> {
    // SAFETY: NOREPLACE keeps whatever is there; kernels that do not know it
    // (before 4.17) take the address as a wish, which is checked below.
    let mapped = unsafe {
        libc::mmap(
            start as *mut libc::c_void,
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    if mapped as usize != start {
        // SAFETY: just mapped by us, at a place of no use.
        unsafe { libc::munmap(mapped, length) };
        return None;
    }
    Some(Chunk {
        all: start..start + length,
        next: start,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_keep_to_their_window() {
        let code = map as *const () as usize;
        let code = code..code + 100;
        let mut arena = Arena::new();
        let build = |_| Some(vec![0xcc; 100]);
        let first = arena.near(&code, 100, build).unwrap();
        let second = arena.near(&code, 100, build).unwrap();
        assert_eq!(second, first + 100);
        let window = (first + 0x1234, first + 0x1333);
        let third = arena.within(window, 100, build).unwrap();
        assert!(third >= window.0 && third <= window.1);
        assert!(arena.within((third, third + 50), 100, build).is_none());
        arena.seal().unwrap();
    }

    #[test]
    fn what_cannot_be_built_takes_no_place() {
        let code = map as *const () as usize;
        let mut arena = Arena::new();
        assert_eq!(arena.near(&(code..code + 9), 10, |_| None), None);
        assert!(arena.chunks.is_empty());
    }
}
