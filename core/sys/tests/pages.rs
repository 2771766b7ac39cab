//! Pages that are watched, by each scheme that this kernel has: exactly the
//! accesses that are not permitted reach whoever decides.
// A program of its own: it installs handlers of signals.

use fathomp_sys::cluster::backing::Backing;
use fathomp_sys::cluster::pages::{Area, Pages, Permission, Scheme};
use fathomp_sys::signal_chain::{self, Interruption};
use fathomp_types::{PAGE_BYTES, PageId};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Three areas: the second one has no content yet, and the third one grows.
const FIRST: usize = 700;
const SECOND: usize = 1500;
const PAGES: usize = FIRST + SECOND;
const GROWING: usize = 1300;
const OPEN: usize = 40;
const ALL: usize = PAGES + GROWING;

/// What the program asked for and was not permitted; then it was.
struct Asked {
    pages: Pages,
    read: AtomicUsize,
    write: AtomicUsize,
    /// To where an area is opened by who comes there, and how often it was.
    grows_to: AtomicUsize,
    grown: AtomicUsize,
}

/// Held by whoever changes what is permitted while threads run.
static DECIDING: Mutex<()> = Mutex::new(());

static ASKED: AtomicPtr<Asked> = AtomicPtr::new(std::ptr::null_mut());

fn handle(interruption: &mut Interruption<'_>) -> bool {
    // SAFETY: null or leaked.
    let Some(asked) = (unsafe { ASKED.load(SeqCst).as_ref() }) else {
        return false;
    };
    let Some(page) = asked.pages.page_of(interruption.address()) else {
        return false;
    };
    let write = interruption.is_write();
    let grows_to = asked.grows_to.load(SeqCst);
    if interruption.address() < grows_to && asked.pages.open(grows_to).unwrap() {
        asked.grown.fetch_add(1, SeqCst);
        return true;
    }
    if asked.pages.serve(page, write).unwrap() {
        return true;
    }
    let _deciding = lock(&DECIDING);
    if asked.pages.serve(page, write).unwrap() {
        return true;
    }
    let (count, what) = match write {
        true => (&asked.write, Permission::ReadWrite),
        false => (&asked.read, Permission::Read),
    };
    count.fetch_add(1, SeqCst);
    asked.pages.permit(page, 1, what).unwrap();
    true
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asked {
    fn counts(&self) -> (usize, usize) {
        (self.read.load(SeqCst), self.write.load(SeqCst))
    }

    /// A word of a page, where the program sees it.
    fn word(&self, page: usize) -> &'static AtomicU64 {
        let page = PageId(u32::try_from(page).unwrap());
        let address = self.pages.address_of(page).unwrap();
        // SAFETY: a page that stays mapped; accesses are served.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(address + 8) }
    }

    fn permit(&self, pages: Range<usize>, what: Permission) {
        let [first, count] = [pages.start, pages.len()].map(|n| u32::try_from(n).unwrap());
        self.pages.permit(PageId(first), count, what).unwrap();
    }
}

fn memory(pages: usize) -> Range<usize> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            pages * PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(base, libc::MAP_FAILED);
    base as usize..base as usize + pages * PAGE_BYTES
}

