//! Which language a file is written in.

use fathomp_regions::Language;
use std::path::Path;

const C: [&str; 2] = ["c", "h"];
const CPP: [&str; 15] = [
    "cc", "cp", "cpp", "cxx", "c++", "C", "CPP", "hh", "hp", "hpp", "hxx", "h++", "H", "tcc", "ipp",
];
const FREE: [&str; 12] = [
    "f90", "f95", "f03", "f08", "f18", "F90", "F95", "F03", "F08", "F18", "fypp", "inc",
];
const FIXED: [&str; 8] = ["f", "for", "ftn", "f77", "F", "FOR", "FTN", "F77"];

/// The language of a file by its name, as gcc takes it; none if it is no source.
#[must_use]
pub fn language_of(path: &Path) -> Option<Language> {
    let extension = path.extension()?.to_str()?;
    let is_one_of = |list: &[&str]| list.contains(&extension);
    if is_one_of(&C) {
        Some(Language::C)
    } else if is_one_of(&CPP) {
        Some(Language::Cpp)
    } else if is_one_of(&FREE) {
        Some(Language::FortranFree)
    } else if is_one_of(&FIXED) {
        Some(Language::FortranFixed)
    } else {
        None
    }
}

/// Whether a file is called like a source that is read.
#[must_use]
pub fn is_source(path: &Path) -> bool {
    language_of(path).is_some()
}
