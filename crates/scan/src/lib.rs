//! From the machine code of a program to what its parallel regions contain.
#![forbid(unsafe_code)]
