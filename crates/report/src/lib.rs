//! From facts and predictions to one offline page.
#![forbid(unsafe_code)]
