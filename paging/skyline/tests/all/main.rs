//! Pictures of paging, of recordings that are made up.

mod exact;
mod published;
