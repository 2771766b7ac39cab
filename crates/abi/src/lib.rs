//! The C symbols compiled OpenMP programs call.
