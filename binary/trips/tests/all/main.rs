//! Plans that count iterations, and dry runs.

mod dry;
mod plans;
