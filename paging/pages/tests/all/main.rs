//! The section, the text and the files.
//! The section in a browser is in `tests/browser.rs`.

mod paging;
#[path = "../synthetic/mod.rs"]
mod synthetic;
