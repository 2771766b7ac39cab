//! Loops over several nodes: every iteration runs once, however they are dealt,
//! and in order where there is one.

use super::mock::{Mock, cluster, data};
use super::{SHAPES, SeqCst, add, all_were, counted, dynamic, fork, get, region};
use fathomp_omp::cluster::Cluster as _;
use fathomp_omp::worksharing::{self, Dealing, Loop, Preset, doacross};

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

const COUNTS: [u64; 7] = [0, 1, 2, 5, 31, 100, 1000];

on_all_shapes! {
    fn every_iteration_runs_once(_mock, total) {
        for size in [total, total + 1, total - total / 2, 3] {
            region(size, |member, data| {
                for (number, dealing) in DEALINGS.into_iter().enumerate() {
                    let ascending = !matches!(dealing, Dealing::Dynamic { monotonic: false, .. });
                    for count in COUNTS {
                        worksharing::start(member, &counted(count, dealing));
                        let mut last = None;
                        while let Some((from, to)) = worksharing::next(member) {
                            assert!(from < to && to <= count);
                            assert!(last <= Some(from) || !ascending);
                            data[from as usize..to as usize].iter().for_each(|word| {
                                add(word);
                            });
                            last = Some(to);
                        }
                        if number % 2 == 0 {
                            worksharing::end(member);
                        } else {
                            worksharing::end_nowait(member);
                        }
                    }
                }
            });
            let times = |iteration: u64| {
                let loops = COUNTS.iter().filter(|&&count| iteration < count).count();
                (loops * DEALINGS.len()) as u64
            };
            for (iteration, word) in data()[..1000].iter().enumerate() {
                assert_eq!(word.swap(0, SeqCst), times(iteration as u64), "{iteration}");
            }
        }
    }

    fn combined_regions_begin_in_their_loop(_mock, total) {
        for dealing in DEALINGS {
            for count in COUNTS {
                fork(total, Some(Preset(counted(count, dealing))), |member, data| {
                    while let Some((from, to)) = worksharing::next(member) {
                        data[from as usize..to as usize].iter().for_each(|word| {
                            add(word);
                        });
                    }
                    worksharing::end_nowait(member);
                });
                all_were(data(), count, 1);
            }
        }
    }

    fn batches_save_messages(mock, total) {
        let before = mock.messages();
        region(total, |member, data| {
            worksharing::start(member, &counted(5000, dynamic(1, false)));
            while let Some((from, _)) = worksharing::next(member) {
                add(&data[from as usize]);
            }
            worksharing::end(member);
        });
        all_were(data(), 5000, 1);
        assert!(mock.messages() - before < 2500);
    }

    fn sections_run_once(_mock, total) {
        region(total, |member, data| {
            for count in 1..20 {
                worksharing::start(member, &Loop::sections(count, 0));
                loop {
                    match worksharing::next_section(member) {
                        0 => break,
                        section => add(&data[section as usize - 1]),
                    };
                }
                worksharing::end_nowait(member);
            }
        });
        for section in 0..19 {
            assert_eq!(data()[section].swap(0, SeqCst), 19 - section as u64);
        }
    }

    fn ordered_loops_run_in_order(_mock, total) {
        for size in [total, total + 1] {
            region(size, |member, data| {
                let mut number = 0;
                for dealing in DEALINGS {
                    if matches!(dealing, Dealing::Dynamic { monotonic: false, .. }) {
                        continue;
                    }
                    for count in [0, 1, 3, 40, 111] {
                        let next = &data[number];
                        number += 1;
                        worksharing::start(member, &Loop { ordered: true, ..counted(count, dealing) });
                        while let Some((from, to)) = worksharing::next_ordered(member) {
                            for iteration in from..to {
                                // Some iterations have no ordered part.
                                if iteration % 7 != 3 {
                                    worksharing::enter_ordered(member);
                                    assert!(get(next) <= iteration);
                                    next.store(iteration + 1, SeqCst);
                                }
                            }
                        }
                        if number % 3 == 0 {
                            worksharing::end(member);
                        } else {
                            worksharing::end_nowait(member);
                        }
                    }
                }
                data[999].store(number as u64, SeqCst);
            });
            for number in 0..get(&data()[999]) as usize {
                let count = [0, 1, 3, 40, 111][number % 5];
                assert_eq!(data()[number].swap(0, SeqCst), count);
            }
        }
    }

    fn doacross_loops_wait_for_what_they_name(_mock, total) {
        for size in [total, total + 1] {
            region(size, |member, data| {
                const WIDTH: u64 = 9;
                const HEIGHT: u64 = 23;
                let dealings = [
                    Dealing::Static { chunk: 0 },
                    Dealing::Static { chunk: 2 },
                    dynamic(1, true),
                    dynamic(3, true),
                    Dealing::Guided { chunk: 1 },
                ];
                for (round, dealing) in dealings.into_iter().enumerate() {
                    let done = |i: u64, j: u64| &data[round * 1000 + (i * WIDTH + j) as usize];
                    worksharing::start_with(member, &counted(HEIGHT, dealing), |shared| {
                        doacross::set_up(member, shared, &[HEIGHT, WIDTH], dealing);
                    });
                    while let Some((from, to)) = worksharing::next(member) {
                        for (i, j) in (from..to).flat_map(|i| (0..WIDTH).map(move |j| (i, j))) {
                            if i > 0 {
                                let after = (j + 1).min(WIDTH - 1);
                                doacross::wait(member, |depth| [i - 1, after][depth]);
                                assert_eq!(get(done(i - 1, after)), 1);
                            }
                            add(done(i, j));
                            doacross::post(member, |depth| [i, j][depth]);
                        }
                    }
                    worksharing::end_nowait(member);
                }
            });
            for round in 0..5 {
                all_were(&data()[round * 1000..], 9 * 23, 1);
            }
        }
    }
}
