//! The model against an exact simulation of the same nests.

use crate::common::{add, add_loop, simulate};
use fathomp_cache_model::{Cache, Nest, Repetition, Traffic};
use fathomp_regions::Direction::{Read, Write};

const CACHES: [Cache; 2] = [
    Cache {
        bytes: 32 << 10,
        line: 64,
        ways: 8,
    },
    Cache {
        bytes: 256 << 10,
        line: 64,
        ways: 16,
    },
];

/// Bytes of an element.
const E: f64 = 8.0;

type Made = (&'static str, Nest);

fn gemm(ni: f64, nj: f64, nk: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, ni, &[]);
    let scale = add_loop(&mut nest, Some(i), nj, &[]);
    add(&mut nest, (0, Read), scale, 0.0, &[(i, nj * E), (scale, E)]);
    add(
        &mut nest,
        (0, Write),
        scale,
        0.0,
        &[(i, nj * E), (scale, E)],
    );
    let k = add_loop(&mut nest, Some(i), nk, &[]);
    add(&mut nest, (1, Read), k, 0.0, &[(i, nk * E), (k, E)]);
    let j = add_loop(&mut nest, Some(k), nj, &[]);
    add(&mut nest, (2, Read), j, 0.0, &[(k, nj * E), (j, E)]);
    add(&mut nest, (0, Read), j, 0.0, &[(i, nj * E), (j, E)]);
    add(&mut nest, (0, Write), j, 0.0, &[(i, nj * E), (j, E)]);
    ("gemm", nest)
}

/// The inner product in i, j, k: B by columns.
fn gemm_ijk(n: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, n, &[]);
    let j = add_loop(&mut nest, Some(i), n, &[]);
    let k = add_loop(&mut nest, Some(j), n, &[]);
    add(&mut nest, (0, Read), k, 0.0, &[(i, n * E), (k, E)]);
    add(&mut nest, (1, Read), k, 0.0, &[(k, n * E), (j, E)]);
    add(&mut nest, (2, Write), j, 0.0, &[(i, n * E), (j, E)]);
    ("gemm-ijk", nest)
}

fn mvt(n: f64, block: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, n, &[]);
    add(&mut nest, (0, Read), i, 0.0, &[(i, E)]);
    let j = add_loop(&mut nest, Some(i), n, &[]);
    add(&mut nest, (4, Read), j, 0.0, &[(i, n * E), (j, E)]);
    add(&mut nest, (2, Read), j, 0.0, &[(j, E)]);
    add(&mut nest, (0, Write), i, 0.0, &[(i, E)]);
    let b = add_loop(&mut nest, None, (n / block).floor(), &[]);
    let i = add_loop(&mut nest, Some(b), n, &[]);
    add(&mut nest, (3, Read), i, 0.0, &[(i, E)]);
    let j = add_loop(&mut nest, Some(i), block, &[]);
    add(&mut nest, (1, Read), j, 0.0, &[(b, block * E), (j, E)]);
    add(
        &mut nest,
        (4, Read),
        j,
        0.0,
        &[(b, block * E), (i, n * E), (j, E)],
    );
    add(&mut nest, (1, Write), j, 0.0, &[(b, block * E), (j, E)]);
    ("mvt", nest)
}

fn jacobi_2d(n: f64) -> Made {
    let mut nest = Nest::default();
    for (from, to) in [(0, 1), (1, 0)] {
        let i = add_loop(&mut nest, None, n - 2.0, &[]);
        let j = add_loop(&mut nest, Some(i), n - 2.0, &[]);
        for (di, dj) in [(1.0, 1.0), (1.0, 0.0), (1.0, 2.0), (0.0, 1.0), (2.0, 1.0)] {
            add(
                &mut nest,
                (from, Read),
                j,
                (di * n + dj) * E,
                &[(i, n * E), (j, E)],
            );
        }
        add(
            &mut nest,
            (to, Write),
            j,
            (n + 1.0) * E,
            &[(i, n * E), (j, E)],
        );
    }
    ("jacobi-2d", nest)
}

