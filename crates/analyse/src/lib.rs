//! From a recording to facts per region and thread.
#![forbid(unsafe_code)]
