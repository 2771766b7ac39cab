use super::*;
use crate::signal_chain::{self, Fault, Interruption};
use std::os::fd::FromRawFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const PAGE: usize = 4096;
const PAGES: usize = 64;

/// Pages mapped twice and watched, with a handler that fills page `n` with the
/// number `n + 1`.
struct Watched {
    watch: Watch,
    /// Where the test plays the program.
    view: usize,
    alias: usize,
    installs: AtomicUsize,
    first_writes: AtomicUsize,
}

impl Watched {
    /// Leaked, since the handler may look at it.
    fn new(first_write: FirstWrite) -> Option<&'static Self> {
        let watch = match Watch::new(first_write) {
            Ok(watch) => watch,
            Err(error) => {
                eprintln!("skipped: {error}");
                return None;
            }
        };
        // SAFETY: a name and no flags; makes a descriptor.
        let memory = unsafe {
            let fd = libc::memfd_create(c"test".as_ptr(), 0);
            assert!(fd >= 0);
            File::from_raw_fd(fd)
        };
        memory.set_len((PAGES * PAGE) as u64).unwrap();
        let map = || {
            // SAFETY: a new mapping of an open file, where the kernel likes.
            let at = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    PAGES * PAGE,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED,
                    memory.as_raw_fd(),
                    0,
                )
            };
            assert_ne!(at, libc::MAP_FAILED);
            at as usize
        };
        let watched = Box::leak(Box::new(Self {
            watch,
            view: map(),
            alias: map(),
            installs: AtomicUsize::new(0),
            first_writes: AtomicUsize::new(0),
        }));
        // SAFETY: only the tests touch the view, when the handler is there.
        unsafe {
            watched
                .watch
                .register(watched.pages(0..PAGES), FirstTouch::Raises)
        }
        .unwrap();
        CURRENT.store(ptr::from_ref(watched) as usize, SeqCst);
        Some(watched)
    }

    fn pages(&self, pages: Range<usize>) -> Range<usize> {
        self.view + pages.start * PAGE..self.view + pages.end * PAGE
    }

    fn word(at: usize, page: usize) -> &'static AtomicU64 {
        // SAFETY: inside a mapping that is never unmapped.
        unsafe { &*((at + page * PAGE) as *const AtomicU64) }
    }

    fn read(&self, page: usize) -> u64 {
        Self::word(self.view, page).load(SeqCst)
    }

    fn write(&self, page: usize, value: u64) {
        Self::word(self.view, page).store(value, SeqCst);
    }

    /// Numbers of the pages that were written.
    fn taken(&self) -> Vec<usize> {
        let mut written = vec![];
        self.watch
            .take_written(self.pages(0..PAGES), &mut written)
            .unwrap();
        let number = |address: usize| (address - self.view) / PAGE;
        written
            .into_iter()
            .flat_map(|range| number(range.start)..number(range.end))
            .collect()
    }

    fn counts(&self) -> (usize, usize) {
        (self.installs.load(SeqCst), self.first_writes.load(SeqCst))
    }
}

/// Whose faults the handler serves.
static CURRENT: AtomicUsize = AtomicUsize::new(0);

fn serve(interruption: &mut Interruption<'_>) -> bool {
    // SAFETY: zero or leaked by `Watched::new`.
    let Some(watched) = (unsafe { (CURRENT.load(SeqCst) as *const Watched).as_ref() }) else {
        return false;
    };
    let address = interruption.address();
    if !watched.pages(0..PAGES).contains(&address) {
        return false;
    }
    let page = (address - watched.view) / PAGE;
    let range = watched.pages(page..page + 1);
    if Watched::word(watched.alias, page).load(SeqCst) == 0 {
        Watched::word(watched.alias, page).store(page as u64 + 1, SeqCst);
        watched.installs.fetch_add(1, SeqCst);
        watched.watch.install(range, false).is_ok()
    } else {
        assert!(interruption.is_write());
        watched.first_writes.fetch_add(1, SeqCst);
        watched.watch.allow(range).is_ok()
    }
}

/// One test at a time: there is one handler.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static HANDLER: OnceLock<()> = OnceLock::new();
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    HANDLER.get_or_init(|| signal_chain::install(Fault::Bus, serve).unwrap());
    guard
}

#[test]
fn a_page_is_filled_at_its_first_access_and_writes_are_recorded() {
    let _alone = alone();
    let Some(watched) = Watched::new(FirstWrite::IsRecorded) else {
        return;
    };
    for page in [3, 4, 5, 9] {
        assert_eq!(watched.read(page), page as u64 + 1);
    }
    assert_eq!(watched.counts(), (4, 0));
    assert_eq!(watched.taken(), [0; 0]);
    for page in [4, 5, 20] {
        watched.write(page, 77);
    }
    // A write to a page that is there raises nothing.
    assert_eq!(watched.counts(), (5, 0));
    assert_eq!(watched.taken(), [4, 5, 20]);
    assert_eq!(watched.taken(), [0; 0]);
    watched.write(5, 78);
    assert_eq!(watched.taken(), [5]);
    assert_eq!(Watched::word(watched.alias, 5).load(SeqCst), 78);
}

#[test]
fn a_first_write_raises_where_it_is_asked_to() {
    let _alone = alone();
    let Some(watched) = Watched::new(FirstWrite::Raises) else {
        return;
    };
    assert_eq!(watched.read(7), 8);
    watched.write(7, 1);
    watched.write(7, 2);
    assert_eq!(watched.counts(), (1, 1));
    watched.watch.protect(watched.pages(7..8)).unwrap();
    assert_eq!(watched.read(7), 2);
    watched.write(7, 3);
    assert_eq!(watched.counts(), (1, 2));
    // A page that was never there: filled, then allowed.
    watched.write(8, 1);
    assert_eq!(watched.counts(), (2, 3));
    let taken = watched.watch.take_written(watched.pages(0..8), &mut vec![]);
    assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::Unsupported);
}

