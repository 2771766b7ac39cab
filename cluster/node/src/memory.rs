//! The program's heap: blocks that all nodes see, each from its own node's
//! part of the address range, with the books kept in private memory.
//!
//! How far each node's part is used all nodes of a machine see, so that nobody gets at what lies
//! behind. Parts of other hosts' nodes are open to their ends.
//!
//! Memory that the C library allocates for itself stays private. Who asks is
//! told by the address to which `malloc` returns.

use crate::layout::Layout;
use fathomp_heap::Heap;
use fathomp_sys::cluster::{deferral, image, pages};
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use fathomp_types::NodeId;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Libraries whose allocations stay private: the loader and the C library, which was in several
/// files before glibc 2.34.
const PRIVATE: [&str; 5] = [
    "ld-linux",
    "libc.so",
    "libdl.so",
    "libpthread.so",
    "librt.so",
];

/// The shared heap of this process.
pub(crate) struct Memory {
    nodes: u16,
    private: Vec<Range<usize>>,
    /// The interposer, which records paging, stands in front of the C library as we do, and has no
    /// part in what nodes share.
    interposer: Vec<Range<usize>>,
    /// What this node allocates, and who it is.
    own: Mutex<(NodeId, Heap)>,
    /// End of the addresses that have ever been allocated, by node; 0 if none were. Of all
    /// nodes, which are forked afterwards.
    used_ends: SharedMemory,
    /// To where this node's part is open to its program.
    open_end: AtomicUsize,
    /// The nodes of this host, once there are others.
    near: OnceLock<Range<u16>>,
}

static MEMORY: OnceLock<Memory> = OnceLock::new();

/// The shared heap, if this process is or will be a node.
#[inline]
pub(crate) fn memory() -> Option<&'static Memory> {
    MEMORY.get()
}

/// Makes the shared heap. From now on the program's blocks come from there. `interposer` is an address
/// in the code of the interposer, 0 if none is loaded.
///
/// # Errors
/// If the address range is taken.
pub(crate) fn set_up(nodes: u16, interposer: usize) -> io::Result<&'static Memory> {
    pages::reserve(&Layout::heap(nodes))?;
    let me = NodeId(0);
    let memory = Memory {
        nodes,
        private: image::modules_named(&PRIVATE, set_up as *const () as usize),
        interposer: image::modules_named(&[], interposer),
        own: Mutex::new((me, heap_of(me))),
        used_ends: SharedMemory::new(Sections {
            halves: 0,
            words: nodes.into(),
            bytes: 0,
        })?,
        open_end: AtomicUsize::new(0),
        near: OnceLock::new(),
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
        let mut all = self.private.iter().chain(&self.interposer);
        all.any(|range| range.contains(&caller))
    }

    /// Whether code at that address is the interposer's, which passes on what others ask for.
    pub(crate) fn is_of_interposer(&self, caller: usize) -> bool {
        self.interposer.iter().any(|range| range.contains(&caller))
    }

    /// Whether a block is one of the shared heap.
    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        Layout::heap(self.nodes).contains(&address)
    }

    /// End of the addresses that a node has ever allocated, 0 if there are none.
    pub(crate) fn used_end(&self, node: NodeId) -> usize {
        let end = self.used_ends.words().get(usize::from(node.0));
        let end = end.map_or(0, |end| end.load(Ordering::Acquire));
        usize::try_from(end).unwrap_or(0)
    }

    /// Only these nodes are of this machine: how far others have come it does not see.
    pub(crate) fn share_with(&self, near: Range<u16>) {
        let _ = self.near.set(near);
    }

    /// To where a node's part is for programs to use.
    pub(crate) fn end_of(&self, node: NodeId) -> usize {
        if self.near.get().is_some_and(|near| !near.contains(&node.0)) {
            return Layout::heap_of(node).end;
        }
        Layout::heap_open(&Layout::heap_of(node), self.used_end(node))
    }

    /// To where this node's part has to be opened, since blocks were allocated behind what is
    /// open.
    #[inline]
    pub(crate) fn outgrown(&self, block: usize, bytes: usize) -> Option<usize> {
        let open = self.open_end.load(Ordering::Acquire);
        (block.saturating_add(bytes) > open).then(|| self.end_of(Layout::owner_of(block)))
    }

    /// This node's part is open to there.
    pub(crate) fn opened(&self, end: usize) {
        self.open_end.fetch_max(end, Ordering::Release);
    }

    /// A block of this node.
    pub(crate) fn allocate(&self, bytes: usize, align: usize) -> Option<usize> {
        self.with_own(|(node, heap)| {
            let address = heap.allocate(bytes, align)?;
            let end = heap.used_end() as u64;
            let known = self.used_ends.words().get(usize::from(node.0));
            if let Some(known) = known.filter(|known| known.load(Ordering::Relaxed) != end) {
                known.store(end, Ordering::Release);
            }
            Some(address)
        })
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