/// One test at a time, with each scheme: there is one handler.
fn with_each_scheme(test: fn(&'static Asked)) {
    static ALONE: Mutex<()> = Mutex::new(());
    static HANDLERS: OnceLock<()> = OnceLock::new();
    let _alone = lock(&ALONE);
    HANDLERS.get_or_init(|| {
        for scheme in [Scheme::Protections, Scheme::Userfaults] {
            signal_chain::install(scheme.fault(), handle).unwrap();
        }
    });
    let mut schemes = vec![Scheme::Protections];
    match Scheme::best() {
        Scheme::Protections => eprintln!("skipped: no userfaultfd"),
        best => schemes.push(best),
    }
    for scheme in schemes {
        let (first, second, third) = (memory(FIRST), memory(SECOND), memory(GROWING));
        let open_end = third.start + OPEN * PAGE_BYTES;
        for page in 0..FIRST {
            let address = first.start + page * PAGE_BYTES + 8;
            // SAFETY: mapped above.
            unsafe { std::ptr::with_exposed_provenance_mut::<u64>(address).write(page as u64) };
        }
        let mut areas = [first, second, third].map(|range| Area {
            file_end: range.start,
            used_end: range.end,
            open_end: range.end,
            range,
        });
        areas[2].open_end = open_end;
        // SAFETY: nobody else knows this memory, and there are handlers.
        let pages = unsafe { Pages::take_over(&areas, scheme, Backing::new().unwrap()) }.unwrap();
        let asked = Box::leak(Box::new(Asked {
            pages,
            read: AtomicUsize::new(0),
            write: AtomicUsize::new(0),
            grows_to: AtomicUsize::new(0),
            grown: AtomicUsize::new(0),
        }));
        ASKED.store(asked, SeqCst);
        test(asked);
    }
}

#[test]
fn what_is_permitted_never_asks_and_what_is_not_asks_once() {
    with_each_scheme(|asked| {
        let mut permitted = vec![Permission::ReadWrite; PAGES];
        let mut content: Vec<u64> = (0..PAGES)
            .map(|page| if page < FIRST { page as u64 } else { 0 })
            .collect();
        let mut expected = (0, 0);
        let mut random = 1_u64;
        let mut below = |n: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as usize % n
        };
        for round in 0..10_000_u64 {
            let page = below(PAGES);
            match below(8) {
                0 => {
                    let longest = [1, 3, 20, 200, 1500][below(5)];
                    let end = (page + 1 + below(longest)).min(PAGES);
                    let what = [Permission::None, Permission::Read, Permission::ReadWrite];
                    let what = what[below(3)];
                    asked.permit(page..end, what);
                    permitted[page..end].fill(what);
                }
                1..4 => {
                    if permitted[page] != Permission::ReadWrite {
                        permitted[page] = Permission::ReadWrite;
                        expected.1 += 1;
                    }
                    asked.word(page).store(round, SeqCst);
                    content[page] = round;
                }
                _ => {
                    if permitted[page] == Permission::None {
                        permitted[page] = Permission::Read;
                        expected.0 += 1;
                    }
                    assert_eq!(asked.word(page).load(SeqCst), content[page]);
                }
            }
            assert_eq!(asked.counts(), expected, "round {round}, page {page}");
        }
        assert!(expected.0 > 100 && expected.1 > 100);
    });
}

#[test]
fn what_is_permitted_of_closed_pages_holds_once_they_are_open() {
    with_each_scheme(|asked| {
        let what = [Permission::None, Permission::Read, Permission::ReadWrite];
        let mut permitted = vec![Permission::ReadWrite; GROWING];
        let mut open = OPEN;
        let mut expected = (0, 0);
        let ends = [OPEN, OPEN + 1, 300, 512, 513, 1200, GROWING];
        for (round, end) in ends.into_iter().enumerate() {
            for step in 0..60 {
                // Some of them reach over the end of what is open, some over all of it.
                let first = (round * 211 + step * 97) % GROWING;
                let last = (first + [1, 7, 100, 700][step % 4]).min(GROWING);
                let what = what[(step / 4 + step + round) % 3];
                asked.permit(PAGES + first..PAGES + last, what);
                permitted[first..last].fill(what);
            }
            let page = PageId(u32::try_from(PAGES).unwrap());
            let start = asked.pages.address_of(page).unwrap();
            asked.grows_to.store(start + end * PAGE_BYTES, SeqCst);
            let grown = asked.grown.load(SeqCst);
            for page in (0..end).rev() {
                match (round + page) % 2 {
                    0 if permitted[page] != Permission::ReadWrite => {
                        permitted[page] = Permission::ReadWrite;
                        expected.1 += 1;
                    }
                    1 if permitted[page] == Permission::None => {
                        permitted[page] = Permission::Read;
                        expected.0 += 1;
                    }
                    _ => {}
                }
                match (round + page) % 2 {
                    0 => asked.word(PAGES + page).store(1, SeqCst),
                    _ => assert!(asked.word(PAGES + page).load(SeqCst) <= 1),
                }
                assert_eq!(asked.counts(), expected, "round {round}, page {page}");
            }
            let opened = asked.grown.load(SeqCst) - grown;
            assert_eq!(opened, usize::from(end > open), "round {round}");
            open = end;
        }
        assert!(expected.0 > 100 && expected.1 > 100);
    });
}

