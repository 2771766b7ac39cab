//! Worksharing on real threads: every iteration once, in order where there is
//! an order, however far apart the members are.
// A program of its own: all tests of a process share the runtime's threads.
#![allow(missing_docs)]

use fathomp_omp::observer::{Mutex, Wait};
use fathomp_omp::parallel::{Fork, parallel};
use fathomp_omp::sync::{Lock, NestLock};
use fathomp_omp::team::Member;
use fathomp_omp::worksharing::{self, Dealing, Iterations, Loop, doacross, single};
use fathomp_omp::{barrier, current};
use fathomp_sys::outlined::{Opaque, Outlined};
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const TEAMS: [u32; 5] = [1, 2, 3, 8, 2];

const DEALINGS: [Dealing; 9] = [
    Dealing::Static { chunk: 0 },
    Dealing::Static { chunk: 1 },
    Dealing::Static { chunk: 3 },
    dynamic(1, true),
    dynamic(4, true),
    dynamic(1, false),
    dynamic(5, false),
    Dealing::Guided { chunk: 1 },
    Dealing::Guided { chunk: 4 },
];

const fn dynamic(chunk: u64, monotonic: bool) -> Dealing {
    Dealing::Dynamic { chunk, monotonic }
}

/// A test that waits for ever says so instead.
fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(300));
            eprintln!("a test of worksharing did not end within five minutes");
            process::abort();
        });
    });
}

