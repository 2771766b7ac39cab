//! Iterations of loops that threads divide by the code: those of the loop as written, whatever a
//! compiler makes of it, or none said.

use crate::common::{Run, bodies, scanned};
use fathomp_regions::{Expr, Known};

const LEVELS: [&[&str]; 6] = [
    &["-O0", "-fopenmp"],
    &["-O1", "-fopenmp"],
    &["-O2", "-fopenmp"],
    &["-O2", "-fopenmp", "-funroll-loops"],
    &["-O3", "-fopenmp"],
    &["-O3", "-fopenmp", "-mavx2"],
];

/// Loops, one a function, and their iterations where every number is 100; those that follow must
/// be known at all levels.
const KNOWN: &[(&str, i64)] = &[
    ("for (int i = 0; i < n; i++) a[i] = b[i] * 2;", 100),
    ("for (int i = 3; i < n; i += 3) a[i] = b[i] * 2;", 33),
    ("for (int i = n; i > 0; i -= 2) a[i] = b[i] * 2;", 50),
    ("for (int i = 0; i <= n; i++) a[i] = b[i] * 2;", 101),
    ("for (int i = 0; i != n; i++) a[i] = b[i] * 2;", 100),
    (
        "for (unsigned i = 2; i < (unsigned)n; i++) a[i] = b[i] * 2;",
        98,
    ),
    ("for (long i = 0; i < n; i++) a[i] = b[i] * 2;", 100),
    ("for (int i = n + 5; i < n; i++) a[i] = b[i] * 2;", 0),
    ("for (int i = 0; i < n; i++) a[i] = 0;", 100),
    ("for (int i = 0; i < n; i++) a[i] = b[i];", 100),
    (
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < n; j++) s += g[i][j]; a[i] = s; }",
        100,
    ),
    (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { g[i][j] *= 2; for (int k = 0; k < n; k++) g[i][j] += h[i][k] * a[k]; }",
        100,
    ),
    (
        "schedule(static, 7)\nfor (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) g[i][j] = h[i][j];",
        100,
    ),
    (
        "schedule(static, n)\nfor (int i = 5; i < n; i++) a[i] = b[i] * 2;",
        95,
    ),
    (
        "schedule(static, 1)\nfor (int i = 0; i < n; i++) a[i] = b[i] * 2;",
        100,
    ),
    (
        "collapse(2)\nfor (int i = 0; i < n; i++) for (int j = 1; j < n; j++) g[i][j] = h[i][j];",
        9900,
    ),
    (
        "reduction(+ : s)\nfor (int i = 0; i < n; i++) s += b[i];",
        100,
    ),
    ("simd\nfor (int i = 0; i < n; i++) a[i] = b[i] + 1;", 100),
];

/// May be said or not.
const RIGHT_IF_SAID: &[(&str, i64)] = &[
    ("for (int i = n - 1; i < n; i++) a[i] = b[i] * 2;", 1),
    (
        "collapse(2)\nfor (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) g[i][j] = h[i][j];",
        5050,
    ),
    (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) g[j][i] = g[j][i] * 2 + h[j][i];",
        100,
    ),
    (
        "for (int i = 0; i < n; i++) { a[i] = b[i]; c[i] = 0; for (int j = 0; j < 10; j++) d[i] += b[j]; }",
        100,
    ),
];

/// Whole regions.
const REGIONS: &[(&str, i64)] = &[
    (
        "#pragma omp for nowait\nfor (int i = 0; i < n; i++)\na[i] = b[i] * 2;\n#pragma omp for nowait\nfor (int i = 0; i < n; i++)\nc[i] = d[i] + 1;",
        200,
    ),
    (
        "#pragma omp for\nfor (int i = 0; i < n; i++) a[i] = 0;\n#pragma omp for\nfor (int i = 0; i < n; i++) c[i] = a[i];\n#pragma omp for\nfor (int i = 0; i < n; i++) b[i] = c[i] + 2;",
        300,
    ),
    (
        "for (int t = 0; t < n; t++) {\n#pragma omp for\nfor (int i = 0; i < n; i++) a[i] += t;\n#pragma omp for\nfor (int i = t; i < n; i++) b[i] += t;\n}",
        15_050,
    ),
    (
        "for (int t = 0; t < n; t++) {\n#pragma omp for nowait\nfor (int i = 0; i < n; i++) a[i] += t;\n}",
        10_000,
    ),
    (
        "for (int t = 0; t < 3; t++) {\n#pragma omp for nowait\nfor (int i = 0; i < n; i++) a[i] = a[i] * 2 + t;\n}",
        300,
    ),
    (
        "if (n > 1000) {\n#pragma omp for\nfor (int i = 0; i < n; i++) a[i] = b[i];\n}\n#pragma omp for\nfor (int i = 0; i < n; i++) c[i] = a[i] + 1;",
        100,
    ),
    (
        "#pragma omp for\nfor (int i = 0; i < n; i++) a[i] = b[i];\nfor (int t = 0; t < omp_get_num_threads(); t++) d[t] += t;",
        100,
    ),
];

fn program() -> (String, Vec<(&'static str, i64, bool)>) {
    let mut text =
        "#include <omp.h>\ndouble a[999], b[999], c[999], d[999], g[199][199], h[199][199], s;\n"
            .to_owned();
    let mut all = Vec::new();
    let loops = KNOWN.iter().map(|one| (*one, true, true));
    let perhaps = RIGHT_IF_SAID.iter().map(|one| (*one, false, true));
    let regions = REGIONS.iter().map(|one| (*one, false, false));
    for ((code, expected), known, is_loop) in loops.chain(perhaps).chain(regions) {
        let number = all.len();
        let code = match is_loop {
            true => format!(
                "#pragma omp parallel for {}{code}",
                if code.starts_with("for") { "\n" } else { "" }
            ),
            false => format!("#pragma omp parallel\n{{\n{code}\n}}"),
        };
        text.push_str(&format!("void f{number}(int n) {{\n{code}\n}}\n"));
        all.push((code.leak() as &str, expected, known));
    }
    text.push_str("int main(int n, char **v) {\n");
    (0..all.len()).for_each(|number| text.push_str(&format!("f{number}(n);\n")));
    text.push_str("}\n");
    (text, all)
}

#[test]
fn loops_have_the_iterations_that_are_written() {
    let (text, all) = program();
    for level in LEVELS {
        let regions = scanned(&text, level);
        let mut found = 0;
        for body in bodies(&regions) {
            let symbol = body.symbol.as_deref().unwrap_or_default();
            let number = symbol
                .strip_prefix('f')
                .and_then(|rest| rest.split('.').next());
            let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) else {
                continue;
            };
            found += 1;
            let (code, expected, known) = all[number];
            let run = Run::new(100, 4, 0);
            let value = |total: &Known<Expr>| total.known()?.evaluate(&run).ok();
            let totals = body.divided.iter().map(|divided| value(&divided.total));
            match totals.reduce(|a, b| Some(a? + b?)) {
                Some(Some(total)) => assert_eq!(total, expected, "{level:?}: {code}"),
                _ => assert!(!known, "{level:?}: {code}: {:#?}", body.divided),
            }
        }
        assert_eq!(found, all.len());
    }
}
