//! From sources to what their OpenMP constructs contain.
#![forbid(unsafe_code)]
