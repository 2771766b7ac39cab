//! The code of a program or library: its functions, instructions, and how control flows.
#![forbid(unsafe_code)]