#[test]
fn no_write_is_lost_while_permissions_change() {
    with_each_scheme(|asked| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|thread| {
                    let stop = &stop;
                    scope.spawn(move || {
                        let mut sums = vec![0_u64; 64];
                        let mut number = thread;
                        while !stop.load(SeqCst) {
                            number = (number * 5 + 3) % 64;
                            asked.word(FIRST - 32 + number).fetch_add(1, SeqCst);
                            sums[number] += 1;
                        }
                        sums
                    })
                })
                .collect();
            // On one processor the writers may not have begun yet.
            let is_enough = |round| round >= 1_000 && (asked.counts().1 > 0 || round >= 1_000_000);
            for round in (0..).take_while(|round| !is_enough(*round)) {
                let first = FIRST - 32 + round % 60;
                asked.permit(first..first + 1 + round % 4, Permission::None);
                asked.permit(FIRST - 32..FIRST + 32, Permission::Read);
                if round % 7 == 0 {
                    asked.permit(first..first + 4, Permission::ReadWrite);
                }
            }
            stop.store(true, SeqCst);
            let sums: Vec<_> = writers.into_iter().map(|w| w.join().unwrap()).collect();
            for (number, (one, other)) in sums[0].iter().zip(&sums[1]).enumerate() {
                let page = FIRST - 32 + number;
                let before = if page < FIRST { page as u64 } else { 0 };
                assert_eq!(asked.word(page).load(SeqCst), before + one + other);
            }
        });
        let (_, writes) = asked.counts();
        assert!(writes > 0);
    });
}

#[test]
fn it_is_known_which_pages_were_never_touched() {
    with_each_scheme(|asked| {
        let touched = |page: usize| {
            let page = PageId(u32::try_from(page).unwrap());
            asked.pages.first_touched(page).unwrap().0 as usize
        };
        // The first area was filled before it was taken over.
        assert_eq!(touched(FIRST - 1), FIRST - 1);
        assert_eq!(touched(FIRST), ALL);
        asked.word(FIRST + 7).store(0, SeqCst);
        assert_eq!(touched(FIRST), FIRST + 7);
        assert_eq!(touched(FIRST + 7), FIRST + 7);
        assert_eq!(touched(FIRST + 8), ALL);
    });
}

#[test]
fn nothing_is_written_behind_the_back_of_who_took_the_permission() {
    with_each_scheme(|asked| {
        let page = 100;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(SeqCst) {
                        asked.word(page).fetch_add(1, SeqCst);
                    }
                });
            }
            let content = || {
                let mut bytes = [0; PAGE_BYTES];
                asked.pages.read(PageId(100), &mut bytes).unwrap();
                bytes
            };
            for round in 0..1_000 {
                let what = [Permission::None, Permission::Read][round % 2];
                let _deciding = lock(&DECIDING);
                asked.permit(page..page + 1, what);
                let first = content();
                std::thread::yield_now();
                assert!(first == content(), "round {round}");
            }
            stop.store(true, SeqCst);
        });
    });
}

#[test]
fn words_change_as_wide_as_they_are_whatever_is_permitted() {
    with_each_scheme(|asked| {
        let page = PageId(0);
        asked.permit(0..1, Permission::None);
        let change = |offset, bytes, after: u64| {
            let changed = asked.pages.change_word(page, offset, bytes, |_| after);
            changed.ok()
        };
        assert_eq!(change(16, 8, 0x0102_0304_0506_0708), Some(0));
        assert_eq!(change(16, 4, u64::MAX), Some(0x0506_0708));
        assert_eq!(change(22, 2, 0xabcd_0000), Some(0x0102));
        assert_eq!(change(20, 1, 0x1ff), Some(4));
        assert_eq!(change(16, 8, 0), Some(0x0000_03ff_ffff_ffff));
        // No words: between two, beyond the page, of another size.
        for (offset, bytes) in [(18, 4), (4096, 1), (4092, 8), (16, 3), (16, 0)] {
            assert_eq!(change(offset, bytes, 1), None);
        }
    });
}
