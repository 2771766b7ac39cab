//! What launchers and programs tell each other by the environment.

mod inverse;
mod names;
