//! Whatever stands in a nest, the answer is numbers in their bounds, and soon.

use fathomp_cache_model::{Cache, Nest, NestAccess, NestLoop, Pattern, Repetition, Traffic, Trips};
use fathomp_regions::Direction;
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-100_i32..1000).prop_map(f64::from),
        (-4_i32..9).prop_map(|number| f64::from(number) * 8.0),
        any::<f64>(),
        Just(1e18),
        Just(f64::NAN),
    ]
}

fn one_loop() -> impl Strategy<Value = NestLoop> {
    let slopes = prop::collection::vec((0_usize..6, number()), 0..2);
    (prop::option::of(0_usize..6), any::<u64>(), number(), slopes).prop_map(
        |(parent, at, constant, slopes)| NestLoop {
            parent,
            at,
            trips: Trips { constant, slopes },
        },
    )
}

fn access() -> impl Strategy<Value = NestAccess> {
    let strides = prop::collection::vec((0_usize..7, number()), 0..4);
    let affine =
        (number(), strides).prop_map(|(start, strides)| Pattern::Affine { start, strides });
    let pattern = prop_oneof![
        4 => affine,
        1 => prop::option::of(number()).prop_map(Pattern::Random),
    ];
    (
        any::<u64>(),
        prop::option::of(0_usize..7),
        0_u32..3,
        pattern,
        number(),
        number(),
        0..3,
        any::<bool>(),
    )
        .prop_map(
            |(at, inside, base, pattern, bytes, probability, direction, non_temporal)| NestAccess {
                at,
                inside,
                direction: match direction {
                    0 => Direction::Read,
                    1 => Direction::Write,
                    _ => Direction::ReadWrite,
                },
                bytes,
                base,
                pattern,
                probability,
                non_temporal,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_nest_has_an_answer(
        loops in prop::collection::vec(one_loop(), 0..6),
        accesses in prop::collection::vec(access(), 0..8),
        bytes in any::<u64>(),
        line in any::<u32>(),
        ways in any::<u32>(),
        times in number(),
        warm in any::<bool>(),
    ) {
        let nest = Nest { loops, accesses, ..Nest::default() };
        let caches = [Cache::new(32 << 10, 8), Cache { bytes, line, ways }, Cache::pages(64, 4)];
        let start = Instant::now();
        let traffic = Traffic::of(&nest, &caches, Repetition { times, warm, elsewhere: times });
        prop_assert!(nest.extents().iter().all(|(low, high)| low <= high));
        prop_assert!(start.elapsed() < Duration::from_secs(20));
        for access in &traffic.accesses {
            prop_assert!(access.executions >= 0.0 && access.executions.is_finite());
            for misses in &access.misses {
                prop_assert!(
                    0.0 <= misses.low && misses.low <= misses.expected
                        && misses.expected <= misses.high && misses.high <= 8.0,
                    "{misses:?}"
                );
            }
        }
        prop_assert!(traffic.bytes_memory().expected.is_finite());
        prop_assert!(traffic.footprint_bytes.is_finite());
    }
}
