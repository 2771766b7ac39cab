//! Tasks on real threads: nothing runs twice, nothing is forgotten, and
//! whoever waits has waited for everything.
// A program of its own: all tests of a process share the runtime's threads.
#![allow(missing_docs)]

use fathomp_omp::observer::Wait;
use fathomp_omp::parallel::{Fork, parallel};
use fathomp_omp::task::{self, Access, Clauses, Dependence, Work};
use fathomp_omp::{barrier, current};
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::task_arguments::Arguments;
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const TEAMS: [u32; 5] = [1, 2, 3, 8, 2];

/// A test that waits for ever says so instead.
fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(300));
            eprintln!("a test of tasks did not end within five minutes");
            process::abort();
        });
    });
}

type Body<'a> = &'a (dyn Fn() + Sync);

extern "C" fn call_body(data: Opaque) {
    let body = std::ptr::with_exposed_provenance::<Body>(data.0);
    // SAFETY: `region` passes the address of a body that lives until the
    // region has ended.
    unsafe { (*body)() }
}

/// Runs `body` in a team of `threads`.
fn region(threads: u32, body: Body) {
    watch();
    let data = Opaque((&raw const body).expose_provenance());
    parallel(&Fork {
        // SAFETY: `call_body` may run anywhere with this data.
        function: unsafe { Outlined::from_program(call_body) },
        data,
        threads,
        bind: None,
        call: 0,
        preset: None,
        called_by_program: false,
        caller: fathomp_omp::parallel::Caller::Gnu,
        prepare: None,
    });
}

type Code = Box<dyn FnOnce() + Send>;

extern "C" fn call_code(data: Opaque) {
    let block = std::ptr::with_exposed_provenance::<usize>(data.0);
    // SAFETY: the block is the one word that `work` made, and each task runs
    // once, so the box is taken once.
    let code = unsafe {
        let code = std::ptr::with_exposed_provenance_mut::<Code>(block.read());
        Box::from_raw(code)
    };
    code();
}

/// Calls `create` with work that runs `code`, which may borrow what outlives
/// the region.
fn work<'a>(code: impl FnOnce() + Send + 'a, create: impl FnOnce(&Work)) {
    let code: Box<dyn FnOnce() + Send + 'a> = Box::new(code);
    // SAFETY: only the lifetime changes; the tests' regions end, and with them
    // all tasks, before what the code borrows does.
    let code = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'a>, Code>(code) };
    let block = [Box::into_raw(Box::new(code)).expose_provenance()];
    let address = Opaque(block.as_ptr().expose_provenance());
    create(&Work {
        // SAFETY: as in `region`.
        function: unsafe { Outlined::from_program(call_code) },
        // SAFETY: one word, valid during the call; the runtime has no head to
        // write into it.
        arguments: unsafe { Arguments::from_program(address, 8, 8, None) },
        head: &[],
    });
}

const DEFERRABLE: Clauses = Clauses {
    deferrable: true,
    is_final: false,
    priority: 0,
    stays: false,
};

fn spawn<'a>(code: impl FnOnce() + Send + 'a) {
    work(code, |work| task::create(current(), work, DEFERRABLE));
}

fn spawn_after<'a>(dependences: &[Dependence], code: impl FnOnce() + Send + 'a) {
    work(code, |work| {
        task::create_special(current(), work, DEFERRABLE, dependences, None);
    });
}

fn item(address: usize, access: Access) -> Dependence {
    Dependence { address, access }
}

fn meet() {
    barrier::barrier(current(), Wait::ExplicitBarrier);
}

