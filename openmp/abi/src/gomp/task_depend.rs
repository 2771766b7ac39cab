//! The array that describes `depend` clauses.
//!
//! Two layouts, told apart by the first word:
//!
//! | word | old layout          | new layout                 |
//! |------|---------------------|----------------------------|
//! | 0    | items, not 0        | 0                          |
//! | 1    | `out` and `inout`   | items                      |
//! | 2    | first address       | `out` and `inout`          |
//! | 3    |                     | `mutexinoutset`            |
//! | 4    |                     | `in`                       |
//! | 5    |                     | first address              |
//!
//! Addresses come in the order of the counts; what remains is `in` in the old
//! layout and, in the new one, addresses of depend objects: two words each,
//! the list item's address and a number for the kind of dependence. That all
//! memory is written (`omp_all_memory`, gcc 13) is said with the address 0.

use fathomp_omp::task::{ALL_MEMORY, Access, Dependence};
use std::ffi::c_void;

/// Kinds in depend objects.
const IN: usize = 1;
const OUT: usize = 2;
const MUTEXINOUTSET: usize = 4;
const INOUTSET: usize = 5;

/// Items for which no memory is allocated.
const FEW: usize = 8;

/// Calls `use_it` with the dependences that `array` describes.
///
/// # Safety
/// `array` is such an array, complete and readable, or null.
pub(super) unsafe fn with_dependences<R>(
    array: *const *const c_void,
    use_it: impl FnOnce(&[Dependence]) -> R,
) -> R {
    if array.is_null() {
        return use_it(&[]);
    }
    // SAFETY: inside the array for every index used below, as the layout says.
    let word = |index: usize| unsafe { array.add(index).read() };
    let (first, items, writers, alone, readers) = match word(0) as usize {
        0 => {
            let writers = word(2) as usize;
            let alone = writers + word(3) as usize;
            (5, word(1) as usize, writers, alone, word(4) as usize)
        }
        items => {
            let out = word(1) as usize;
            (2, items, out, out, items.saturating_sub(out))
        }
    };
    let read = |index: usize| {
        let item = word(first + index);
        if index < writers {
            // The array does not say which of them are `out`.
            dependence(item as usize, Access::InOut)
        } else if index < alone {
            dependence(item as usize, Access::MutexInOutSet)
        } else if index < alone + readers {
            dependence(item as usize, Access::In)
        } else {
            // SAFETY: the rest are addresses of depend objects.
            unsafe { read_object(item.cast()) }
        }
    };
    if items <= FEW {
        let mut few = [dependence(0, Access::In); FEW];
        for (index, place) in few[..items].iter_mut().enumerate() {
            *place = read(index);
        }
        use_it(&few[..items])
    } else {
        use_it(&(0..items).map(read).collect::<Vec<_>>())
    }
}

/// # Safety
/// `object` points to an initialised `omp_depend_t`.
unsafe fn read_object(object: *const usize) -> Dependence {
    // SAFETY: promised by our caller; two words.
    let (address, kind) = unsafe { (object.read(), object.add(1).read()) };
    let access = match kind {
        IN => Access::In,
        OUT => Access::Out,
        MUTEXINOUTSET => Access::MutexInOutSet,
        INOUTSET => Access::InOutSet,
        _ => Access::InOut,
    };
    dependence(address, access)
}

fn dependence(address: usize, access: Access) -> Dependence {
    let address = match (address, access) {
        (0, Access::Out | Access::InOut) => ALL_MEMORY,
        _ => address,
    };
    Dependence { address, access }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[usize]) -> Vec<(usize, Access)> {
        let list = |found: &[Dependence]| {
            let pair = |item: &Dependence| (item.address, item.access);
            found.iter().map(pair).collect()
        };
        // SAFETY: the tests pass complete arrays.
        unsafe { with_dependences(words.as_ptr().cast(), list) }
    }

    #[test]
    fn the_old_layout_has_writers_then_readers() {
        let found = read_words(&[3, 1, 100, 200, 300]);
        let expected = [(100, Access::InOut), (200, Access::In), (300, Access::In)];
        assert_eq!(found, expected);
    }

    #[test]
    fn many_items_are_read_as_few_are() {
        let words: Vec<usize> = [20, 5].into_iter().chain(100..120).collect();
        let found = read_words(&words);
        assert_eq!(found.len(), 20);
        assert_eq!(found[4], (104, Access::InOut));
        assert_eq!(found[5], (105, Access::In));
    }

    #[test]
    fn the_new_layout_ends_with_objects() {
        let objects = [[40_usize, IN], [50, 3], [60, INOUTSET]];
        let address = |index: usize| objects[index].as_ptr() as usize;
        let words = [
            0,
            6,
            1,
            1,
            1,
            100,
            200,
            300,
            address(0),
            address(1),
            address(2),
        ];
        let expected = [
            (100, Access::InOut),
            (200, Access::MutexInOutSet),
            (300, Access::In),
            (40, Access::In),
            (50, Access::InOut),
            (60, Access::InOutSet),
        ];
        assert_eq!(read_words(&words), expected);
    }

    #[test]
    fn all_memory_is_written_at_no_address() {
        let found = read_words(&[0, 3, 1, 0, 2, 0, 100, 0]);
        let expected = [
            (ALL_MEMORY, Access::InOut),
            (100, Access::In),
            (0, Access::In),
        ];
        assert_eq!(found, expected);
    }
}
