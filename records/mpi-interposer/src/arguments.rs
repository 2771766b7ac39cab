//! What a function of MPI was given, as its language passes it.

use fathomp_sys::mpi::behind::Words;
use fathomp_sys::mpi::{World, from_fortran};
use std::ffi::c_int;
use std::ptr;
use std::sync::OnceLock;

/// How arguments are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// By value, counts as `int`.
    C,
    /// By value, counts as `MPI_Count`.
    CLarge,
    /// By reference.
    Fortran,
}

/// The implementation of MPI, if we know it.
pub(crate) fn world() -> Option<World> {
    static WORLD: OnceLock<Option<World>> = OnceLock::new();
    *WORLD.get_or_init(World::of_this_process)
}

/// The arguments of a call, numbered from 0. A caller of these functions promises that the function
/// of MPI has the argument, with that meaning, and that the program passed it as the standard demands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    pub(crate) words: Words,
    pub(crate) language: Language,
}

impl Arguments {
    pub(crate) fn is_fortran(&self) -> bool {
        self.language == Language::Fortran
    }

    pub(crate) fn word(&self, number: u8) -> usize {
        self.words[usize::from(number)]
    }

    /// An argument that is an `int`, or Fortran's `INTEGER`.
    ///
    /// # Safety
    /// The function has one of that number.
    pub(crate) unsafe fn integer(&self, number: u8) -> c_int {
        match self.language {
            Language::C | Language::CLarge => self.word(number) as c_int,
            // SAFETY: Fortran passes the address of an integer.
            Language::Fortran => unsafe { self.integer_at(number, 0) },
        }
    }

    /// An integer in memory: an array's, or one that the function gives back.
    ///
    /// # Safety
    /// The function has an argument of that number, which points to so many integers.
    pub(crate) unsafe fn integer_at(&self, number: u8, index: usize) -> c_int {
        let array = ptr::with_exposed_provenance::<c_int>(self.word(number));
        // SAFETY: promised by our caller.
        unsafe { array.add(index).read_unaligned() }
    }

    /// A communicator that is passed, as C has it.
    ///
    /// # Safety
    /// The function has one of that number.
    pub(crate) unsafe fn communicator(&self, world: World, number: u8) -> usize {
        match self.language {
            // SAFETY: promised by our caller.
            Language::Fortran => match unsafe { self.integer(number) } {
                one if one == world.in_fortran => world.in_c,
                // SAFETY: a communicator that the program passes to MPI.
                other => unsafe { from_fortran(world, other) },
            },
            _ => world.handle(self.word(number)),
        }
    }

    /// A communicator in memory, as C has it: one that is made or freed.
    ///
    /// # Safety
    /// The function has an argument of that number, which points to a communicator.
    pub(crate) unsafe fn communicator_at(&self, world: World, number: u8) -> usize {
        match self.language {
            // SAFETY: promised by our caller.
            Language::Fortran => unsafe { from_fortran(world, self.integer_at(number, 0)) },
            // SAFETY: likewise.
            _ => unsafe { self.handle_at(world, number, 0) },
        }
    }

    /// What tells a request in memory from others of the process.
    ///
    /// # Safety
    /// The function has an argument of that number, which points to so many requests.
    pub(crate) unsafe fn request_at(&self, world: World, number: u8, index: usize) -> usize {
        // SAFETY: promised by our caller.
        unsafe { self.handle_at(world, number, index) }
    }

    /// # Safety
    /// As of [`Self::request_at`].
    unsafe fn handle_at(&self, world: World, number: u8, index: usize) -> usize {
        if self.is_fortran() || world.has_integers() {
            // SAFETY: promised by our caller: handles are integers.
            return unsafe { self.integer_at(number, index) } as u32 as usize;
        }
        let array = ptr::with_exposed_provenance::<usize>(self.word(number));
        // SAFETY: promised by our caller: handles are words.
        unsafe { array.add(index).read_unaligned() }
    }

    /// Whether the program does not want the status, if that can be told.
    pub(crate) fn ignores_status(&self, world: World, number: u8) -> Option<bool> {
        let word = self.word(number);
        match self.is_fortran() {
            true => Some(world.status_ignored_in_fortran()?.contains(&word)),
            false => Some(word == world.status_ignore()),
        }
    }

    /// Source and tag in a status that the function has filled in; nothing if it may have been told
    /// not to.
    ///
    /// # Safety
    /// The function has an argument of that number: a status or an array with so many of them.
    pub(crate) unsafe fn status(
        &self,
        world: World,
        number: u8,
        index: usize,
    ) -> Option<(c_int, c_int)> {
        if self.ignores_status(world, number)? {
            return None;
        }
        let first = index * world.status_length() + world.source_in_status();
        // SAFETY: promised by our caller.
        let source = unsafe { self.integer_at(number, first) };
        // SAFETY: likewise.
        let tag = unsafe { self.integer_at(number, first + 1) };
        Some((source, tag))
    }
}
