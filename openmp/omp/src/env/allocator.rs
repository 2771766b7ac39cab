//! `OMP_ALLOCATOR`: the name of a predefined allocator, or a memory space with
//! traits to build one from.

use super::value::{boolean, non_negative, one_of, positive};

/// What `OMP_ALLOCATOR` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocatorChoice {
    /// A predefined allocator, by its number in `omp_allocator_handle_t`.
    Predefined(usize),
    /// An allocator of its own.
    Custom {
        /// Number in `omp_memspace_handle_t`.
        memspace: usize,
        /// Pairs of `omp_alloctrait_key_t` and value.
        traits: Vec<(i32, usize)>,
    },
}

/// Handle of the allocator that `OMP_ALLOCATOR` describes by traits. It
/// follows the predefined ones.
pub const ENVIRONMENT_ALLOCATOR: usize = 9;

impl AllocatorChoice {
    /// Initial value of `def-allocator-var`.
    #[must_use]
    pub const fn handle(&self) -> usize {
        match self {
            Self::Predefined(handle) => *handle,
            Self::Custom { .. } => ENVIRONMENT_ALLOCATOR,
        }
    }
}

/// Names of the predefined allocators, in the order of their handles, from 1.
pub(crate) const PREDEFINED: [&str; 8] = [
    "omp_default_mem_alloc",
    "omp_large_cap_mem_alloc",
    "omp_const_mem_alloc",
    "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc",
    "omp_cgroup_mem_alloc",
    "omp_pteam_mem_alloc",
    "omp_thread_mem_alloc",
];

/// libgomp's own allocator of memory that stays where it is.
pub(crate) const GNU_PINNED: &str = "ompx_gnu_pinned_mem_alloc";
/// Its handle.
pub const GNU_PINNED_ALLOCATOR: usize = 200;

/// Names of the memory spaces, in the order of their handles, from 0.
pub(crate) const MEMSPACES: [&str; 5] = [
    "omp_default_mem_space",
    "omp_large_cap_mem_space",
    "omp_const_mem_space",
    "omp_high_bw_mem_space",
    "omp_low_lat_mem_space",
];

fn index_of(names: &[&str], text: &str) -> Option<usize> {
    let text = text.trim();
    names
        .iter()
        .position(|name| text.eq_ignore_ascii_case(name))
}

/// The whole value.
pub(super) fn allocator(text: &str) -> Option<AllocatorChoice> {
    if let Some(index) = index_of(&PREDEFINED, text) {
        return Some(AllocatorChoice::Predefined(index + 1));
    }
    if index_of(&[GNU_PINNED], text).is_some() {
        return Some(AllocatorChoice::Predefined(GNU_PINNED_ALLOCATOR));
    }
    let (memspace, traits) = match text.split_once(':') {
        Some((memspace, traits)) => (memspace, Some(traits)),
        None => (text, None),
    };
    let memspace = index_of(&MEMSPACES, memspace)?;
    let Some(traits) = traits else {
        // Without traits it is the one that is predefined for the space.
        return Some(AllocatorChoice::Predefined(memspace + 1));
    };
    let traits = traits.split(',').map(one_trait).collect::<Option<_>>()?;
    Some(AllocatorChoice::Custom { memspace, traits })
}

/// `key=value`, as numbers of the API.
fn one_trait(text: &str) -> Option<(i32, usize)> {
    let (key, value) = text.split_once('=')?;
    let key = one_of(
        key,
        &[
            ("sync_hint", 1),
            ("alignment", 2),
            ("access", 3),
            ("pool_size", 4),
            ("fallback", 5),
            ("fb_data", 6),
            ("pinned", 7),
            ("partition", 8),
        ],
    )?;
    let value = match key {
        1 => one_of(
            value,
            &[
                ("contended", 3),
                ("uncontended", 4),
                ("serialized", 5),
                ("private", 6),
            ],
        )?,
        2 => positive(value).filter(|v| v.is_power_of_two())? as usize,
        3 => one_of(
            value,
            &[("all", 7), ("thread", 8), ("pteam", 9), ("cgroup", 10)],
        )?,
        4 => value.trim().parse().ok().filter(|&bytes| bytes > 0)?,
        5 => one_of(
            value,
            &[
                ("default_mem_fb", 11),
                ("null_fb", 12),
                ("abort_fb", 13),
                ("allocator_fb", 14),
            ],
        )?,
        6 => index_of(&PREDEFINED, value)
            .map(|index| index + 1)
            .or_else(|| {
                non_negative(value)
                    .map(|number| number as usize)
                    .filter(|number| (1..=PREDEFINED.len()).contains(number))
            })?,
        7 => usize::from(boolean(value)?),
        _ => one_of(
            value,
            &[
                ("environment", 15),
                ("nearest", 16),
                ("blocked", 17),
                ("interleaved", 18),
            ],
        )?,
    };
    Some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_spaces_with_traits() {
        assert_eq!(
            allocator(" OMP_high_bw_mem_alloc "),
            Some(AllocatorChoice::Predefined(4))
        );
        assert_eq!(
            allocator("omp_large_cap_mem_space : alignment=16, pinned = true,fallback=null_fb"),
            Some(AllocatorChoice::Custom {
                memspace: 1,
                traits: vec![(2, 16), (7, 1), (5, 12)],
            })
        );
        assert_eq!(
            allocator("omp_default_mem_space:pinned=false").map(|choice| choice.handle()),
            Some(ENVIRONMENT_ALLOCATOR)
        );
        assert_eq!(
            allocator("omp_const_mem_space"),
            Some(AllocatorChoice::Predefined(3))
        );
        for bad in [
            "",
            "malloc",
            "omp_default_mem_space:",
            "omp_default_mem_space:alignment=3",
            "omp_default_mem_space:pinned",
            "omp_default_mem_alloc:pinned=true",
        ] {
            assert_eq!(allocator(bad), None, "{bad:?}");
        }
    }
}
