//! What the expressions of a region are worth when it begins.
#![forbid(unsafe_code)]
