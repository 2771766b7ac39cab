//! Regions over several nodes: everybody has a number, every iteration runs
//! once, in order where there is one, and nothing hangs.
#![allow(
    clippy::needless_range_loop,
    reason = "the loops are those of a program, over what its threads share"
)]
#![allow(missing_docs)]

mod mock;

use fathomp_omp::cluster::Cluster as _;
use fathomp_omp::observer::{Mutex, Wait};
use fathomp_omp::parallel::{Fork, parallel};
use fathomp_omp::sync::{self, Lock, NestLock};
use fathomp_omp::task::{self, Clauses, Work, reductions};
use fathomp_omp::team::Member;
use fathomp_omp::worksharing::{self, Cancel, Dealing, Iterations, Loop, Preset, single};
use fathomp_omp::{barrier, current, query, runtime};
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::task_arguments::Arguments;
use mock::{Mock, cluster, data};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Numbers of nodes and of threads on each.
const SHAPES: [(u32, u32); 6] = [(2, 1), (2, 2), (3, 1), (3, 3), (4, 1), (4, 2)];

type Body = fn(&'static Member, &'static [AtomicU64]);

extern "C" fn call_body(body: Opaque) {
    // SAFETY: `fork` passes a `Body` on; code lies at the same addresses on all
    // nodes, which were forked from one process.
    let body = unsafe { std::mem::transmute::<usize, Body>(body.0) };
    body(current(), data());
}

fn fork(threads: u32, preset: Option<Preset>, body: Body) {
    parallel(&Fork {
        // SAFETY: `call_body` may run on any thread with the data below.
        function: unsafe { Outlined::from_program(call_body) },
        data: Opaque(body as usize),
        threads,
        bind: None,
        call: 0,
        preset,
        called_by_program: false,
        caller: fathomp_omp::parallel::Caller::Gnu,
        prepare: None,
    });
}

fn region(threads: u32, body: Body) {
    fork(threads, None, body);
}

fn rest(member: &'static Member) {
    barrier::barrier(member, Wait::ExplicitBarrier);
}

/// Runs a program on clusters of all shapes. Its arguments are the cluster and
/// the number of threads on all nodes.
macro_rules! on_all_shapes {
    ($($(#[$attribute:meta])* fn $name:ident($mock:ident, $total:ident) $(in [$variables:expr])? $program:block)+) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            fn program($mock: &'static Mock) {
                let $total = $mock.nodes() * $mock.threads_per_node();
                $program
            }
            let variables: &[(&str, &str)] = &[$($variables)?];
            for (nodes, threads) in SHAPES {
                cluster(nodes, threads, variables, program);
            }
        }
    )+};
}

mod forking;
mod loops;
mod regions;

fn add(word: &AtomicU64) -> u64 {
    word.fetch_add(1, SeqCst)
}

fn get(word: &AtomicU64) -> u64 {
    word.load(SeqCst)
}

/// Checks that the first `count` words are `value`, and sets them to 0.
#[track_caller]
fn all_were(words: &[AtomicU64], count: u64, value: u64) {
    for (number, word) in words[..count as usize].iter().enumerate() {
        let was = word.swap(0, SeqCst);
        assert_eq!(was, value, "word {number} of {count}");
    }
}

