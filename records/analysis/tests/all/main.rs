//! What is concluded from recordings and compiled programs.
//! Tests that need more tools than gcc are in `tests/tools`.

mod accounts;
mod odd;
mod phases;
mod pieces;
mod rank_costs;
mod ranks;
mod variables;
