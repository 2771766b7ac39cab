//! What a region brings along, and which threads leave it for good.

use super::mock::{Mock, cluster, data};
use super::{SHAPES, add, all_were, call_body, region, rest};
use fathomp_omp::cluster::Cluster as _;
use fathomp_omp::observer::Mutex;
use fathomp_omp::parallel::{Fork, parallel};
use fathomp_omp::sync;
use fathomp_omp::task::reductions;
use fathomp_omp::worksharing::single;
use fathomp_sys::outlined::{Opaque, Outlined};
use std::cell::Cell;

on_all_shapes! {
    fn a_regions_reductions_are_known_everywhere(_mock, total) {
        let formed = Cell::new(None);
        let body: super::Body = |member, data| {
            assert_eq!(reductions::table(member), 0x7000);
            add(&data[member.thread_num() as usize]);
        };
        for _ in 0..3 {
            parallel(&Fork {
                // SAFETY: `call_body` may run on any thread with this data.
                function: unsafe { Outlined::from_program(call_body) },
                data: Opaque(body as usize),
                threads: total,
                bind: None,
                call: 0,
                preset: None,
                called_by_program: false,
                caller: fathomp_omp::parallel::Caller::Gnu,
                prepare: Some(&|team, size| {
                    formed.set(Some((team, size)));
                    reductions::begin_region(team, 0x7000);
                }),
            });
            let (team, size) = formed.take().unwrap();
            assert_eq!(size, total);
            reductions::end_region(team);
            region(total, |member, _| assert_eq!(reductions::table(member), 0));
            all_were(data(), total.into(), 1);
        }
    }

    fn whoever_forks_a_process_goes_on_alone(_mock, total) {
        region(total, |member, data| {
            if member.thread_num() == 0 {
                // SAFETY: the child uses nothing but the runtime, which
                // survives a fork, and ends with `_exit`.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // No barrier, lock or region waits for the others.
                    rest(member);
                    sync::critical().acquire(Mutex::Critical, 0);
                    sync::critical().release();
                    region(1, |inner, _| assert_eq!(inner.team().size(), 1));
                    let alone = member.team().size() == 1 && single::start(member);
                    // SAFETY: ends the process.
                    unsafe { libc::_exit(i32::from(!alone)) };
                }
                let mut status = 0;
                // SAFETY: waits for a child of ours; `status` is a local.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0);
            }
            rest(member);
            add(&data[0]);
        });
        all_were(data(), 1, total.into());
    }
}
