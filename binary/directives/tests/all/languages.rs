//! Small sources in each language, and what is said of them.

use fathomp_directives::{Options, Scanned, scan_text};
use fathomp_regions::{Construct, Known, Language};
use std::fmt::Write as _;

fn scan(text: &str, language: Language) -> Scanned {
    scan_text("x", text, language, &Options::default()).unwrap()
}

/// A construct in a few lines.
fn told(construct: &Construct) -> String {
    let mut text = String::new();
    let directive = &construct.directive;
    write!(text, "{} {}", directive.place.line, directive.name).unwrap();
    for clause in &directive.clauses {
        write!(text, " {}({})", clause.name, clause.argument).unwrap();
    }
    writeln!(text, " [{}-{}]", construct.lines.0, construct.lines.1).unwrap();
    for inside in &construct.inside {
        writeln!(text, "  inside {} {}", inside.place.line, inside.name).unwrap();
    }
    for (number, one) in construct.loops.iter().enumerate() {
        let shared = if one.worksharing { " shared" } else { "" };
        let head = match &one.variable {
            Known::Known(name) => format!(
                "{name} = {}; {} {}; {}; {:?} on {:?}",
                one.from, one.comparison, one.to, one.step, one.trips, one.depends_on
            ),
            Known::Unknown(reason) => reason.detail.clone(),
        };
        writeln!(
            text,
            "  loop {number} in {:?}{shared} {}-{}: {head}",
            one.parent, one.place.line, one.last_line
        )
        .unwrap();
    }
    for one in &construct.statements {
        write!(
            text,
            "  {} in {:?} +{} *{} /{} calls {}",
            one.line, one.inside, one.additions, one.multiplications, one.divisions, one.calls
        )
        .unwrap();
        text.push_str(if one.conditional { " if:" } else { ":" });
        for access in &one.accesses {
            let name = &construct.arrays[access.array].name;
            write!(text, " {}{name}", if access.writes { "=" } else { "" }).unwrap();
            for subscript in &access.subscripts {
                text.push('[');
                for (index, factor) in &subscript.factors {
                    write!(text, "{factor}*L{index} ").unwrap();
                }
                for (index, factor) in &subscript.symbolic {
                    write!(text, "({factor})*L{index} ").unwrap();
                }
                let rest = match (subscript.irregular, subscript.constant) {
                    (true, _) => "irregular".to_owned(),
                    (false, Some(constant)) => constant.to_string(),
                    (false, None) => "?".to_owned(),
                };
                write!(text, "{rest}]").unwrap();
            }
        }
        text.push('\n');
    }
    for array in &construct.arrays {
        writeln!(
            text,
            "  array {} {:?} {:?} varying {}",
            array.name, array.element_bytes, array.dimensions, array.varying
        )
        .unwrap();
    }
    if !construct.calls.is_empty() {
        writeln!(text, "  calls {}", construct.calls.join(", ")).unwrap();
    }
    text
}

fn all(text: &str, language: Language) -> String {
    let scanned = scan(text, language);
    assert!(scanned.file.unread.is_empty(), "{:?}", scanned.file.unread);
    scanned
        .constructs
        .iter()
        .map(|found| told(&found.construct))
        .collect()
}

