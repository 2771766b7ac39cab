//! Pages, text and files of reports.
//! The page in a browser is in `tests/browser.rs`.

mod bench;
mod exports;
mod golden;
mod page;
mod scan;
mod sdp;
mod sharing;
mod sources;
#[path = "../synthetic/mod.rs"]
mod synthetic;