const fn dynamic(chunk: u64, monotonic: bool) -> Dealing {
    Dealing::Dynamic { chunk, monotonic }
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

on_all_shapes! {
    fn members_are_numbered_over_the_nodes(mock, total) {
        assert_eq!(query::num_procs(), total as i32 as u32);
        assert_eq!(current().icvs().num_threads, total);
        for size in (1..=2 * total + 1).chain([0]) {
            region(size, |member, data| {
                let team = member.team();
                assert_eq!((team.level(), query::team_size(1)), (1, team.size() as i32));
                assert_eq!(query::ancestor_thread_num(0), 0);
                assert_eq!(query::team_size(0), 1);
                assert_eq!(team.active_level() > 0, team.size() > 1);
                add(&data[member.thread_num() as usize]);
                let process = u64::from(std::process::id());
                data[1000 + member.thread_num() as usize].store(process, SeqCst);
                data[2000].store(team.size().into(), SeqCst);
            });
            let size = if size == 0 { total } else { size };
            assert_eq!(get(&data()[2000]), u64::from(size));
            all_were(data(), size.into(), 1);
            let each = mock.threads_per_node().max(size.div_ceil(mock.nodes()));
            let processes = &data()[1000..1000 + size as usize];
            for (number, process) in processes.iter().enumerate() {
                let first = number / each as usize * each as usize;
                assert_eq!(get(process), get(&processes[first]));
                assert!(first == 0 || get(process) != get(&processes[first - 1]));
            }
        }
    }

    fn small_regions_stay_on_their_node(mock, _total) {
        let before = mock.messages();
        for size in 1..=mock.threads_per_node() {
            region(size, |member, data| {
                add(&data[0]);
                rest(member);
                worksharing::start(member, &counted(100, dynamic(1, true)));
                while worksharing::next(member).is_some() {}
                worksharing::end(member);
            });
        }
        assert_eq!(mock.messages(), before);
    }

    fn one_member_runs_a_single(_mock, total) {
        region(total, |member, data| {
            for number in 0..60 {
                if single::start(member) {
                    add(&data[number]);
                }
                if number % 20 == 7 {
                    rest(member);
                }
            }
        });
        all_were(data(), 60, 1);
    }

    fn all_members_get_what_one_broadcasts(_mock, total) {
        region(total, |member, data| {
            for round in 0..40 {
                let seen = match single::start_copy(member) {
                    None => {
                        let sent = 5 + member.thread_num() as usize + 1000 * round;
                        data[round].store(sent as u64, SeqCst);
                        single::finish_copy(member, sent);
                        sent
                    }
                    Some(seen) => seen,
                };
                assert_eq!(seen as u64, get(&data[round]));
                rest(member);
                add(&data[1000 + round]);
            }
        });
        all_were(&data()[1000..], 40, total.into());
    }

    fn locks_exclude_each_other_over_all_nodes(_mock, total) {
        /// Not an atomic addition: only a lock protects it.
        fn bump(word: &AtomicU64) {
            word.store(get(word) + 1, SeqCst);
        }
        region(total, |member, data| {
            // SAFETY: zeroed words that are used as locks only.
            let (lock, nest) = unsafe {
                let lock: *const Lock = data[100].as_ptr().cast();
                let nest: *const NestLock = data[102].as_ptr().cast();
                (&*lock, &*nest)
            };
            for _ in 0..40 {
                sync::critical().acquire(Mutex::Critical, 0);
                bump(&data[0]);
                sync::critical().release();
                lock.acquire(Mutex::Lock, 0);
                bump(&data[1]);
                sync::atomic().acquire(Mutex::Atomic, 0);
                bump(&data[2]);
                sync::atomic().release();
                lock.release();
                nest.acquire(member);
                assert_eq!(nest.try_acquire(member), 2);
                bump(&data[3]);
                nest.release();
                bump(&data[4]);
                nest.release();
                if nest.try_acquire(member) == 1 {
                    bump(&data[5]);
                    add(&data[6]);
                    nest.release();
                }
                if lock.try_acquire() {
                    bump(&data[7]);
                    add(&data[8]);
                    lock.release();
                }
            }
            rest(member);
            assert!(data[100..104].iter().all(|word| get(word) == 0), "their memory is not used");
        });
        all_were(data(), 5, 40 * u64::from(total));
        assert_eq!(get(&data()[5]), get(&data()[6]));
        assert_eq!(get(&data()[7]), get(&data()[8]));
    }

    fn a_lock_stays_held_from_region_to_region(_mock, total) {
        fn lock() -> &'static Lock {
            // SAFETY: a zeroed word that is used as a lock only.
            unsafe { &*data()[100].as_ptr().cast::<Lock>() }
        }
        lock().acquire(Mutex::Lock, 0);
        region(total, |_, _| assert!(!lock().try_acquire()));
        lock().release();
        region(total, |member, data| {
            if single::start(member) {
                assert!(lock().try_acquire());
                add(&data[0]);
            }
            rest(member);
            assert!(!lock().try_acquire());
        });
        all_were(data(), 1, 1);
    }

    fn nobody_passes_a_barrier_before_all_have_come(_mock, total) {
        for size in [total, total + 2] {
            region(size, |member, data| {
                let size = u64::from(member.team().size());
                for round in 0..100 {
                    assert!(add(&data[round]) < size);
                    rest(member);
                    assert_eq!(get(&data[round]), size);
                }
            });
            all_were(data(), 100, size.into());
        }
    }

    fn tasks_are_complete_at_the_next_barrier(_mock, total) {
        extern "C" fn count(word: Opaque) {
            // SAFETY: the block is the one word that is passed below.
            let number = unsafe { *std::ptr::with_exposed_provenance::<u64>(word.0) };
            add(&data()[number as usize]);
        }
        region(total, |member, data| {
            for round in 0..10_u64 {
                for _ in 0..20 {
                    let block = [round];
                    let address = Opaque(block.as_ptr().expose_provenance());
                    let work = Work {
                        // SAFETY: `count` may run anywhere with this data.
                        function: unsafe { Outlined::from_program(count) },
                        // SAFETY: one word, valid during the call.
                        arguments: unsafe { Arguments::from_program(address, 8, 8, None) },
                        head: &[],
                    };
                    let clauses = Clauses { deferrable: true, is_final: false, priority: 0, stays: false };
                    task::create(member, &work, clauses);
                }
                rest(member);
                assert_eq!(get(&data[round as usize]), 20 * u64::from(member.team().size()));
            }
        });
    }

    fn nested_teams_are_their_nodes_own(mock, total) in [("OMP_MAX_ACTIVE_LEVELS", "3")] {
        region(total, |member, data| {
            data[5000].store(member.team().size().into(), SeqCst);
            region(3, |inner, data| {
                let outer = query::ancestor_thread_num(1);
                assert_eq!(query::team_size(1) as u64, get(&data[5000]));
                assert_eq!((inner.team().size(), inner.team().level()), (3, 2));
                add(&data[outer as usize * 3 + inner.thread_num() as usize]);
                rest(inner);
                worksharing::start(inner, &counted(50, dynamic(1, false)));
                while let Some((from, _)) = worksharing::next(inner) {
                    add(&data[1000 + 50 * outer as usize + from as usize]);
                }
                worksharing::end(inner);
                assert!(inner.thread_num() < 3);
            });
            rest(member);
        });
        all_were(data(), 3 * u64::from(total), 1);
        all_were(&data()[1000..], 50 * u64::from(total), 1);
        assert!(mock.nodes() > 1);
    }

    fn a_region_inside_an_inactive_one_is_spread(_mock, total) {
        region(1, |_, data| {
            data[5000].store(u64::from(std::process::id()), SeqCst);
            region(0, |member, data| {
                assert_eq!((member.team().level(), member.team().active_level()), (2, 1));
                assert_eq!((query::team_size(1), query::ancestor_thread_num(1)), (1, 0));
                add(&data[member.thread_num() as usize]);
                data[1000].fetch_max(u64::from(std::process::id() as u64 != get(&data[5000])), SeqCst);
            });
        });
        all_were(data(), total.into(), 1);
        all_were(&data()[1000..], 1, 1);
    }

    fn a_cancelled_region_ends_on_all_nodes(_mock, total) in [("OMP_CANCELLATION", "true")] {
        assert!(runtime().settings.cancellation);
        for round in 0..20 {
            data()[0].store(round, SeqCst);
            region(total, |member, data| {
                let round = get(&data[0]);
                let size = member.team().size();
                for step in 0..1000 {
                    if step == round && u64::from(member.thread_num()) == round % u64::from(size)
                        && worksharing::cancel(member, Cancel::Parallel)
                    {
                        return;
                    }
                    if barrier::cancellable(member, Wait::ExplicitBarrier) {
                        return;
                    }
                }
                add(&data[1]);
            });
            region(total, |member, data| {
                rest(member);
                if single::start(member) {
                    add(&data[2]);
                }
            });
        }
        assert_eq!(get(&data()[1]), 0, "nobody came to the end");
        assert_eq!(get(&data()[2]), 20);
    }

    fn a_cancelled_loop_is_given_up(_mock, total) in [("OMP_CANCELLATION", "true")] {
        region(total, |member, data| {
            worksharing::start(member, &counted(1 << 30, dynamic(1, true)));
            while worksharing::next(member).is_some() {
                if add(&data[0]) > 50 {
                    assert!(worksharing::cancel(member, Cancel::Worksharing));
                }
                if worksharing::is_cancelled(member, Cancel::Worksharing) {
                    break;
                }
            }
            worksharing::end(member);
        });
        assert!(get(&data()[0]) > 50);
    }

    fn members_share_a_loops_memory(_mock, total) {
        region(total, |member, data| {
            let team = u64::from(member.team().size());
            for round in 0..10 {
                let wanted = counted(10, Dealing::Static { chunk: 0 });
                let address = worksharing::start_with(member, &wanted, |shared| shared.memory(100));
                assert_eq!(address % 64, 0);
                let place = &data[round];
                let known = place.compare_exchange(0, address as u64, SeqCst, SeqCst);
                assert!(known.is_ok_and(|_| true) || get(place) == address as u64);
                // SAFETY: 100 zeroed bytes that only this construct uses.
                let words = unsafe {
                    &*std::ptr::with_exposed_provenance::<[AtomicU64; 12]>(address)
                };
                words.iter().for_each(|word| {
                    add(word);
                });
                worksharing::end(member);
                assert!(words.iter().all(|word| get(word) == team));
                rest(member);
            }
        });
    }

    fn members_share_the_copies_of_task_reductions(_mock, total) {
        region(total, |member, data| {
            for round in 0..5 {
                let sizes = || vec![(64, 8), (256, 64)];
                let local = |_, _| unreachable!("the cluster has memory for this");
                let copies = reductions::begin_workshare(member, sizes, local);
                let [[first, first_end], [second, second_end]] = copies[..] else {
                    panic!("two tables, two pieces");
                };
                assert_eq!((first_end - first, second_end - second, second % 64), (64, 256, 0));
                if single::start(member) {
                    data[round].store(first as u64, SeqCst);
                    data[100 + round].store(second as u64, SeqCst);
                }
                rest(member);
                assert_eq!((first, second), (
                    get(&data[round]) as usize,
                    get(&data[100 + round]) as usize,
                ));
                assert_eq!(reductions::end_workshare(member), None);
                rest(member);
            }
        });
    }

    fn the_thread_limit_counts_all_nodes(_mock, total) in [("OMP_THREAD_LIMIT", "2")] {
        region(total, |member, data| {
            assert_eq!(member.team().size(), 2);
            add(&data[member.thread_num() as usize]);
        });
        all_were(data(), 2, 1);
    }

    fn settings_travel_with_the_region(_mock, total) in [("OMP_NUM_THREADS", "64,5,4")] {
        assert_eq!(current().icvs().num_threads, 64);
        let mut icvs = current().icvs();
        icvs.default_device = 7;
        icvs.schedule.chunk = 99;
        current().set_icvs(icvs);
        region(total, |member, data| {
            let icvs = member.icvs();
            assert_eq!((icvs.num_threads, icvs.num_threads_inner), (5, &[4][..]));
            assert_eq!((icvs.default_device, icvs.schedule.chunk), (7, 99));
            add(&data[0]);
        });
        all_were(data(), 1, total.into());
    }
}
