//! Sources in C, C++ and Fortran, and lists of how they are compiled.

use crate::room;
use crate::target::{Said, Shape, Target, about};
use fathomp_directives::{Options, compile_commands, scan_text};
use fathomp_regions::Language;

/// C.
pub(super) const C: Target = Target {
    name: "source-c",
    what: "sources in C",
    shape: Shape::Text,
    seeds: || vec![C_SOURCE.into(), MACROS.into()],
    read: |input| scan(input, Language::C),
};

/// C++.
pub(super) const CPP: Target = Target {
    name: "source-cpp",
    what: "sources in C++",
    shape: Shape::Text,
    seeds: || vec![CPP_SOURCE.into(), C_SOURCE.into()],
    read: |input| scan(input, Language::Cpp),
};

/// Fortran, free form.
pub(super) const FREE: Target = Target {
    name: "source-f90",
    what: "sources in Fortran, free form",
    shape: Shape::Text,
    seeds: || vec![FREE_SOURCE.into()],
    read: |input| scan(input, Language::FortranFree),
};

/// Fortran, fixed form.
pub(super) const FIXED: Target = Target {
    name: "source-f77",
    what: "sources in Fortran, fixed form",
    shape: Shape::Text,
    seeds: || vec![FIXED_SOURCE.into()],
    read: |input| scan(input, Language::FortranFixed),
};

/// How sources are compiled.
pub(super) const COMMANDS: Target = Target {
    name: "compile-commands",
    what: "compile_commands.json",
    shape: Shape::Json,
    seeds: || vec![COMMANDS_SOURCE.into()],
    read: commands,
};

const C_SOURCE: &str = r#"#include <omp.h>
#define N 100
static double a[N][N], sum;
void f(int n, double *restrict x) {
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : sum) if (n > 10) num_threads(n / 2)
    for (int i = 0; i < n; i++) {
        for (int j = i; j < N; j += 2)
            sum += a[i][j] * x[2 * i + 1];
#pragma omp critical(name)
        x[i] = i % 3 ? sum : 0;
    }
#pragma omp parallel \
    default(none) shared(x)
    {
#pragma omp single nowait
#pragma omp task depend(in : x[0])
        f(n - 1, x);
#pragma omp barrier
#pragma omp atomic update
        sum++;
    }
}
"#;
const MACROS: &str = "#define M(x) (x) + M(x\n#define L M(L)\n#if defined(A) && B > 2\n#elif 1\n\
void g(void) {\n#pragma omp parallel for collapse(2)\nfor (int i = L; i < M(3); ++i) for (;;) ;\n}\n#endif\n";
const CPP_SOURCE: &str = "#include <vector>\nnamespace n { template <class T> struct V { T *d; \
T operator[](int i) const { return d[i]; } };\nvoid f(V<double> &v, std::vector<int> w) {\n\
#pragma omp parallel for simd safelen(8)\nfor (auto i = 0u; i < w.size(); ++i) { [&] { v.d[i] = v[i + 1]; }(); \
if constexpr (sizeof(i) > 2) continue; try { throw 1; } catch (...) {} }\n} }\n";
const FREE_SOURCE: &str = "module m\n  integer, parameter :: n = 100\n  real(8) :: a(n, n), s\ncontains\n\
subroutine f(k)\n  integer :: i, j, k\n  !$omp parallel do private(j) &\n  !$omp& reduction(+:s) schedule(static)\n\
  do i = 1, k\n    do j = n, 1, -1\n      s = s + a(i, j) ** 2; if (j > i) cycle\n    end do\n  end do\n\
  !$omp end parallel do\n  !$omp parallel workshare\n  a(:, 1) = 0\n  !$omp end parallel workshare\n\
  !$ s = 1\nend subroutine\nend module\n";
const FIXED_SOURCE: &str = "      SUBROUTINE F(A, N)\n      INTEGER N, I\n      REAL*8 A(N)\nC     A comment\n\
!$OMP PARALLEL DO\n!$OMP+SHARED(A) SCHEDULE(GUIDED,\n!$OMP&2)\n      DO 10 I = 1, N\n      A(I) = A(I) +\n     1 1.0D0\n\
10    CONTINUE\n      END\n";
const COMMANDS_SOURCE: &str = r#"[{"directory": "/src", "file": "a.c", "command": "gcc -DN=3 -x c -c 'a b.c' -o \"x y\""},
{"directory": "b", "file": "b.F", "arguments": ["gfortran", "-ffixed-line-length-none", "-D", "X", "b.F"]}]"#;

fn scan(input: &[u8], language: Language) -> Said {
    let text = String::from_utf8_lossy(input);
    let options = Options::default();
    // Its own limit of time is an answer, too.
    let scanned = match scan_text("foreign", &text, language, &options) {
        Ok(scanned) => scanned,
        Err(error) => return Said::refused(&error),
    };
    Said::read([
        about(scanned.constructs.len()),
        about(scanned.file.unread.len()),
        about(format!("{:?}", scanned.constructs).len()),
    ])
}

fn commands(input: &[u8]) -> Said {
    let path = room::put("compile_commands.json", input);
    match compile_commands(&path) {
        Ok(compiled) => Said::read(about(compiled.len())),
        Err(error) => Said::refused(&error),
    }
}