#[test]
fn c_loops_and_subscripts() {
    let text = "#define N 100
#define IDX(i, j) ((i) * n + (j))
#define A(i, j) a[(i) * N + (j)]
typedef double real;
enum { M = 8 };
struct s { float *x; int n; };
void f(int n, real *restrict a, double v[n][M], struct s *p, const int *idx)
{
#pragma omp parallel for collapse(2) schedule(static, 4) \\
    if (n > N)
  for (int i = 0; i < N; i++)
    for (int j = M; j >= 1; j -= 2)
      a[2 * i + j - 1] += v[i][j - 1] * A(j, i) / 2.0;
#pragma omp parallel
  {
    int k = 0;
#pragma omp for nowait
    for (int i = 1; i < n; i = i + 1) {
      int row = i * n;
      p->x[row + 1] = a[IDX(i, 3)];
      for (int j = i; j != n; ++j)
        if (idx[j] > 0) {
          a[idx[j]] = *(a + j);
          k++;
          a[k] = 0;
        }
    }
#pragma omp barrier
#pragma omp single
    while (k < n) { g(&a[k], k); k *= 2; }
  }
}
";
    assert_eq!(
        all(text, Language::C),
        "9 parallel for collapse(2) schedule(static, 4) if(n > N) [9-13]
  loop 0 in None shared 11-13: i = 0; < N; 1; Some(100) on []
  loop 1 in Some(0) shared 12-13: j = M; >= 1; -2; Some(4) on []
  13 in Some(1) +1 *1 /1 calls 0: v[1*L0 0][1*L1 -1] a[1*L0 100*L1 0] a[2*L0 1*L1 -1] =a[2*L0 1*L1 -1]
  array v Some(8) [\"n\", \"M\"] varying 2
  array a Some(8) [] varying 2
14 parallel [14-31]
  inside 17 for
  inside 28 barrier
  inside 29 single
  loop 0 in None shared 18-27: i = 1; < n; 1; None on []
  loop 1 in Some(0) 21-26: j = i; != n; 1; None on [0]
  loop 2 in None 30-30: a `while` loop
  19 in Some(0) +0 *1 /0 calls 0:
  20 in Some(0) +0 *0 /0 calls 0: a[(n)*L0 3] =p->x[(n)*L0 1]
  22 in Some(1) +0 *0 /0 calls 0: idx[1*L1 0]
  23 in Some(1) +0 *0 /0 calls 0 if: a[1*L1 0] idx[1*L1 0] =a[irregular]
  25 in Some(1) +0 *0 /0 calls 0 if: =a[irregular]
  30 in Some(2) +0 *0 /0 calls 1:
  30 in Some(2) +0 *1 /0 calls 0:
  array a Some(8) [] varying 1
  array p->x Some(4) [] varying 1
  array idx Some(4) [] varying 1
  calls g
"
    );
}

#[test]
fn cpp_accessors_are_calls_and_lambdas_are_read() {
    let text = "#include <vector>
template <typename T> struct field {
  std::vector<T> m_x;
  T &x(int i) { return m_x[i]; }
  void scale(int n, T by) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) m_x[i] *= by;
  }
};
void sum(field<double> &d, std::vector<double> &v, int n) {
  auto work = [&](int from) {
#pragma omp parallel for reduction(+ : s)
    for (int i = from; i < n; i++) {
      d.x(i) = static_cast<double>(v[i]) + d.x(i + 1);
    }
  };
#pragma omp taskloop
  for (auto &e : v) e = 0;
}
";
    assert_eq!(
        all(text, Language::Cpp),
        "6 parallel for [6-7]
  loop 0 in None shared 7-7: i = 0; < n; 1; None on []
  7 in Some(0) +0 *1 /0 calls 0: m_x[1*L0 0] =m_x[1*L0 0]
  array m_x None [] varying 1
12 parallel for reduction(+ : s) [12-15]
  loop 0 in None shared 13-15: i = from; < n; 1; None on []
  14 in Some(0) +1 *0 /0 calls 2: v[1*L0 0]
  array v Some(8) [] varying 1
  calls d.x
17 taskloop [17-18]
  loop 0 in None shared 18-18: iterates over a container, which need not be in order of memory
"
    );
}

#[test]
fn fortran_in_both_forms_is_the_same() {
    let free = "subroutine f(a, b, n)
  implicit double precision (a-h, o-z)
  integer, parameter :: m = 4
  real(kind=8), dimension(n, m) :: a
  dimension b(0:n)
!$omp parallel do private(j) &
!$omp   schedule(static)
  do i = 1, n
    do j = m, 1, -1
      a(i, j) = b(i - 1) * g(j) + c
    end do
  end do
!$omp end parallel do
!$omp parallel
!$omp sections
!$omp section
  call h(a(1, 2))
!$omp section
  w(3) = 0
!$omp end sections
!$omp barrier
!$omp end parallel
end subroutine
";
    let fixed = "      SUBROUTINE F(A, B, N)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      PARAMETER (M = 4)
      REAL*8 A
      DIMENSION A(N, M), B(0:N)
C$OMP PARALLEL DO PRIVATE(J)
C$OMP&  SCHEDULE(STATIC)
      DO 10 I = 1, N
        DO 10 J = M, 1, -1
          A(I, J) = B(I - 1) *
     &      G(J) + C
   10 CONTINUE
C$OMP END PARALLEL DO
C$OMP PARALLEL
C$OMP SECTIONS
C$OMP SECTION
      CALL H(A(1, 2))
C$OMP SECTION
      W(3) = 0
C$OMP END SECTIONS
C$OMP BARRIER
C$OMP END PARALLEL
      END
";
    let expected = "6 parallel do private(j) schedule(static) [6-12]
  loop 0 in None shared 8-12: i = 1; <= n; 1; None on []
  loop 1 in Some(0) 9-11: j = m; >= 1; -1; Some(4) on []
  10 in Some(1) +1 *1 /0 calls 1: b[1*L0 -1] =a[1*L1 0][1*L0 0]
  array b Some(8) [\"0:n\"] varying 1
  array a Some(8) [\"m\", \"n\"] varying 2
  calls g
14 parallel [14-22]
  inside 15 sections
  inside 16 section
  inside 18 section
  inside 21 barrier
  17 in None +0 *0 /0 calls 1: a[2][1]
  19 in None +0 *0 /0 calls 0: =w[3]
  array a Some(8) [\"m\", \"n\"] varying 0
  array w Some(8) [\"\"] varying 0
  calls h
";
    assert_eq!(all(free, Language::FortranFree), expected);
    let fixed = all(fixed, Language::FortranFixed).to_lowercase();
    // The shared label ends both loops.
    let fixed = fixed.replace("loop 1 in some(0) 9-12", "loop 1 in some(0) 9-11");
    assert_eq!(fixed, expected.to_lowercase());
}
