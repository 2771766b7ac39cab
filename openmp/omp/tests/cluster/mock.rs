//! Nodes as forked processes. What a cluster's provider does by messages is
//! done here by words in a mapping that all of them inherit, and the program's
//! data lie in that mapping, too: nothing else is shared, so a runtime that
//! relied on anything else would fail the tests.

use fathomp_omp::cluster::{Cell, Cluster, Dealt, Left, PartedLoop, dismiss, install, serve};
use fathomp_types::SiteId;
use std::cell::Cell as OwnCell;
use std::ffi::CString;
use std::sync::Once;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst,
};
use std::time::{Duration, Instant};
use std::{io, ptr, thread};

const NODES_MAX: usize = 8;
const PAIRS: usize = 1 << 14;
const WORDS: usize = 1 << 16;

/// What all nodes see. All zero at first.
#[repr(C)]
struct Shared {
    arrived: AtomicU64,
    generation: AtomicU64,
    words: [AtomicU64; 2],
    inside: [AtomicBool; NODES_MAX],
    order: [AtomicU64; 64],
    order_bytes: AtomicU64,
    guard: AtomicBool,
    cancelled: AtomicU64,
    cells: [[AtomicU64; 2]; PAIRS],
    locks: [[AtomicU64; 2]; PAIRS],
    messages: AtomicU64,
    heap_next: AtomicUsize,
    heap: [AtomicU64; WORDS],
    /// For the program under test.
    data: [AtomicU64; WORDS],
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// The data of the program that this node runs.
pub(crate) fn data() -> &'static [AtomicU64] {
    // SAFETY: set from a reference that lives for ever, before the program.
    unsafe { &(*SHARED.load(SeqCst)).data }
}

/// Says why and ends the process; its parent does the rest.
pub(crate) fn fail(reason: &str) -> ! {
    let line = format!("{reason}\n");
    // SAFETY: writes bytes of a living string; `_exit` runs no handlers that
    // the fork has copied.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len());
        libc::_exit(1)
    }
}

