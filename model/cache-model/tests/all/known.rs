//! Nests whose misses are known.

use fathomp_cache_model::{Cache, Nest, NestAccess, NestLoop, Pattern, Repetition, Traffic, Trips};
use fathomp_regions::Direction::{self, Read, Write};

const L1: Cache = Cache {
    bytes: 32 << 10,
    line: 64,
    ways: 8,
};
const LLC: Cache = Cache {
    bytes: 1 << 20,
    line: 64,
    ways: 16,
};

/// Loops in a chain, outermost first.
fn chain(trips: &[f64]) -> Nest {
    Nest {
        loops: trips
            .iter()
            .enumerate()
            .map(|(index, trips)| NestLoop {
                parent: index.checked_sub(1),
                at: 16 * index as u64,
                trips: Trips::of(*trips),
            })
            .collect(),
        ..Nest::default()
    }
}

fn access(
    nest: &mut Nest,
    base: u32,
    direction: Direction,
    start: i64,
    inside: usize,
    strides: &[(usize, f64)],
) {
    nest.accesses.push(NestAccess {
        at: 1000 + nest.accesses.len() as u64,
        inside: Some(inside),
        direction,
        bytes: 8.0,
        base,
        pattern: Pattern::Affine {
            start: start as f64,
            strides: strides.to_vec(),
        },
        probability: 1.0,
        non_temporal: false,
    });
}

fn misses(nest: &Nest, repetition: Repetition) -> Vec<(f64, f64)> {
    let traffic = Traffic::of(nest, &[L1, LLC], repetition);
    traffic
        .accesses
        .iter()
        .map(|one| (one.misses[0].expected, one.misses[1].expected))
        .collect()
}

fn close(found: f64, wanted: f64) {
    assert!(
        (found - wanted).abs() < 0.012,
        "{found} instead of {wanted}"
    );
}

#[test]
fn a_stream_misses_once_a_line_and_a_fitting_one_only_cold() {
    let mut nest = chain(&[1e6]);
    access(&mut nest, 0, Read, 0, 0, &[(0, 8.0)]);
    access(&mut nest, 0, Write, 0, 0, &[(0, 8.0)]);
    let found = misses(&nest, Repetition::WARM);
    close(found[0].0, 0.125);
    close(found[0].1, 0.125);
    close(found[1].0, 0.0);
    let traffic = Traffic::of(&nest, &[L1, LLC], Repetition::WARM);
    close(traffic.levels[1].bytes_in.expected / 8e6, 1.0);
    close(traffic.levels[1].bytes_out.expected / 8e6, 1.0);
    close(traffic.footprint_bytes / 8e6, 1.0);

    let mut nest = chain(&[1e4]);
    access(&mut nest, 0, Read, 0, 0, &[(0, 8.0)]);
    let found = misses(&nest, Repetition::WARM);
    close(found[0].0, 0.125);
    close(found[0].1, 0.0);
    let found = misses(&nest, Repetition::COLD);
    close(found[0].1, 0.125);
}

/// C[i][j] += A[i][k] * B[k][j] in i, k, j.
#[test]
fn a_product_of_matrices_keeps_the_row_that_it_writes() {
    let n = 400.0;
    let mut nest = chain(&[n, n, n]);
    let row = n * 8.0;
    access(&mut nest, 0, Read, 0, 1, &[(0, row), (1, 8.0)]);
    access(&mut nest, 1, Read, 0, 2, &[(1, row), (2, 8.0)]);
    access(&mut nest, 2, Read, 0, 2, &[(0, row), (2, 8.0)]);
    access(&mut nest, 2, Write, 0, 2, &[(0, row), (2, 8.0)]);
    let found = misses(&nest, Repetition::WARM);
    close(found[1].0, 0.125);
    close(found[2].0, 0.0);
    close(found[3].0, 0.0);
    // B has 1.28 MB: it does not fit 1 MiB.
    close(found[1].1, 0.125);
    close(found[2].1, 0.0);
}

#[test]
fn of_a_stencil_the_leading_row_misses_if_rows_fit() {
    for (n, middle_l1) in [(1000.0, 0.0), (4000.0, 0.125)] {
        let mut nest = chain(&[n - 2.0, n - 2.0]);
        let row = n as i64 * 8;
        for (di, dj) in [(0, -1), (0, 1), (0, 0), (-1, 0), (1, 0)] {
            let start = (1 + di) * row + (1 + dj) * 8;
            access(&mut nest, 0, Read, start, 1, &[(0, row as f64), (1, 8.0)]);
        }
        access(
            &mut nest,
            1,
            Write,
            row + 8,
            1,
            &[(0, row as f64), (1, 8.0)],
        );
        let found = misses(&nest, Repetition::WARM);
        close(found[0].0, 0.0);
        close(found[1].0, middle_l1);
        close(found[2].0, 0.0);
        close(found[3].0, middle_l1);
        close(found[4].0, 0.125);
        close(found[4].1, 0.125);
        close(found[3].1, 0.0);
        close(found[5].0, 0.125);
    }
}

#[test]
fn columns_miss_always_unless_their_lines_stay() {
    for (rows, l1) in [(5000.0, 1.0), (300.0, 0.125)] {
        let mut nest = chain(&[1000.0, rows]);
        access(&mut nest, 0, Read, 0, 1, &[(0, 8.0), (1, 8008.0)]);
        let found = misses(&nest, Repetition::WARM);
        close(found[0].0, l1);
    }
}

#[test]
fn random_accesses_hit_as_much_as_the_cache_holds_of_their_range() {
    let mut nest = chain(&[1e6]);
    access(&mut nest, 0, Read, 0, 0, &[]);
    nest.accesses[0].pattern = Pattern::Random(Some(4.0 * f64::from(1 << 20)));
    let found = misses(&nest, Repetition::WARM);
    assert!((found[0].1 - 0.75).abs() < 0.03, "{found:?}");
    nest.accesses[0].pattern = Pattern::Random(None);
    let traffic = Traffic::of(&nest, &[LLC], Repetition::WARM);
    let unknown = traffic.accesses[0].misses[0];
    assert_eq!((unknown.low, unknown.high), (0.0, 1.0));
    assert!(traffic.accesses[0].far);
}
