//! The program's heap: blocks that all nodes see, each from its own node's
//! part of the address range, with the books kept in private memory.
//!
//! Memory that the C library allocates for itself stays private. Who asks is
//! told by the address to which `malloc` returns.

use crate::layout::Layout;
use fathomp_base::NodeId;
use fathomp_heap::Heap;
use fathomp_sys::cluster::{deferral, image, pages};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Libraries whose allocations stay private: the C library and the loader.
const PRIVATE: [&str; 2] = ["libc.so", "ld-linux"];

/// The shared heap of this process.
pub(crate) struct Memory {
    nodes: u16,
    private: Vec<Range<usize>>,
    /// The tap, which records paging, stands in front of the C library as we do, and has no
    /// part in what nodes share.
    tap: Vec<Range<usize>>,
    /// What this node allocates, and who it is.
    own: Mutex<(NodeId, Heap)>,
    /// End of the addresses that have ever been allocated here.
    used_end: AtomicUsize,
}

static MEMORY: OnceLock<Memory> = OnceLock::new();

/// The shared heap, if this process is or will be a node.
#[inline]
pub(crate) fn memory() -> Option<&'static Memory> {
    MEMORY.get()
}

/// Makes the shared heap. From now on the program's blocks come from there. `tap` is an address
/// in the code of the tap, 0 if none is loaded.
///
/// # Errors
/// If the address range is taken.
pub(crate) fn set_up(nodes: u16, tap: usize) -> io::Result<&'static Memory> {
    pages::reserve(&Layout::heap(nodes))?;
    let me = NodeId(0);
    let memory = Memory {
        nodes,
        private: image::modules_named(&PRIVATE, set_up as *const () as usize),
        tap: image::modules_named(&[], tap),
        own: Mutex::new((me, heap_of(me))),
        used_end: AtomicUsize::new(0),
    };
    Ok(MEMORY.get_or_init(|| memory))
}

fn heap_of(node: NodeId) -> Heap {
    let range = Layout::heap_of(node);
    Heap::new(range.start, range.len())
}

impl Memory {
    /// Not to be interrupted by a handler: it might wait for a page, and
    /// meanwhile serve others who give blocks back.
    fn with_own<R>(&self, use_it: impl FnOnce(&mut (NodeId, Heap)) -> R) -> R {
        let _inside = deferral::enter();
        use_it(&mut self.own.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// This process is that node from now on.
    pub(crate) fn become_node(&self, node: NodeId) {
        if node != NodeId(0) {
            self.with_own(|own| *own = (node, heap_of(node)));
        }
    }

    /// A number that is the same in processes that have allocated the same blocks.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.with_own(|own| own.1.fingerprint())
    }

    /// Whether code at that address gets private memory.
    #[inline]
    pub(crate) fn is_private(&self, caller: usize) -> bool {
        let mut all = self.private.iter().chain(&self.tap);
        all.any(|range| range.contains(&caller))
    }

    /// Whether code at that address is the tap's, which passes on what others ask for.
    pub(crate) fn is_taps(&self, caller: usize) -> bool {
        self.tap.iter().any(|range| range.contains(&caller))
    }

    /// Whether a block is one of the shared heap.
    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        Layout::heap(self.nodes).contains(&address)
    }

    /// End of the addresses that have ever been allocated here.
    pub(crate) fn used_end(&self) -> usize {
        self.used_end.load(Ordering::Relaxed)
    }

    /// A block of this node.
    pub(crate) fn allocate(&self, bytes: usize, align: usize) -> Option<usize> {
        let address = self.with_own(|own| own.1.allocate(bytes, align))?;
        let end = address.saturating_add(bytes);
        self.used_end.fetch_max(end, Ordering::Relaxed);
        Some(address)
    }

    /// Frees a block of this node; `false` if there is no such block. The
    /// owner is told if it is another node.
    pub(crate) fn release(&self, address: usize) -> Released {
        self.with_own(|own| match Layout::owner_of(address) {
            owner if owner == own.0 => Released::Here(own.1.release(address).is_ok()),
            owner => Released::Elsewhere(owner),
        })
    }

    /// Size of a block of this node, or whose it is.
    pub(crate) fn size_of(&self, address: usize) -> Result<Option<usize>, NodeId> {
        self.with_own(|own| match Layout::owner_of(address) {
            owner if owner == own.0 => Ok(own.1.size_of(address)),
            owner => Err(owner),
        })
    }
}

/// What became of a block that was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// It was a block of this node (`true`), or none at all.
    Here(bool),
    /// It belongs to that node.
    Elsewhere(NodeId),
}