/// Returns when `ready` says so.
fn poll(mut ready: impl FnMut() -> bool) {
    for polls in 0_u64.. {
        if ready() {
            return;
        }
        if polls < 200 {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

thread_local! {
    static SEED: OwnCell<u64> = const { OwnCell::new(0) };
}

/// Now and then a little delay, so that nodes and threads overtake each other.
fn dawdle() {
    SEED.with(|seed| {
        let mut value = seed.get() | 1;
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        seed.set(value);
        match value % 32 {
            0 => thread::sleep(Duration::from_micros(value >> 8 & 127)),
            1..4 => thread::yield_now(),
            _ => {}
        }
    });
}

impl Shared {
    fn new() -> &'static Self {
        // SAFETY: a fresh mapping of zeroes, which is a valid `Shared` (atomics
        // and arrays of them only), aligned to a page and never unmapped.
        unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                size_of::<Self>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            assert!(memory != libc::MAP_FAILED);
            &*memory.cast::<Self>()
        }
    }

    /// Runs `use_it` while no other node looks at the tables.
    fn alone<R>(&self, use_it: impl FnOnce() -> R) -> R {
        dawdle();
        self.messages.fetch_add(1, SeqCst);
        poll(|| !self.guard.swap(true, SeqCst));
        let result = use_it();
        self.guard.store(false, SeqCst);
        result
    }
}

/// The value of a key in a table, which is entered if it is new.
fn entry(table: &[[AtomicU64; 2]; PAIRS], key: u64) -> &AtomicU64 {
    let key = key.wrapping_add(1);
    let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    for step in 0..PAIRS {
        let [found, value] = &table[(start + step) % PAIRS];
        if found.load(SeqCst) == 0 {
            found.store(key, SeqCst);
        }
        if found.load(SeqCst) == key {
            return value;
        }
    }
    fail("the mock cluster's table is full")
}

pub(crate) struct Mock {
    node: u32,
    nodes: u32,
    threads: u32,
    shared: &'static Shared,
    passed: AtomicU64,
}

impl Mock {
    /// Messages sent so far, more or less.
    pub(crate) fn messages(&self) -> u64 {
        self.shared.messages.load(SeqCst)
    }
}

impl Cluster for Mock {
    fn node(&self) -> u32 {
        self.node
    }

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn threads_per_node(&self) -> u32 {
        self.threads
    }

    fn processors(&self) -> u32 {
        1
    }

    fn reaches(&self, _code: usize, _stack: usize) -> bool {
        true
    }

    fn cancel(&self, region: u64) {
        self.shared.cancelled.fetch_max(region, SeqCst);
    }

    fn cancelled(&self) -> u64 {
        self.shared.cancelled.load(SeqCst)
    }

    fn barrier(&self, word: u64) -> u64 {
        dawdle();
        let shared = self.shared;
        if shared.inside[self.node as usize].swap(true, SeqCst) {
            fail("two threads of a node came to a barrier");
        }
        let generation = shared.generation.load(SeqCst);
        let parity = (generation % 2) as usize;
        shared.words[parity].fetch_or(word, SeqCst);
        if shared.arrived.fetch_add(1, SeqCst) + 1 == u64::from(self.nodes) {
            shared.arrived.store(0, SeqCst);
            shared.words[1 - parity].store(0, SeqCst);
            for [key, value] in &shared.cells {
                if key.load(SeqCst) != 0 {
                    key.store(0, SeqCst);
                    value.store(0, SeqCst);
                }
            }
            for inside in &shared.inside {
                inside.store(false, SeqCst);
            }
            shared.generation.store(generation + 1, SeqCst);
        } else {
            poll(|| shared.generation.load(SeqCst) != generation);
        }
        self.passed.store(generation + 1, SeqCst);
        shared.words[parity].load(SeqCst)
    }

    fn fork(&self, order: &[u8], _site: SiteId) {
        if self.node != 0 {
            fail("only node 0 gives orders");
        }
        let (words, rest) = order.as_chunks::<8>();
        assert!(rest.is_empty());
        for (place, word) in self.shared.order.iter().zip(words) {
            place.store(u64::from_le_bytes(*word), SeqCst);
        }
        // The generation that the next barrier makes.
        let generation = self.shared.generation.load(SeqCst) + 1;
        let bytes = order.len() as u64;
        self.shared
            .order_bytes
            .store(generation << 32 | bytes, SeqCst);
    }

    fn next_order(&self) -> Option<Vec<u8>> {
        let bytes = self.shared.order_bytes.load(SeqCst);
        if bytes >> 32 != self.passed.load(SeqCst) {
            return None;
        }
        let words = (bytes as u32 / 8) as usize;
        let order = self.shared.order[..words].iter();
        Some(
            order
                .flat_map(|word| word.load(SeqCst).to_le_bytes())
                .collect(),
        )
    }

    fn acquire(&self, lock: u64) {
        poll(|| self.try_acquire(lock));
    }

    fn try_acquire(&self, lock: u64) -> bool {
        self.shared.alone(|| {
            let holder = entry(&self.shared.locks, lock);
            let free = holder.load(SeqCst) == 0;
            if free {
                holder.store(u64::from(self.node) + 1, SeqCst);
            }
            free
        })
    }

    fn release(&self, lock: u64) {
        self.shared.alone(|| {
            let holder = entry(&self.shared.locks, lock);
            if holder.swap(0, SeqCst) != u64::from(self.node) + 1 {
                fail("a node gave back a lock that it did not hold");
            }
        });
    }

    fn add(&self, cell: Cell, amount: u64) -> u64 {
        let shared = self.shared;
        shared.alone(|| entry(&shared.cells, cell.0).fetch_add(amount, SeqCst))
    }

    fn deal(&self, cell: Cell, parted: PartedLoop, most: u64) -> Dealt {
        if !parted.is_possible(self.nodes) {
            fail("a loop that cannot be");
        }
        let shared = self.shared;
        shared.alone(|| {
            // What was asked so far; from that follows what is left.
            let mut left = Left::of(parted);
            let asked = entry(&shared.cells, cell.0);
            let request = |number: u64| entry(&shared.cells, cell.0 ^ (number + 1) << 40 ^ 1 << 62);
            for number in 0..asked.load(SeqCst) {
                let before = request(number).load(SeqCst);
                left.deal((before & 0xff) as u32, before >> 8);
            }
            let most = most.min(1 << 30);
            request(asked.fetch_add(1, SeqCst)).store(most << 8 | u64::from(self.node), SeqCst);
            left.deal(self.node, most)
        })
    }

    fn put(&self, cell: Cell, value: u64) {
        let shared = self.shared;
        shared.alone(|| entry(&shared.cells, cell.0).fetch_max(value, SeqCst));
    }

    fn wait(&self, cell: Cell, at_least: u64) -> u64 {
        let shared = self.shared;
        let mut value = 0;
        poll(|| {
            value = shared.alone(|| entry(&shared.cells, cell.0).load(SeqCst));
            value >= at_least
        });
        value
    }

    fn wait_in(&self, region: u64, cell: Cell, at_least: u64) -> u64 {
        let found = || {
            let value = self
                .shared
                .alone(|| entry(&self.shared.cells, cell.0).load(SeqCst));
            value >= at_least || self.cancelled() == region
        };
        poll(found);
        if self.cancelled() == region {
            self.put(cell, u64::MAX);
        }
        self.wait(cell, at_least)
    }

    fn allocate(&self, bytes: usize, align: usize) -> Option<usize> {
        // Never used again, hence zero.
        let length = bytes.next_multiple_of(align.max(8)) + align;
        let base = self.shared.heap.as_ptr().expose_provenance();
        let first = base + self.shared.heap_next.fetch_add(length, SeqCst);
        let fits = first + length <= base + WORDS * 8;
        fits.then(|| first.next_multiple_of(align))
    }

    fn free(&self, _address: usize) {}

    fn spawn(
        &self,
        name: String,
        stack_bytes: usize,
        run: Box<dyn FnOnce() + Send>,
    ) -> io::Result<()> {
        let builder = thread::Builder::new().name(name).stack_size(stack_bytes);
        builder.spawn(run).map(drop)
    }

    fn fail(&self, reason: &str) -> ! {
        fail(reason)
    }
}

/// The node that this process is; none if it is the one that runs the tests.
static NODE: AtomicU32 = AtomicU32::new(NO_NODE);
const NO_NODE: u32 = u32::MAX;

/// From now on a node that panics says so and ends. To be called before a node is forked:
/// the hook has a lock, which another test may hold in the middle of its own panic, and
/// which a node would find held for ever. Panicking itself shares that lock.
pub(crate) fn let_nodes_end_by_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match NODE.load(SeqCst) {
            NO_NODE => before(info),
            node => fail(&format!("node {node}: {info}")),
        }));
    });
}