fn add(count: &AtomicU32) {
    count.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn barriers_wait_for_the_tasks_before_them() {
    for threads in TEAMS {
        let done = AtomicU32::new(0);
        region(threads, &|| {
            for round in 1..=50 {
                for _ in 0..40 {
                    spawn(|| add(&done));
                }
                meet();
                let expected = round * 40 * threads;
                assert!(done.load(Ordering::Relaxed) >= expected);
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 50 * 40 * threads);
    }
}

fn fibonacci(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (first, second) = (AtomicU32::new(0), AtomicU32::new(0));
    spawn(|| first.store(fibonacci(n - 1), Ordering::Relaxed));
    spawn(|| second.store(fibonacci(n - 2), Ordering::Relaxed));
    task::wait(current());
    first.into_inner() + second.into_inner()
}

#[test]
fn recursion_waits_for_its_children() {
    for threads in TEAMS {
        let wrong = AtomicU32::new(0);
        region(threads, &|| {
            if fibonacci(17) != 1597 {
                add(&wrong);
            }
        });
        assert_eq!(wrong.into_inner(), 0);
    }
}

/// Every task creates two more and ends without waiting for them.
fn fire_and_forget(depth: u32, done: &AtomicU32) {
    add(done);
    if depth > 0 {
        for _ in 0..2 {
            spawn(move || fire_and_forget(depth - 1, done));
        }
    }
}

#[test]
fn children_may_outlive_their_parents() {
    for round in 0..40 {
        let threads = TEAMS[round % TEAMS.len()];
        let done = AtomicU32::new(0);
        region(threads, &|| fire_and_forget(8, &done));
        assert_eq!(done.into_inner(), 511 * threads);
    }
}

#[test]
fn docked_workers_help_and_are_gone_when_the_region_ends() {
    for round in 0..300 {
        let threads = TEAMS[1 + round % 4];
        let done = AtomicU32::new(0);
        region(threads, &|| {
            if current().thread_num() == 0 {
                for _ in 0..round {
                    spawn(|| add(&done));
                }
            }
        });
        assert_eq!(done.into_inner(), round as u32);
        // A region without tasks in between, of another size.
        region(1 + threads % 3, &|| {});
    }
}

#[test]
fn groups_wait_for_descendants() {
    for threads in TEAMS {
        let wrong = AtomicU32::new(0);
        region(threads, &|| {
            for _ in 0..20 {
                let done = AtomicU32::new(0);
                task::group_start(current());
                spawn(|| fire_and_forget(5, &done));
                fire_and_forget(5, &done);
                task::group_end(current());
                if done.into_inner() != 126 {
                    add(&wrong);
                }
            }
        });
        assert_eq!(wrong.into_inner(), 0);
    }
}

#[test]
fn dependent_tasks_come_in_order() {
    const LINKS: u64 = 5000;
    for threads in TEAMS {
        let last = AtomicU64::new(0);
        let wrong = AtomicU32::new(0);
        region(threads, &|| {
            if current().thread_num() != 0 {
                return;
            }
            let (last, wrong) = (&last, &wrong);
            for number in 0..LINKS {
                // A writer and two readers that see what it wrote.
                spawn_after(&[item(8, Access::Out)], move || {
                    if last.swap(number + 1, Ordering::Relaxed) != number {
                        add(wrong);
                    }
                });
                for _ in 0..2 {
                    spawn_after(&[item(8, Access::In)], move || {
                        if last.load(Ordering::Relaxed) != number + 1 {
                            add(wrong);
                        }
                    });
                }
            }
            task::wait_depend(current(), &[item(8, Access::In)]);
            if last.load(Ordering::Relaxed) != LINKS {
                add(wrong);
            }
        });
        assert_eq!(wrong.into_inner(), 0);
    }
}

#[test]
fn events_may_be_fulfilled_from_anywhere() {
    for threads in TEAMS {
        let after = AtomicU32::new(0);
        region(threads, &|| {
            for round in 0..10 {
                let event = task::new_event();
                let handle = event.handle();
                let fulfill = move || {
                    assert!(task::fulfill(handle).is_ok());
                    assert!(task::fulfill(handle).is_err());
                };
                let after = &after;
                let place = 8 * (1 + current().thread_num() as usize);
                let outsider = match round % 3 {
                    0 => Some(thread::spawn(move || {
                        thread::sleep(Duration::from_millis(2));
                        fulfill();
                    })),
                    _ => None,
                };
                let body = move || {
                    if round % 3 == 1 {
                        fulfill();
                    }
                };
                work(body, |work| {
                    let writes = [item(place, Access::Out)];
                    task::create_special(current(), work, DEFERRABLE, &writes, Some(&event));
                });
                spawn_after(&[item(place, Access::In)], move || add(after));
                if round % 3 == 2 {
                    fulfill();
                }
                task::wait(current());
                if let Some(outsider) = outsider {
                    outsider.join().unwrap();
                }
            }
        });
        assert_eq!(after.into_inner(), 10 * threads);
    }
}

/// A tree whose shape and constructs follow from `seed` alone; returns its size.
fn tree(seed: u64, depth: u32, done: &AtomicU32) -> u32 {
    add(done);
    let mut size = 1;
    if depth == 0 {
        return size;
    }
    let grouped = seed.is_multiple_of(5);
    if grouped {
        task::group_start(current());
    }
    let children = seed % 4;
    for child in 0..children {
        let seed = child_seed(seed, child);
        size += size_of_tree(seed, depth - 1);
        let clauses = Clauses {
            deferrable: !seed.is_multiple_of(7),
            is_final: seed.is_multiple_of(11),
            priority: u32::from(seed.is_multiple_of(13)),
            stays: false,
        };
        let code = move || {
            tree(seed, depth - 1, done);
        };
        if seed.is_multiple_of(3) {
            let after = [item((seed % 2) as usize, Access::Out)];
            work(code, |work| {
                task::create_special(current(), work, clauses, &after, None);
            });
        } else {
            work(code, |work| task::create(current(), work, clauses));
        }
        if seed % 6 == 1 {
            task::yield_now(current());
        }
    }
    if seed % 3 == 1 {
        task::wait(current());
    }
    if grouped {
        task::group_end(current());
    }
    size
}

fn child_seed(seed: u64, child: u64) -> u64 {
    (seed ^ child)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23)
}

fn size_of_tree(seed: u64, depth: u32) -> u32 {
    if depth == 0 {
        return 1;
    }
    1 + (0..seed % 4)
        .map(|child| size_of_tree(child_seed(seed, child), depth - 1))
        .sum::<u32>()
}

#[test]
fn trees_of_all_constructs_are_run_whole() {
    for round in 0..60_u64 {
        let threads = TEAMS[round as usize % TEAMS.len()];
        let done = AtomicU32::new(0);
        let expected = AtomicU32::new(0);
        region(threads, &|| {
            let num = u64::from(current().thread_num());
            let seed = (round * 8 + num + 1).wrapping_mul(0x2545_f491_4f6c_dd1d) | 3;
            let size = size_of_tree(seed, 9);
            expected.fetch_add(size, Ordering::Relaxed);
            tree(seed, 9, &done);
            meet();
            spawn(|| add(&done));
            expected.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), expected.into_inner());
    }
}

#[test]
fn regions_inside_tasks_have_tasks_of_their_own() {
    let done = AtomicU32::new(0);
    region(2, &|| {
        for _ in 0..10 {
            spawn(|| region(2, &|| fire_and_forget(4, &done)));
        }
        task::wait(current());
    });
    // One thread or two each: nested regions may be serialised.
    let ran = done.into_inner();
    assert!(ran == 20 * 31 || ran == 20 * 62, "{ran}");
}