fn heat_3d(n: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, n - 2.0, &[]);
    let j = add_loop(&mut nest, Some(i), n - 2.0, &[]);
    let k = add_loop(&mut nest, Some(j), n - 2.0, &[]);
    let strides = [(i, n * n * E), (j, n * E), (k, E)];
    let at = |di: f64, dj: f64, dk: f64| ((di * n + dj) * n + dk) * E;
    for (di, dj, dk) in [
        (2.0, 1.0, 1.0),
        (1.0, 1.0, 1.0),
        (0.0, 1.0, 1.0),
        (1.0, 2.0, 1.0),
        (1.0, 0.0, 1.0),
        (1.0, 1.0, 2.0),
        (1.0, 1.0, 0.0),
    ] {
        add(&mut nest, (0, Read), k, at(di, dj, dk), &strides);
    }
    add(&mut nest, (1, Write), k, at(1.0, 1.0, 1.0), &strides);
    ("heat-3d", nest)
}

fn trmm(m: f64, n: f64, block: f64) -> Made {
    let mut nest = Nest::default();
    let b = add_loop(&mut nest, None, (n / block).floor(), &[]);
    let i = add_loop(&mut nest, Some(b), m, &[]);
    let k = add_loop(&mut nest, Some(i), m - 1.0, &[(i, -1.0)]);
    // A[k][i] with k = i + 1 + iteration.
    add(
        &mut nest,
        (0, Read),
        k,
        m * E,
        &[(i, (m + 1.0) * E), (k, m * E)],
    );
    let j = add_loop(&mut nest, Some(k), block, &[]);
    add(
        &mut nest,
        (1, Read),
        j,
        n * E,
        &[(b, block * E), (i, n * E), (k, n * E), (j, E)],
    );
    add(
        &mut nest,
        (1, Read),
        j,
        0.0,
        &[(b, block * E), (i, n * E), (j, E)],
    );
    add(
        &mut nest,
        (1, Write),
        j,
        0.0,
        &[(b, block * E), (i, n * E), (j, E)],
    );
    let j = add_loop(&mut nest, Some(i), block, &[]);
    add(
        &mut nest,
        (1, Read),
        j,
        0.0,
        &[(b, block * E), (i, n * E), (j, E)],
    );
    add(
        &mut nest,
        (1, Write),
        j,
        0.0,
        &[(b, block * E), (i, n * E), (j, E)],
    );
    ("trmm", nest)
}

/// C = A A' below the diagonal.
fn syrk(n: f64, m: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, n, &[]);
    let k = add_loop(&mut nest, Some(i), m, &[]);
    add(&mut nest, (0, Read), k, 0.0, &[(i, m * E), (k, E)]);
    let j = add_loop(&mut nest, Some(k), 1.0, &[(i, 1.0)]);
    add(&mut nest, (0, Read), j, 0.0, &[(j, m * E), (k, E)]);
    add(&mut nest, (1, Read), j, 0.0, &[(i, n * E), (j, E)]);
    add(&mut nest, (1, Write), j, 0.0, &[(i, n * E), (j, E)]);
    ("syrk", nest)
}

/// A symmetric matrix times B, row by row: two triangles that together use all of B.
fn symm(m: f64, n: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, m, &[]);
    let k = add_loop(&mut nest, Some(i), 1.0, &[(i, 1.0)]);
    add(&mut nest, (0, Read), k, 0.0, &[(i, m * E), (k, E)]);
    let j = add_loop(&mut nest, Some(k), n, &[]);
    add(&mut nest, (1, Read), j, 0.0, &[(k, n * E), (j, E)]);
    add(&mut nest, (2, Read), j, 0.0, &[(i, n * E), (j, E)]);
    add(&mut nest, (2, Write), j, 0.0, &[(i, n * E), (j, E)]);
    let k = add_loop(&mut nest, Some(i), m - 1.0, &[(i, -1.0)]);
    let column = [(i, (m + 1.0) * E), (k, m * E)];
    add(&mut nest, (0, Read), k, m * E, &column);
    let j = add_loop(&mut nest, Some(k), n, &[]);
    let row = [(i, n * E), (k, n * E), (j, E)];
    add(&mut nest, (1, Read), j, n * E, &row);
    add(&mut nest, (2, Read), j, 0.0, &[(i, n * E), (j, E)]);
    add(&mut nest, (2, Write), j, 0.0, &[(i, n * E), (j, E)]);
    ("symm", nest)
}

