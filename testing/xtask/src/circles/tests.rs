use super::*;
use std::fs;
use tempfile::TempDir;

/// Writes the files of a crate.
fn write(folder: &TempDir, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.path().join("src").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A crate of these files, and the places in its circles.
fn in_circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = TempDir::new().unwrap();
    write(&folder, files);
    let found = circles(folder.path()).unwrap();
    found.into_iter().map(|circle| circle.places).collect()
}

#[test]
fn one_way_is_no_circle() {
    let found = in_circles(&[
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B;"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn files_that_take_from_each_other_are_found_however_they_write_it() {
    let ways = [
        "use crate::a::A; pub struct B(A);",
        "use super::a; pub struct B(a::A);",
        "use super::*; pub struct B; fn f() -> a::A { todo!() }",
        "pub struct B; fn f() { assert!(crate::a::A::is()) }",
        "pub struct B; mod inner { type C = super::super::a::A; }",
        "use crate::A as Other; pub struct B(Other);",
    ];
    for way in ways {
        let found = in_circles(&[
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", way),
        ]);
        assert_eq!(found, [["a", "b"]], "{way}");
    }
}

#[test]
fn names_are_followed_to_where_they_are_defined() {
    // `b` takes what `a` hands on and `c` defines.
    let found = in_circles(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "use crate::b::B; pub use crate::c::C; pub struct A(B);",
        ),
        ("b.rs", "use crate::a::C; pub struct B(C);"),
        ("c.rs", "pub struct C;"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn variables_are_not_what_is_called_like_them() {
    let found = in_circles(&[
        ("lib.rs", "mod a;"),
        (
            "a/mod.rs",
            "mod b; pub use b::f; pub struct A; fn g(f: u8) -> u8 { f + 1 }",
        ),
        ("a/b.rs", "use super::A; pub fn f(_: A) {}"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn tests_and_documentation_tie_nothing() {
    let found = in_circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        (
            "b.rs",
            "/// See [`crate::a::A`].\npub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
        ),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_file_and_the_files_of_its_folder_are_found() {
    let found = in_circles(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; pub struct A; fn f() -> b::B { b::B }"),
        ("a/b.rs", "use super::A; pub struct B;"),
    ]);
    assert_eq!(found, [["a/b", "a/mod"]]);
}

#[test]
fn folders_are_found_that_take_from_each_other_by_different_files() {
    let found = in_circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod high; pub mod low;"),
        ("a/high.rs", "use crate::b::B; pub struct High(B);"),
        ("a/low.rs", "pub struct Low;"),
        ("b.rs", "use crate::a::low::Low; pub struct B(Low);"),
    ]);
    assert_eq!(found, [["a", "b"]]);
}

#[test]
fn imports_without_end_are_given_up() {
    let found = in_circles(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub use crate::b::*; pub use crate::b::X;"),
        ("b.rs", "pub use crate::a::*; pub use crate::a::X;"),
    ]);
    assert_eq!(found, [["a", "b"]]);
}

#[test]
fn what_is_left_may_only_shrink() {
    let folder = TempDir::new().unwrap();
    write(
        &folder,
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::F; pub struct F;"),
            ("b.rs", "use crate::c::F; pub struct F;"),
            ("c.rs", "use crate::a::F; pub struct F;"),
        ],
    );
    let three = circles(folder.path()).unwrap();
    assert!(judge("it", &three, 3).is_none());
    assert!(judge("it", &three, 2).unwrap().contains("a takes F from b"));
    assert!(judge("it", &three, 4).unwrap().contains("only 3"));
}

#[test]
fn a_file_that_is_no_rust_is_an_error_that_names_it() {
    let folder = TempDir::new().unwrap();
    write(&folder, &[("lib.rs", "mod nowhere;")]);
    assert!(circles(folder.path()).unwrap_err().contains("nowhere"));
    write(&folder, &[("lib.rs", "fn {")]);
    assert!(circles(folder.path()).unwrap_err().contains("lib.rs"));
}
