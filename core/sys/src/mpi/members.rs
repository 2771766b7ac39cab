//! Which processes a communicator has.

use super::behind::Behind;
use super::world::World;
use std::ffi::{c_int, c_void};

/// The members of a communicator, in its order, by their numbers in `MPI_COMM_WORLD`. Nothing if
/// MPI fails or one of them is not in that.
///
/// # Safety
/// The word is a communicator of the program that is valid, in C.
#[must_use]
pub unsafe fn members(world: World, communicator: usize) -> Option<Vec<u32>> {
    // SAFETY: promised by our caller.
    let group = unsafe { Group::of(communicator) }?;
    // SAFETY: it is valid as long as MPI runs, as it does for our caller.
    let all = unsafe { Group::of(world.in_c) }?;
    group.numbers_in(&all)
}

/// Turns a communicator of Fortran into one of C.
///
/// # Safety
/// MPI runs, and the number is a communicator of the program that is valid.
#[must_use]
pub unsafe fn from_fortran(world: World, number: c_int) -> usize {
    static TO_C: Behind = Behind::new(c"PMPI_Comm_f2c");
    let known = number as u32 as usize;
    if world.has_integers() || TO_C.address().is_null() {
        return known;
    }
    // SAFETY: MPI's function of this name takes a number and gives a word.
    let convert = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> usize>(TO_C.address())
    };
    // SAFETY: promised by our caller.
    unsafe { convert(number) }
}

/// A group of processes, freed when it is dropped.
struct Group(usize);

impl Group {
    /// # Safety
    /// The word is a valid communicator.
    unsafe fn of(communicator: usize) -> Option<Self> {
        static ASK: Behind = Behind::new(c"PMPI_Comm_group");
        let mut group = 0_usize;
        // SAFETY: the function has these arguments; a group is a word or its lower half.
        let done = unsafe { call(&ASK, [communicator, (&raw mut group).expose_provenance()]) };
        done.then_some(Self(group))
    }

    fn size(&self) -> Option<usize> {
        static ASK: Behind = Behind::new(c"PMPI_Group_size");
        let mut size: c_int = 0;
        // SAFETY: the function has these arguments, and the group is valid.
        let done = unsafe { call(&ASK, [self.0, (&raw mut size).expose_provenance()]) };
        usize::try_from(size).ok().filter(|_| done)
    }

    /// The number of each member in another group.
    fn numbers_in(&self, other: &Self) -> Option<Vec<u32>> {
        static ASK: Behind = Behind::new(c"PMPI_Group_translate_ranks");
        let size = self.size()?;
        let own: Vec<c_int> = (0..c_int::try_from(size).ok()?).collect();
        let mut theirs: Vec<c_int> = vec![-1; size];
        let words = [
            self.0,
            size,
            own.as_ptr().expose_provenance(),
            other.0,
            theirs.as_mut_ptr().expose_provenance(),
        ];
        // SAFETY: the function has these arguments, the groups are valid, and the arrays have as
        // many elements as is said.
        let done = unsafe { call(&ASK, words) };
        let numbers = theirs.into_iter().map(|one| u32::try_from(one).ok());
        numbers.collect::<Option<Vec<u32>>>().filter(|_| done)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        static FREE: Behind = Behind::new(c"PMPI_Group_free");
        // SAFETY: the function takes where a group is, and this one is not used any more.
        unsafe { call(&FREE, [(&raw mut self.0).expose_provenance()]) };
    }
}

/// Calls one of MPI's functions; says whether it succeeded.
///
/// # Safety
/// These are the function's arguments.
unsafe fn call<const COUNT: usize>(function: &Behind, words: [usize; COUNT]) -> bool {
    let mut all = [0; 13];
    all[..COUNT].copy_from_slice(&words);
    // SAFETY: promised by our caller.
    let error = unsafe { function.call(all) };
    // What is returned is an `int`.
    error as u32 == 0
}