fn lu(n: f64) -> Made {
    let mut nest = Nest::default();
    let k = add_loop(&mut nest, None, n, &[]);
    let i = add_loop(&mut nest, Some(k), n - 1.0, &[(k, -1.0)]);
    add(
        &mut nest,
        (0, Read),
        i,
        n * E,
        &[(k, (n + 1.0) * E), (i, n * E)],
    );
    add(&mut nest, (0, Read), i, 0.0, &[(k, (n + 1.0) * E)]);
    add(
        &mut nest,
        (0, Write),
        i,
        n * E,
        &[(k, (n + 1.0) * E), (i, n * E)],
    );
    let j = add_loop(&mut nest, Some(i), n - 1.0, &[(k, -1.0)]);
    add(&mut nest, (0, Read), j, E, &[(k, (n + 1.0) * E), (j, E)]);
    add(
        &mut nest,
        (0, Read),
        j,
        (n + 1.0) * E,
        &[(k, (n + 1.0) * E), (i, n * E), (j, E)],
    );
    add(
        &mut nest,
        (0, Write),
        j,
        (n + 1.0) * E,
        &[(k, (n + 1.0) * E), (i, n * E), (j, E)],
    );
    ("lu", nest)
}

fn floyd_warshall(n: f64) -> Made {
    let mut nest = Nest::default();
    let k = add_loop(&mut nest, None, n, &[]);
    let i = add_loop(&mut nest, Some(k), n, &[]);
    add(&mut nest, (0, Read), i, 0.0, &[(i, n * E), (k, E)]);
    let j = add_loop(&mut nest, Some(i), n, &[]);
    add(&mut nest, (0, Read), j, 0.0, &[(i, n * E), (j, E)]);
    add(&mut nest, (0, Read), j, 0.0, &[(k, n * E), (j, E)]);
    add(&mut nest, (0, Write), j, 0.0, &[(i, n * E), (j, E)]);
    ("floyd-warshall", nest)
}

fn convolution(n: f64) -> Made {
    let mut nest = Nest::default();
    let i = add_loop(&mut nest, None, n - 2.0, &[]);
    let j = add_loop(&mut nest, Some(i), n - 2.0, &[]);
    for di in 0..3 {
        for dj in 0..3 {
            let start = (f64::from(di) * n + f64::from(dj)) * E;
            add(&mut nest, (0, Read), j, start, &[(i, n * E), (j, E)]);
        }
    }
    add(
        &mut nest,
        (1, Write),
        j,
        (n + 1.0) * E,
        &[(i, n * E), (j, E)],
    );
    ("convolution-2d", nest)
}

fn doitgen(r: f64, q: f64, p: f64) -> Made {
    let mut nest = Nest::default();
    let a = add_loop(&mut nest, None, r * q, &[]);
    let s = add_loop(&mut nest, Some(a), p, &[]);
    add(&mut nest, (0, Read), s, 0.0, &[(a, p * E), (s, E)]);
    let t = add_loop(&mut nest, Some(s), p, &[]);
    add(&mut nest, (1, Read), t, 0.0, &[(s, p * E), (t, E)]);
    add(&mut nest, (2, Read), t, 0.0, &[(t, E)]);
    add(&mut nest, (2, Write), t, 0.0, &[(t, E)]);
    let s = add_loop(&mut nest, Some(a), p, &[]);
    add(&mut nest, (2, Read), s, 0.0, &[(s, E)]);
    add(&mut nest, (0, Write), s, 0.0, &[(a, p * E), (s, E)]);
    ("doitgen", nest)
}

