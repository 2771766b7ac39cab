//! Accesses that the program was not permitted.

use super::{Node, lock};
use crate::activity::Activity;
use crate::engine::NodeError;
use crate::layout::Layout;
use crate::memory::memory;
use fathomp_omp::interposer::{self, Called};
use fathomp_protocols::Access;
use fathomp_sys::cluster::deferral;
use fathomp_sys::cluster::pages::Permission;
use fathomp_sys::signal_chain::Interruption;
use fathomp_sys::signal_safe_print;
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What is wrong about an access that is not served.
enum Wrong {
    /// It is to the page below a stack of that node's.
    Overflow(NodeId),
    /// To memory that nodes do not share, from this one.
    Stray(NodeId),
    /// To that node's part of the heap, where there never was a block.
    Behind(NodeId),
    /// To a page that could not be had.
    Lost,
}

/// What an access to the heap finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Nothing was ever allocated there.
    Behind,
    /// That part has grown, and is open now.
    Opened,
    /// It is open, or no part of the heap.
    Open,
}

/// As the end of a sentence.
impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow(node) => write!(
                f,
                "which is in the page that catches overflows of a stack of node {node}'s"
            ),
            Self::Stray(NodeId(0)) => f.write_str("which is nobody's"),
            // What works in one process may fail on another node than 0: what the program does
            // there with a library's or a thread's own memory.
            Self::Stray(_) => f.write_str(
                "which is nobody's or node 0's alone: nodes do not share what belongs to \
                 libraries, to threads that the program starts by itself, or to mmap",
            ),
            Self::Behind(node) => {
                write!(f, "which is behind all that node {node} has ever allocated")
            }
            Self::Lost => f.write_str("which cannot be had any more"),
        }
    }
}

impl Node {
    /// Serves an access to so many bytes from `address` on that the program was not permitted,
    /// by the instruction at that address. `false` if it never will be.
    pub fn serve_fault(
        &self,
        address: usize,
        bytes: usize,
        write: bool,
        instruction: usize,
    ) -> bool {
        let page = self.pages.page_of(address);
        let Some(page) = page.filter(|_| !self.layout.is_guard(address)) else {
            return false;
        };
        match self.reach(address) {
            Reach::Behind => return false,
            Reach::Opened => return true,
            Reach::Open => {}
        }
        let served = self.pages.serve(page, write).map_err(NodeError::Permit);
        if self.must(served) {
            return true;
        }
        if self.ended.load(Ordering::Relaxed) {
            return self.pages.permit(page, 1, Permission::ReadWrite).is_ok();
        }
        self.note_access(write, address, instruction);
        let at = address % PAGE_BYTES;
        let access = if write { Access::Write } else { Access::Read };
        self.fetch(page, access, &(at..at.saturating_add(bytes)));
        true
    }

    /// Whether a thread that would read memory at an address to guess what it changes there need
    /// not wait for that: the change is going to be [postponed](fathomp_protocols::Input::Postpone).
    /// Not where accesses are observed, of which this is one.
    pub fn needs_no_guess(&self, address: usize) -> bool {
        if self.observer().is_some() {
            return false;
        }
        let page = self.pages.page_of(address);
        let page = page.filter(|_| !self.layout.is_guard(address));
        page.is_some_and(|page| lock(&self.engine).batches_atomics(page))
    }

    /// Serves an access to memory that is closed, where that raises a signal of its own. `false`
    /// if it never will be.
    pub fn serve_closed(&self, address: usize, instruction: usize) -> bool {
        let heap = memory().is_some_and(|memory| memory.contains(address));
        // What is open is so since another thread came. Instructions are never to be had there.
        heap && address != instruction && self.reach(address) != Reach::Behind
    }

    /// Opens a node's part of the heap as far as that node has used it, if an access there is
    /// about that.
    fn reach(&self, address: usize) -> Reach {
        let Some(memory) = memory().filter(|memory| memory.contains(address)) else {
            return Reach::Open;
        };
        let end = memory.end_of(Layout::owner_of(address));
        if address >= end {
            return Reach::Behind;
        }
        let opened = self.pages.open(end).map_err(NodeError::Permit);
        match self.must(opened) {
            true => Reach::Opened,
            false => Reach::Open,
        }
    }

    /// Blocks were allocated here behind what was open of this node's part of the heap, which
    /// is to be open to `end`.
    #[cold]
    pub(crate) fn open_own_heap(&self, end: usize) {
        let _inside = deferral::enter();
        let opened = self.pages.open(end).map_err(NodeError::Permit);
        self.must(opened);
        if let Some(memory) = memory() {
            memory.opened(end);
        }
    }

    /// An access was not served, and the program does not handle its signal either, which ends
    /// the process: says which one it was. Anything may have been interrupted, so nothing is
    /// allocated and no lock taken.
    pub fn say_unserved(&self, fault: &Interruption<'_>) {
        let address = fault.address();
        let wrong = match self.pages.page_of(address) {
            None => Wrong::Stray(self.me()),
            Some(_) if self.layout.is_guard(address) => {
                Wrong::Overflow(self.layout.owner_of_stack(address))
            }
            Some(_) => {
                let owner = Layout::owner_of(address);
                let heap = memory().filter(|memory| memory.contains(address));
                match heap.is_some_and(|heap| address >= heap.end_of(owner)) {
                    true => Wrong::Behind(owner),
                    false => Wrong::Lost,
                }
            }
        };
        let thread = match self.layout.stacks().contains(&fault.stack()) {
            true => "a thread of the program",
            false => "another thread than those of OpenMP",
        };
        let verb = if fault.is_write() { "writes" } else { "reads" };
        signal_safe_print::say_at_once(format_args!(
            "fathomp: node {}: {thread} {verb} address {address:#x} by the instruction at {:#x}, \
             {wrong}",
            self.me(),
            fault.instruction(),
        ));
    }

    fn fetch(&self, page: PageId, access: Access, bytes: &Range<usize>) {
        let since = self.enter();
        if self.traps_again(page) {
            return;
        }
        let _told = interposer::communicate(match access {
            Access::Read => Called::FetchFault,
            Access::Write => Called::WriteFault,
        });
        let before = self.begin_activity(Activity::Fetch);
        self.ask(|thread| {
            let asked = lock(&self.engine).fault(&self.host(), thread, page, access, bytes);
            self.must(asked)
        });
        self.set_activity(before);
        let _inside = deferral::enter();
        if let Some((thread, _)) = self.slots.mine() {
            let locked = before == Activity::HoldLock;
            self.profile.end_fault(thread, since, locked);
        }
        self.go_on_there();
    }

    /// Makes sure that the kernel can read or write a range of memory for the
    /// program.
    pub fn touch(&self, address: usize, bytes: usize, write: bool) {
        if bytes > 0 {
            let end = address.saturating_add(bytes);
            // The kernel is told of more than there is, as a rule because it will use less.
            let heap = memory().filter(|memory| memory.contains(address));
            let end = heap.map_or(end, |heap| end.min(heap.end_of(Layout::owner_of(address))));
            self.lend(address..end, write);
            self.pages.touch(address..end, write);
        }
    }
}
