//! What it costs to notice a program's accesses: `cargo bench -p fathomp-sys`.
//!
//! Pages watched by userfaultfd against pages protected by `mprotect`, and
//! inline atomics led through the runtime against the bare instruction. Prints
//! the median and the best of several rounds, microseconds per page or
//! instruction. The page rows touch every second page, as neighbours in
//! different states are the case that splits mappings.

use fathomp_sys::signal_chain::{self, Fault, Interruption};
use fathomp_sys::userfault::{FirstTouch, FirstWrite, Watch};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
/// Pages in a round, half of which are touched.
const PAGES: usize = 2048;
const ROUNDS: usize = 41;

/// Two mappings of the same pages.
struct Memory {
    view: usize,
    alias: usize,
    /// What a fetched page is copied from.
    source: Vec<u8>,
    watch: Option<Watch>,
}

/// Whose faults the handler serves.
static CURRENT: AtomicPtr<Memory> = AtomicPtr::new(ptr::null_mut());

impl Memory {
    fn new(watch: Option<Watch>) -> &'static Self {
        // SAFETY: a name and no flags; makes a descriptor.
        let file = unsafe { File::from_raw_fd(libc::memfd_create(c"bench".as_ptr(), 0)) };
        file.set_len((PAGES * PAGE) as u64).expect("room for pages");
        let map = || {
            // SAFETY: a new mapping of an open file, where the kernel likes.
            let at = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    PAGES * PAGE,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED,
                    file.as_raw_fd(),
                    0,
                )
            };
            assert_ne!(at, libc::MAP_FAILED);
            at as usize
        };
        let memory = Box::leak(Box::new(Self {
            view: map(),
            alias: map(),
            source: vec![7; PAGE],
            watch,
        }));
        for page in 0..PAGES {
            write(memory.alias, page);
        }
        CURRENT.store(memory, Ordering::SeqCst);
        memory
    }

    fn range(&self, pages: Range<usize>) -> Range<usize> {
        self.view + pages.start * PAGE..self.view + pages.end * PAGE
    }

    fn watch(&self) -> &Watch {
        self.watch.as_ref().expect("a watch")
    }

    /// Makes every second page read-only by itself, as it would come.
    fn protect(&self, protection: libc::c_int) {
        for page in (0..PAGES).step_by(2) {
            protect(self.range(page..page + 1), protection);
        }
    }
}

fn protect(range: Range<usize>, protection: libc::c_int) {
    // SAFETY: pages of our own mapping.
    let done = unsafe { libc::mprotect(range.start as *mut _, range.len(), protection) };
    assert_eq!(done, 0);
}

fn word(base: usize, page: usize) -> &'static AtomicU64 {
    // SAFETY: inside a mapping that is never unmapped.
    unsafe { &*((base + page * PAGE) as *const AtomicU64) }
}

fn write(base: usize, page: usize) {
    word(base, page).store(1, Ordering::Relaxed);
}

fn read_every_second(base: usize) {
    for page in (0..PAGES).step_by(2) {
        word(base, page).load(Ordering::Relaxed);
    }
}

fn write_every_second(base: usize) {
    for page in (0..PAGES).step_by(2) {
        write(base, page);
    }
}

/// Serves both signals, by what the page needs.
fn serve(interruption: &mut Interruption<'_>) -> bool {
    // SAFETY: null or leaked.
    let Some(memory) = (unsafe { CURRENT.load(Ordering::Relaxed).as_ref() }) else {
        return false;
    };
    let Some(offset) = interruption.address().checked_sub(memory.view) else {
        return false;
    };
    let page = offset / PAGE;
    let range = memory.range(page..page + 1);
    match &memory.watch {
        Some(watch) if interruption.is_write() => watch.allow(range).is_ok(),
        Some(watch) => {
            fetch(memory, page);
            watch.install(range, false).is_ok()
        }
        None if interruption.is_write() => {
            protect(range, libc::PROT_READ | libc::PROT_WRITE);
            true
        }
        None => {
            fetch(memory, page);
            protect(range, libc::PROT_READ);
            true
        }
    }
}

fn fetch(memory: &Memory, page: usize) {
    // SAFETY: a page of the alias, which nobody looks at meanwhile.
    unsafe {
        ptr::copy_nonoverlapping(
            memory.source.as_ptr(),
            (memory.alias + page * PAGE) as *mut u8,
            PAGE,
        );
    }
}

/// Times `work`, which does `count` things, after `prepare`, and prints a row.
fn row(name: &str, count: usize, mut prepare: impl FnMut(), mut work: impl FnMut()) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            prepare();
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    println!(
        "{name:<54} {:8.3} {:8.3}",
        each(times[ROUNDS / 2]),
        each(times[0])
    );
}