/// Runs `program` on node 0 of a cluster of `nodes` processes with `threads`
/// threads each, in an environment with `variables`. Panics unless all nodes
/// end properly.
pub(crate) fn cluster(
    nodes: u32,
    threads: u32,
    variables: &[(&str, &str)],
    program: fn(&'static Mock),
) {
    let shared = Shared::new();
    let_nodes_end_by_panics();
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (CString::new(*name).unwrap(), CString::new(*value).unwrap()))
        .collect();
    let children: Vec<libc::pid_t> = (0..nodes)
        .map(|node| {
            // SAFETY: the child uses nothing that threads of the parent might
            // hold: glibc's allocator survives a fork, output goes to the
            // descriptor, no lock of the standard library is taken alone, and the
            // child ends with `_exit`.
            match unsafe { libc::fork() } {
                0 => run_node(node, nodes, threads, shared, &variables, program),
                -1 => panic!("{}", io::Error::last_os_error()),
                child => child,
            }
        })
        .collect();
    let result = wait_for(&children);
    if let Err(problem) = result {
        for &child in &children {
            // SAFETY: a child of ours; one that has ended is refused.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        panic!("{nodes} nodes of {threads} threads: {problem}");
    }
}

fn run_node(
    node: u32,
    nodes: u32,
    threads: u32,
    shared: &'static Shared,
    variables: &[(CString, CString)],
    program: fn(&'static Mock),
) -> ! {
    // SAFETY: takes numbers; the child shall not outlive a test that is killed.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    NODE.store(node, SeqCst);
    SEED.set(0x2545_f491_4f6c_dd1d * u64::from(node + 1));
    for (name, value) in variables {
        // SAFETY: strings of C, in a process of one thread. The C library's own lock is
        // held by nobody: the parent sets no variable. That of `set_var` may be, by whoever
        // read one in the parent.
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
    }
    let mock: &'static Mock = Box::leak(Box::new(Mock {
        node,
        nodes,
        threads,
        shared,
        passed: AtomicU64::new(0),
    }));
    SHARED.store(ptr::from_ref(shared).cast_mut(), SeqCst);
    install(mock);
    if node == 0 {
        program(mock);
        dismiss();
    } else {
        serve();
    }
    // SAFETY: ends the process at once, which is what is wanted.
    unsafe { libc::_exit(0) }
}

fn wait_for(children: &[libc::pid_t]) -> Result<(), String> {
    const PATIENCE: Duration = Duration::from_secs(240);
    let begin = Instant::now();
    let mut left = children.to_vec();
    while let Some(&child) = left.last() {
        for &other in &left {
            let mut status = 0;
            // SAFETY: `status` is a local; the call does not block.
            let ended = unsafe { libc::waitpid(other, &raw mut status, libc::WNOHANG) };
            if ended == other {
                left.retain(|&one| one != other);
                if status != 0 {
                    return Err(format!("a node ended with status {status:#x}"));
                }
                break;
            }
        }
        if left.last() == Some(&child) {
            if begin.elapsed() > PATIENCE {
                return Err(format!("{} nodes did not end", left.len()));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
    Ok(())
}
