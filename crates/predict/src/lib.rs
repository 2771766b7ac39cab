//! From facts and prices to time and speedup elsewhere.
#![forbid(unsafe_code)]
