//! What follows if one thing happens after the other. Files of their own, since others are
//! compiled a second time by the tests of what happens at once (see `tests/`).

mod hostile;
mod locks;
mod log;
mod memory;
mod offers;
mod window;