type Body<'a> = &'a (dyn Fn(&'static Member) + Sync);

extern "C" fn call_body(data: Opaque) {
    let body = std::ptr::with_exposed_provenance::<Body>(data.0);
    // SAFETY: `region` passes the address of a body that lives until the
    // region has ended.
    unsafe { (*body)(current()) }
}

/// Runs `body` in a team of `threads`.
fn region(threads: u32, body: Body) {
    watch();
    parallel(&Fork {
        // SAFETY: `call_body` may run on any thread with the data below.
        function: unsafe { Outlined::from_program(call_body) },
        data: Opaque(std::ptr::from_ref(&body).expose_provenance()),
        threads,
        bind: None,
        call: 0,
        preset: None,
        called_by_program: false,
        caller: fathomp_omp::parallel::Caller::Gnu,
        prepare: None,
    });
}

fn counted(count: u64, dealing: Dealing) -> Loop {
    Loop {
        iterations: Iterations::counted(count),
        dealing,
        ordered: false,
        sections: false,
        call: 0,
    }
}

fn zeroes(count: u64) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

fn all_are(counts: &[AtomicU32], value: u32) -> bool {
    counts
        .iter()
        .all(|count| count.load(Ordering::Relaxed) == value)
}

/// Runs the member's chunks of a loop that was met.
fn chunks(member: &'static Member, mut run: impl FnMut(u64)) {
    while let Some((from, to)) = worksharing::next(member) {
        (from..to).for_each(&mut run);
    }
}

#[test]
fn every_iteration_runs_once() {
    for threads in TEAMS {
        for dealing in DEALINGS {
            for count in [0, 1, 2, 7, 64, 1000] {
                let done = zeroes(count);
                region(threads, &|member| {
                    worksharing::start(member, &counted(count, dealing));
                    chunks(member, |i| {
                        done[i as usize].fetch_add(1, Ordering::Relaxed);
                    });
                    worksharing::end(member);
                });
                assert!(all_are(&done, 1), "{threads} threads, {dealing:?}, {count}");
            }
        }
    }
}

#[test]
fn a_loop_of_the_whole_type_is_dealt_without_overlap() {
    // Nobody runs so many iterations: everybody takes some chunks and leaves.
    for dealing in DEALINGS {
        let wanted = Loop {
            iterations: Iterations::signed(i64::MIN, i64::MAX, 1),
            ..counted(0, dealing)
        };
        let taken = std::sync::Mutex::new(Vec::new());
        region(4, &|member| {
            worksharing::start(member, &wanted);
            for _ in 0..50 {
                if let Some((from, to)) = worksharing::next(member) {
                    taken.lock().unwrap().push((from as i64, to as i64));
                }
            }
            worksharing::end(member);
        });
        let mut taken = taken.into_inner().unwrap();
        taken.sort_unstable();
        assert!(!taken.is_empty());
        assert!(taken.iter().all(|(from, to)| from < to), "{dealing:?}");
        assert!(taken.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}

#[test]
fn the_last_iteration_is_the_last_of_its_thread() {
    for threads in TEAMS {
        for count in 1..200 {
            let last = AtomicU32::new(0);
            region(threads, &|member| {
                worksharing::start(member, &counted(count, dynamic(1, false)));
                let mut mine = None;
                chunks(member, |i| mine = Some(i));
                if mine == Some(count - 1) {
                    last.fetch_add(1, Ordering::Relaxed);
                }
                worksharing::end(member);
            });
            assert_eq!(last.load(Ordering::Relaxed), 1);
        }
    }
}

#[test]
fn chunks_of_a_member_increase() {
    for dealing in DEALINGS {
        region(3, &|member| {
            worksharing::start(member, &counted(5000, dealing));
            let mut before = None;
            chunks(member, |i| {
                assert!(before < Some(i), "{dealing:?}");
                before = Some(i);
                if i % 500 == 499 {
                    thread::yield_now();
                }
            });
            worksharing::end(member);
        });
    }
}

#[test]
fn iterations_of_dynamic_loops_may_wait_for_earlier_ones() {
    for (threads, monotonic) in [(2, false), (4, false), (4, true)] {
        let done = zeroes(2000);
        region(threads, &|member| {
            worksharing::start(member, &counted(2000, dynamic(1, monotonic)));
            chunks(member, |i| {
                let is_done = |j: u64| done[j as usize].load(Ordering::Acquire) == 1;
                while i > 0 && i % 7 == 0 && !is_done(i - 1) {
                    thread::yield_now();
                }
                done[i as usize].store(1, Ordering::Release);
            });
            worksharing::end(member);
        });
        assert!(all_are(&done, 1));
    }
}

#[test]
fn members_may_run_far_ahead() {
    const CONSTRUCTS: usize = 1000;
    for threads in [2, 3, 8] {
        let (singles, sums) = (zeroes(CONSTRUCTS as u64), zeroes(CONSTRUCTS as u64));
        let ahead = AtomicU32::new(0);
        region(threads, &|member| {
            if member.thread_num() == 1 {
                // All others are through before this one begins.
                while ahead.load(Ordering::Acquire) < threads - 1 {
                    thread::yield_now();
                }
            }
            for construct in 0..CONSTRUCTS {
                if single::start(member) {
                    singles[construct].fetch_add(1, Ordering::Relaxed);
                }
                let dealing = DEALINGS[construct % DEALINGS.len()];
                worksharing::start(member, &counted(20, dealing));
                chunks(member, |_| {
                    sums[construct].fetch_add(1, Ordering::Relaxed);
                });
                worksharing::end_nowait(member);
            }
            ahead.fetch_add(1, Ordering::Release);
        });
        assert!(all_are(&singles, 1) && all_are(&sums, 20), "{threads}");
    }
}

#[test]
fn constructs_near_and_far_from_barriers_alternate() {
    let ran = AtomicU32::new(0);
    region(4, &|member| {
        for round in 0..200 {
            for _ in 0..round % 40 {
                if single::start(member) {
                    ran.fetch_add(1, Ordering::Relaxed);
                }
            }
            barrier::barrier(member, Wait::ExplicitBarrier);
        }
    });
    assert_eq!(ran.into_inner(), 5 * (0..40).sum::<u32>());
}

#[test]
fn copyprivate_reaches_everybody() {
    for threads in TEAMS {
        region(threads, &|member| {
            for value in 1..100 {
                match single::start_copy(member) {
                    None => single::finish_copy(member, value),
                    Some(got) => assert_eq!(got, value),
                }
                barrier::barrier(member, Wait::ImplicitBarrier);
            }
        });
    }
}

#[test]
fn ordered_regions_follow_the_iterations() {
    for threads in TEAMS {
        for dealing in DEALINGS {
            if matches!(
                dealing,
                Dealing::Dynamic {
                    monotonic: false,
                    ..
                }
            ) {
                continue;
            }
            let wanted = Loop {
                ordered: true,
                ..counted(150, dealing)
            };
            let seen = std::sync::Mutex::new(Vec::new());
            region(threads, &|member| {
                worksharing::start(member, &wanted);
                while let Some((from, to)) = worksharing::next_ordered(member) {
                    // Some iterations, and whole chunks, have no ordered region.
                    for i in (from..to).filter(|i| i % 5 != 3) {
                        worksharing::enter_ordered(member);
                        seen.lock().unwrap().push(i);
                        worksharing::leave_ordered(member);
                    }
                }
                worksharing::end(member);
            });
            let expected: Vec<u64> = (0..150).filter(|i| i % 5 != 3).collect();
            assert_eq!(seen.into_inner().unwrap(), expected, "{dealing:?}");
        }
    }
}

#[test]
fn doacross_iterations_wait_for_those_they_depend_on() {
    const SIDE: u64 = 12;
    for threads in TEAMS {
        for dealing in DEALINGS {
            let done = zeroes(SIDE * SIDE);
            let is_done = |i: u64, j: u64| done[(i * SIDE + j) as usize].load(Ordering::Relaxed);
            let dealing = match dealing {
                Dealing::Dynamic { chunk, .. } => dynamic(chunk, true),
                other => other,
            };
            region(threads, &|member| {
                worksharing::start_with(member, &counted(SIDE, dealing), |shared| {
                    doacross::set_up(member, shared, &[SIDE, SIDE], dealing);
                });
                chunks(member, |i| {
                    for j in 0..SIDE {
                        if i > 0 {
                            doacross::wait(member, |depth| [i - 1, j][depth]);
                            assert_eq!(is_done(i - 1, j), 1);
                        }
                        done[(i * SIDE + j) as usize].fetch_add(1, Ordering::Relaxed);
                        doacross::post(member, |depth| [i, j][depth]);
                    }
                });
                worksharing::end(member);
            });
            assert!(all_are(&done, 1), "{threads} threads, {dealing:?}");
        }
    }
}

#[test]
fn members_share_zeroed_memory() {
    for threads in TEAMS {
        region(threads, &|member| {
            for round in 0..40 {
                let bytes = 8 + 64 * (round % 5);
                let address =
                    worksharing::start_with(member, &counted(1, dynamic(1, true)), |shared| {
                        shared.memory(bytes)
                    });
                // SAFETY: the runtime gave the members this memory until the
                // loop's end; it is aligned and at least a word.
                let word = unsafe {
                    &*std::ptr::with_exposed_provenance::<AtomicU64>(address + bytes / 8 * 8 - 8)
                };
                word.fetch_add(1, Ordering::Relaxed);
                barrier::barrier(member, Wait::ExplicitBarrier);
                assert_eq!(word.load(Ordering::Relaxed), u64::from(threads));
                worksharing::end_nowait(member);
            }
        });
    }
}

#[test]
fn sections_run_once_each() {
    for threads in TEAMS {
        let done = zeroes(10);
        region(threads, &|member| {
            worksharing::start(member, &Loop::sections(10, 0));
            loop {
                match worksharing::next_section(member) {
                    0 => break,
                    section => done[section as usize - 1].fetch_add(1, Ordering::Relaxed),
                };
            }
            worksharing::end(member);
        });
        assert!(all_are(&done, 1));
    }
}

#[test]
fn locks_exclude() {
    let (lock, count) = (Lock::new(), AtomicI64::new(0));
    region(8, &|_| {
        for _ in 0..2000 {
            lock.acquire(Mutex::Lock, 0);
            // Not an atomic addition: only the lock protects it.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            lock.release();
        }
    });
    assert_eq!(count.into_inner(), 8 * 2000);
}

#[test]
fn nestable_locks_count() {
    let (lock, count) = (NestLock::new(), AtomicI64::new(0));
    region(8, &|member| {
        for _ in 0..500 {
            lock.acquire(member);
            assert_eq!(lock.try_acquire(member), 2);
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            lock.release();
            lock.release();
        }
        let depth = lock.try_acquire(member);
        assert!(depth <= 1);
        if depth == 1 {
            lock.release();
        }
    });
    assert_eq!(count.into_inner(), 8 * 500);
}