/// Page faults of this thread that the kernel has served.
fn served() -> i64 {
    // SAFETY: a structure of numbers, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt
    }
}

#[test]
fn prepared_pages_are_written_without_faults() {
    let _alone = alone();
    let Some(watched) = Watched::new(FirstWrite::Raises) else {
        return;
    };
    let pages = 0..PAGES;
    pages.clone().for_each(|page| watched.write(page, 1));
    watched.watch.protect(watched.pages(pages.clone())).unwrap();
    watched.watch.allow(watched.pages(pages.clone())).unwrap();
    watched.watch.prepare(watched.pages(pages.clone()));
    let counts = watched.counts();
    let before = served();
    pages.clone().for_each(|page| watched.write(page, 2));
    // Some of the test's own.
    assert!(served() - before < PAGES as i64 / 4);
    assert_eq!(watched.counts(), counts);
    // It permits nothing.
    watched.watch.protect(watched.pages(pages.clone())).unwrap();
    watched.watch.prepare(watched.pages(pages.clone()));
    pages.for_each(|page| watched.write(page, 3));
    assert_eq!(watched.counts().1, counts.1 + PAGES);
}

#[test]
fn a_page_that_is_taken_away_is_fetched_again() {
    let _alone = alone();
    for first_write in [FirstWrite::IsRecorded, FirstWrite::Raises] {
        let Some(watched) = Watched::new(first_write) else {
            return;
        };
        watched.write(0, 5);
        watched.watch.forget(watched.pages(0..1)).unwrap();
        // New content arrives while nobody can look.
        Watched::word(watched.alias, 0).store(0, SeqCst);
        assert_eq!(watched.read(0), 1);
        assert_eq!(watched.counts().0, 2);
        if first_write == FirstWrite::IsRecorded {
            assert_eq!(watched.taken(), [0; 0], "it is new, not written");
        }
        // Installed beforehand: no signal at all.
        for page in 10..20 {
            Watched::word(watched.alias, page).store(100, SeqCst);
        }
        let (before, range) = (watched.counts(), watched.pages(10..20));
        watched.watch.install(range.clone(), false).unwrap();
        watched.watch.install(range, false).unwrap();
        assert!((10..20).all(|page| watched.read(page) == 100));
        watched
            .watch
            .install(watched.pages(20..21), true)
            .unwrap_err();
        Watched::word(watched.alias, 20).store(100, SeqCst);
        watched.watch.install(watched.pages(20..21), true).unwrap();
        watched.write(20, 101);
        assert_eq!(watched.counts(), before);
    }
}

#[test]
fn memory_that_the_kernel_serves_costs_no_signal() {
    let _alone = alone();
    let Some(watched) = Watched::new(FirstWrite::IsRecorded) else {
        return;
    };
    let half = watched.pages(PAGES / 2..PAGES);
    // SAFETY: as in `new`.
    unsafe { watched.watch.register(half, FirstTouch::IsServed) }.unwrap();
    Watched::word(watched.alias, 40).store(9, SeqCst);
    assert_eq!((watched.read(40), watched.read(41)), (9, 0));
    watched.write(42, 1);
    // Never noticed before the first time that it is asked.
    let served = [40, 41, 42];
    assert!(watched.taken().iter().all(|page| served.contains(page)));
    watched.write(41, 1);
    watched.write(43, 1);
    let taken = watched.taken();
    assert!(taken.contains(&41) && taken.contains(&43), "{taken:?}");
    assert!(!taken.contains(&42), "{taken:?}");
    assert_eq!(watched.counts(), (0, 0));
    assert_eq!(watched.read(1), 2);
    assert_eq!(watched.counts(), (1, 0));
}

#[test]
fn a_system_call_may_write_where_writes_are_recorded() {
    let _alone = alone();
    let Some(watched) = Watched::new(FirstWrite::IsRecorded) else {
        return;
    };
    assert_eq!(watched.read(2), 3);
    let mut from = File::open("/dev/zero").unwrap();
    // SAFETY: the second page of the view, installed and used by nobody else.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut((watched.view + 2 * PAGE) as *mut u8, PAGE) };
    io::Read::read_exact(&mut from, bytes).unwrap();
    assert_eq!(watched.taken(), [2]);
}

#[test]
fn writes_of_other_threads_between_scans_are_not_lost() {
    let _alone = alone();
    let Some(watched) = Watched::new(FirstWrite::IsRecorded) else {
        return;
    };
    for page in 0..PAGES {
        watched.read(page);
    }
    let rounds = 2000;
    let done = AtomicUsize::new(0);
    // From here on only writes change anything.
    let mut seen: Vec<u64> = (0..PAGES as u64).map(|page| page + 1).collect();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let done = &done;
            scope.spawn(move || {
                for round in 1..=rounds {
                    let page = (round as usize * 7) % (PAGES / 2) + thread * PAGES / 2;
                    watched.write(page, 1000 + round);
                }
                done.fetch_add(1, SeqCst);
            });
        }
        loop {
            let last = done.load(SeqCst) == 2;
            for page in watched.taken() {
                seen[page] = Watched::word(watched.alias, page).load(SeqCst);
            }
            if last {
                break;
            }
        }
    });
    for (page, last) in seen.into_iter().enumerate() {
        // What was looked at after a page was reported is its last content.
        assert_eq!(last, watched.read(page), "page {page}");
    }
}
