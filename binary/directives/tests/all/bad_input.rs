//! Whatever a file holds, there is an answer or a clear error, and soon.

use fathomp_directives::{Options, Scanned, SourceError, scan_file, scan_text};
use fathomp_regions::Language;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const LANGUAGES: [Language; 4] = [
    Language::C,
    Language::Cpp,
    Language::FortranFree,
    Language::FortranFixed,
];

fn scan(text: &str, language: Language) -> Scanned {
    scan_text("x", text, language, &Options::default()).unwrap()
}

/// A region around some C.
fn region(inner: &str) -> String {
    format!("#define N N + 1\nvoid f(void) {{\n#pragma omp parallel\n{{ {inner} }}\n}}\n")
}

#[test]
fn deep_nesting_is_bounded_and_said() {
    for inner in [
        format!("{}{}", "{".repeat(20_000), "}".repeat(20_000)),
        format!("x = {}1{};", "(".repeat(20_000), ")".repeat(20_000)),
        format!("x = {}1;", "a[i] + ".repeat(20_000)),
        format!("x = {}1{};", "a[".repeat(5_000), "]".repeat(5_000)),
        format!("{} ;", "for (i = 0; i < n; i++) ".repeat(5_000)),
        "if (a) b(); else ".repeat(2_000) + ";",
    ] {
        let scanned = scan(&region(&inner), Language::C);
        assert_eq!(scanned.constructs.len(), 1);
        assert_eq!(scanned.file.lines, 5);
    }
    let scanned = scan(&region(&"{".repeat(3_000)), Language::C);
    assert!(!scanned.file.unread.is_empty());
    let deep = "do i = 1, n\n".repeat(3_000);
    scan(&format!("!$omp parallel\n{deep}"), Language::FortranFree);
}

#[test]
fn long_lines_and_many_regions_take_no_time() {
    let line = region(&"a[i] = b[2 * i + 1]; ".repeat(100_000));
    assert!(line.len() > 2 << 20);
    let scanned = scan(&line, Language::C);
    assert_eq!(scanned.constructs[0].construct.statements.len(), 100_000);
    let many = region("for (int i = 0; i < 9; i++) a[i] = 0;").repeat(2_000);
    assert_eq!(scan(&many, Language::C).constructs.len(), 2_000);
}

#[test]
fn macros_that_stand_for_themselves_end() {
    let text = "#define A(i) A(B(i))\n#define B(i) A(i) + A(i)\n#define M M2\n#define M2 M + M\nvoid f(void) {\n#pragma omp parallel for collapse(M)\nfor (int i = 0; i < M; i++) x[A(i)] = B(i);\n}\n";
    let scanned = scan(text, Language::C);
    let construct = &scanned.constructs[0].construct;
    assert_eq!(construct.loops[0].trips, None);
    assert!(
        construct.calls.contains(&"A".to_owned()),
        "{:?}",
        construct.calls
    );
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_read() {
    let text = "void f(void) {\n  int = = ;\n}\n#pragma omp declare target\nvoid g(int n) {\n#pragma omp parallel for\n  for (int i = 0; i < n; i++) h(i);\n}\n";
    let scanned = scan(text, Language::C);
    assert_eq!(scanned.file.unread, [(2, 2)]);
    assert_eq!(scanned.constructs.len(), 1);
    assert_eq!(scanned.constructs[0].function.as_deref(), Some("g"));
}

#[test]
fn files_that_are_no_sources_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.c");
    let options = Options::default();
    assert!(matches!(
        scan_file(&path, &options),
        Err(SourceError::Unreadable { .. })
    ));
    fs::write(&path, b"\x7fELF\0\0\0").unwrap();
    assert!(matches!(
        scan_file(&path, &options),
        Err(SourceError::Binary(_))
    ));
    // Latin-1, in a comment: lines stay right.
    fs::write(
        &path,
        b"// gr\xfc\xdfe\nvoid f(void) {\n#pragma omp parallel\n{}\n}\n",
    )
    .unwrap();
    let scanned = scan_file(&path, &options).unwrap();
    assert_eq!(scanned.constructs[0].construct.lines, (3, 4));
    let other = directory.path().join("x.txt");
    fs::write(&other, b"").unwrap();
    assert!(matches!(
        scan_file(&other, &options),
        Err(SourceError::Language(_))
    ));
    assert!(matches!(
        scan_file(
            Path::new("/dev/null"),
            &Options {
                language: Some(Language::C),
                ..options
            }
        ),
        Err(SourceError::Special(_))
    ));
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "#pragma omp parallel for\n",
        "#pragma omp",
        "\\\n",
        "\n",
        "#if X\n",
        "#else\n",
        "#endif\n",
        "#define A(i) a[i]\n",
        "for (i = 0; i < n; i++) ",
        "{",
        "}",
        "a[i] = ",
        "A(i)",
        ";",
        "(",
        ")",
        "!$omp parallel do\n",
        "c$omp parallel\n",
        "!$omp end parallel\n",
        "      do 10 i = 1, n\n",
        "     & x",
        "   10 continue\n",
        "end do\n",
        "a(i, j) = ",
        "'",
        "\"",
        "/*",
        "*/",
        "!$ x\n",
        "&\n",
        "_Pragma(\"omp single\")",
        "if (x) ",
        "else ",
        "é",
        "\t",
        "end\n",
        "subroutine f(a)\n",
        "[&](int i) {",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_pieces_are_read(text in pieces(), language in 0..4_usize) {
        let scanned = scan(&text, LANGUAGES[language]);
        for (first, last) in &scanned.file.unread {
            prop_assert!(first <= last);
        }
        for found in &scanned.constructs {
            let construct = &found.construct;
            prop_assert!(construct.lines.0 <= construct.lines.1);
            for (number, one) in construct.loops.iter().enumerate() {
                prop_assert!(one.parent.is_none_or(|parent| parent < number));
            }
            for statement in &construct.statements {
                prop_assert!(statement.inside.is_none_or(|index| index < construct.loops.len()));
                for access in &statement.accesses {
                    prop_assert!(access.array < construct.arrays.len());
                }
            }
        }
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}", language in 0..4_usize) {
        scan(&format!("{text}\n#pragma omp parallel\n!$omp parallel\n{text}"), LANGUAGES[language]);
    }
}