fn main() {
    signal_chain::install(Fault::Segment, serve).expect("a handler");
    signal_chain::install(Fault::Bus, serve).expect("a handler");
    println!(
        "{:<54} {:>8} {:>8}",
        "microseconds per page", "median", "best"
    );
    protected();
    for first_write in [FirstWrite::Raises, FirstWrite::IsRecorded] {
        match Watch::new(first_write) {
            Ok(watch) => watched(watch),
            Err(error) => println!("{first_write:?}: not on this kernel: {error}"),
        }
    }
    #[cfg(target_arch = "x86_64")]
    inline::atomics();
}

fn protected() {
    let memory = Memory::new(None);
    row(
        "mprotect: fetch a page that is not there",
        PAGES / 2,
        || memory.protect(libc::PROT_NONE),
        || read_every_second(memory.view),
    );
    row(
        "mprotect: first write",
        PAGES / 2,
        || memory.protect(libc::PROT_READ),
        || write_every_second(memory.view),
    );
}

fn watched(watch: Watch) {
    let first_write = watch.first_write();
    let memory = Memory::new(Some(watch));
    let (all, watch) = (memory.range(0..PAGES), memory.watch());
    // SAFETY: the handler serves all faults on it.
    unsafe { watch.register(all.clone(), FirstTouch::Raises) }.expect("a registration");
    let forget = || watch.forget(all.clone()).expect("pages to go");
    let install = || watch.install(all.clone(), false).expect("pages to come");
    let name = |what: &str| format!("userfaultfd, first write {first_write:?}: {what}");
    row(&name("fetch"), PAGES / 2, forget, || {
        read_every_second(memory.view)
    });
    row(
        &name("first write"),
        PAGES / 2,
        || {
            forget();
            install();
        },
        || write_every_second(memory.view),
    );
    if first_write == FirstWrite::Raises {
        return;
    }
    row(&name("install in a run"), PAGES, forget, install);
    row(&name("forget in a run"), PAGES, || (), forget);
    install();
    row(&name("forget one"), PAGES / 2, install, || {
        for page in (0..PAGES).step_by(2) {
            watch
                .forget(memory.range(page..page + 1))
                .expect("a page to go");
        }
    });
    install();
    let scan = || {
        let mut written = vec![];
        watch
            .take_written(all.clone(), &mut written)
            .expect("a scan");
        written.len()
    };
    scan();
    row(
        &name("scan, every second written"),
        PAGES / 2,
        || write_every_second(memory.view),
        || assert_eq!(scan(), PAGES / 2),
    );
    row(
        &name("scan, none written"),
        PAGES,
        || (),
        || assert_eq!(scan(), 0),
    );
}

#[cfg(target_arch = "x86_64")]
mod inline {
    use super::{PAGE, row};
    use fathomp_sys::text_patch::{Hooks, Kind, Operand, Site, install};
    use std::ptr;

    const COUNT: usize = 1000;

    /// `lock add qword ptr [rdi], 1; ret`
    const ADD: [u8; 6] = [0xf0, 0x48, 0x83, 0x07, 0x01, 0xc3];

    /// A page with the function above.
    fn function() -> usize {
        // SAFETY: a new page, which holds code before it becomes executable.
        unsafe {
            let page = libc::mmap(
                ptr::null_mut(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(page, libc::MAP_FAILED);
            ptr::copy_nonoverlapping(ADD.as_ptr(), page.cast(), ADD.len());
            libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC);
            page as usize
        }
    }

    pub(super) fn atomics() {
        let hooks = Hooks {
            enter: |_| None,
            leave: |_| {},
            fence: || {},
            waits: |_| {},
            came: |_| {},
        };
        let site = |entered_inside| Site {
            address: function(),
            length: 5,
            code: ADD[..5].to_vec(),
            kind: Kind::Atomic(Operand {
                base: Some(7),
                bytes: 8,
                ..Operand::default()
            }),
            relative: None,
            entered_inside,
            does: None,
            blind: None,
            moved: None,
        };
        let plain = function();
        let (jump, trap) = (site(false), site(true));
        // SAFETY: one instruction each, which nobody executes yet.
        unsafe { install(&[jump.clone(), trap.clone()], hooks) }.expect("code to patch");
        let ways = [
            ("inline atomic: bare", plain),
            ("inline atomic: by a jump", jump.address),
            ("inline atomic: by a breakpoint", trap.address),
        ];
        for (name, address) in ways {
            // SAFETY: code that adds 1 to the word it is given.
            let add: extern "C" fn(*mut u64) = unsafe { std::mem::transmute(address) };
            let mut sum = 0_u64;
            row(
                name,
                COUNT,
                || (),
                || (0..COUNT).for_each(|_| add(&raw mut sum)),
            );
            assert_eq!(sum, (COUNT * super::ROUNDS) as u64);
        }
    }
}