/// A vectorised loop over pairs with its remainder.
fn unrolled(n: f64) -> Made {
    let mut nest = Nest::default();
    let t = add_loop(&mut nest, None, 4.0, &[]);
    let main = add_loop(&mut nest, Some(t), (n / 2.0).floor(), &[]);
    for part in [0.0, 1.0] {
        add(&mut nest, (0, Read), main, part * E, &[(main, 2.0 * E)]);
        add(&mut nest, (1, Write), main, part * E, &[(main, 2.0 * E)]);
    }
    let rest = add_loop(&mut nest, Some(t), n % 2.0, &[]);
    let start = (n / 2.0).floor() * 2.0 * E;
    add(&mut nest, (0, Read), rest, start, &[(rest, E)]);
    add(&mut nest, (1, Write), rest, start, &[(rest, E)]);
    ("unrolled", nest)
}

fn all() -> Vec<Made> {
    vec![
        gemm(60.0, 70.0, 80.0),
        gemm(30.0, 220.0, 240.0),
        gemm_ijk(120.0),
        gemm_ijk(190.0),
        mvt(120.0, 16.0),
        mvt(400.0, 16.0),
        mvt(1003.0, 16.0),
        jacobi_2d(90.0),
        jacobi_2d(250.0),
        jacobi_2d(700.0),
        heat_3d(20.0),
        heat_3d(40.0),
        heat_3d(70.0),
        trmm(200.0, 96.0, 16.0),
        trmm(300.0, 48.0, 16.0),
        syrk(120.0, 100.0),
        syrk(220.0, 150.0),
        symm(60.0, 80.0),
        symm(120.0, 90.0),
        lu(100.0),
        lu(200.0),
        floyd_warshall(90.0),
        floyd_warshall(190.0),
        convolution(300.0),
        convolution(600.0),
        doitgen(20.0, 25.0, 30.0),
        doitgen(5.0, 10.0, 210.0),
        unrolled(5001.0),
        unrolled(40001.0),
    ]
}

/// Whether a prediction is right: within 10 %, or 0.02 misses per access.
fn right(predicted: f64, counted: f64) -> bool {
    (predicted - counted).abs() <= (0.1 * counted).max(0.02)
}

#[test]
fn misses_are_those_of_an_exact_simulation() {
    let (mut good, mut all_of_them, mut good_weight, mut weight) = (0, 0, 0.0, 0.0);
    let mut wrong = String::new();
    for (name, nest) in all() {
        let counted = simulate(&nest, &CACHES, 1, true);
        let predicted = Traffic::of(&nest, &CACHES, Repetition::WARM);
        for (number, (found, told)) in counted.iter().zip(&predicted.accesses).enumerate() {
            if found.executions == 0.0 {
                continue;
            }
            for level in 0..2 {
                let exact = found.misses[level] / found.executions;
                let ours = told.misses[level].expected;
                all_of_them += 1;
                weight += found.executions;
                if right(ours, exact) {
                    good += 1;
                    good_weight += found.executions;
                } else {
                    wrong += &format!(
                        "{name} ({:?}) access {number}, level {level}: {ours:.4}, exactly {exact:.4}\n",
                        nest.loops
                            .iter()
                            .map(|one| one.trips.constant)
                            .collect::<Vec<_>>()
                    );
                }
            }
        }
    }
    let share = f64::from(good) / f64::from(all_of_them);
    println!(
        "{good} of {all_of_them} ({:.1} %), {:.1} % of executions\n{wrong}",
        share * 100.0,
        good_weight / weight * 100.0
    );
    assert!(share > 0.9 && good_weight > 0.9 * weight, "{wrong}");
}
