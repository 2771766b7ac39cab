//! The functions in front of MPI's.
//!
//! What a function is given is passed on as it is, thirteen words (as many as the longest has),
//! whatever they mean. That is possible since all are integers and pointers. Fortran's functions
//! have the same, by reference.

use crate::arguments::{Arguments, Language, world};
use crate::communicators;
use crate::layout::{Layout, Role};
use crate::recorder;
use crate::sizes;
use crate::transfers::Messages;
use fathomp_sys::call_site::call_site;
use fathomp_sys::mpi::behind::{Behind, ERROR, Words};
use fathomp_sys::noting_call_site;
use fathomp_types::mpi::{Done, NO_BYTES, NO_PEER, WORLD};
use std::ffi::CStr;

/// A function by one of its names.
struct Front {
    behind: Behind,
    number: u32,
    layout: Layout,
    is_of_all: bool,
    role: Role,
    language: Language,
}

impl Front {
    const fn new(name: &'static CStr, in_c: &str, language: Language) -> Self {
        Self {
            behind: Behind::new(name),
            number: fathomp_types::mpi::number(in_c),
            layout: crate::layout::of(in_c),
            is_of_all: crate::layout::is_of_all(in_c),
            role: crate::layout::role(in_c),
            language,
        }
    }

    /// Calls the function behind with these words.
    ///
    /// # Safety
    /// As of the function behind.
    unsafe fn pass(&self, words: Words) -> usize {
        let call = call_site();
        if self.behind.address().is_null() {
            return ERROR;
        }
        let mut arguments = Arguments {
            words,
            language: self.language,
        };
        // SAFETY: the program passes what the function expects.
        let Some(call) = recorder::begins(|| unsafe { self.describe(&arguments, call) }) else {
            // SAFETY: promised by our caller.
            return unsafe { self.behind.call(words) };
        };
        // SAFETY: as above.
        let mut messages =
            unsafe { Messages::begin(self.role, self.layout, &mut arguments, &call) };
        if let Some(messages) = &mut messages {
            // SAFETY: as above; it stays here until the function is back.
            unsafe { messages.ask_for_status(&mut arguments) };
        }
        // SAFETY: promised by our caller; what was replaced is a place for a status.
        let result = unsafe { self.behind.call(arguments.words) };
        if let Some(messages) = &messages {
            // SAFETY: as above.
            unsafe { messages.end(&arguments, self.succeeded(result), &call) };
        }
        call.ends();
        result
    }

    /// What a function of C returns is an error. Fortran's say it elsewhere: there a program that
    /// goes on after an error has asked for that.
    fn succeeded(&self, result: usize) -> bool {
        self.language == Language::Fortran || result as u32 == 0
    }

    /// # Safety
    /// The arguments are the function's.
    unsafe fn describe(&self, arguments: &Arguments, call: usize) -> Done {
        let mut done = Done {
            call,
            function: self.number,
            peer: NO_PEER,
            // SAFETY: promised by our caller.
            bytes: unsafe { self.bytes(arguments) }.unwrap_or(NO_BYTES),
            ..Done::default()
        };
        let (Some(world), Some(number)) = (world(), self.layout.communicator) else {
            return done;
        };
        // SAFETY: promised by our caller.
        let handle = unsafe { arguments.communicator(world, number) };
        // SAFETY: promised by our caller.
        let peer = self
            .layout
            .peer
            .map(|peer| unsafe { arguments.integer(peer) });
        communicators::with(handle, |communicator| {
            done.communicator = communicator.number;
            let in_world = peer.and_then(|peer| communicator.in_world(peer));
            done.peer = in_world.unwrap_or(NO_PEER);
        });
        done.waits_for_all = self.is_of_all && done.communicator == WORLD;
        done
    }

    /// How many bytes the call has to do with.
    ///
    /// # Safety
    /// The arguments are the function's.
    unsafe fn bytes(&self, arguments: &Arguments) -> Option<u64> {
        let elements = self.layout.elements?;
        if let Some(buffer) = self.layout.in_place {
            // What stands for MPI_IN_PLACE in Fortran is an address that only MPI knows.
            let buffer = arguments.word(buffer);
            if arguments.is_fortran() || buffer == 1 || buffer == usize::MAX {
                return None;
            }
        }
        // SAFETY: promised by our caller; elements that are sent or received now.
        unsafe { sizes::of_elements(arguments, elements) }
    }
}

/// Defines functions in front of MPI's, under the names of C, of C for large counts, and of
/// Fortran: `Name name` for `MPI_Name` and `mpi_name_`.
macro_rules! fronts {
    ($($activity:ident $moment:ident: $($name:ident $lower:ident),+;)+) => {
        $($(fronts!(@one $name concat!("MPI_", stringify!($name)), [
            in_c noting_in_c C concat!("MPI_", stringify!($name)),
            for_large_counts noting_large CLarge concat!("MPI_", stringify!($name), "_c"),
            in_fortran noting_in_fortran Fortran concat!("mpi_", stringify!($lower), "_"),
            in_fortran_2008 noting_in_2008 Fortran concat!("mpi_", stringify!($lower), "_f08_"),
            in_fortran_2008_ts noting_in_2008_ts Fortran concat!("mpi_", stringify!($lower), "_f08ts_"),
        ]);)+)+
    };
    (@one $name:ident $in_c:expr, [$($body:ident $noting:ident $language:ident $text:expr,)+]) => {
        #[allow(non_snake_case, reason = "MPI's names")]
        mod $name {
            $(
                #[allow(clippy::too_many_arguments, reason = "MPI's arguments")]
                unsafe extern "C" fn $body(
                    a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize,
                    h: usize, i: usize, j: usize, k: usize, l: usize, m: usize,
                ) -> usize {
                    static FRONT: super::Front = super::Front::new(
                        fathomp_sys::dlsym_next::c_string(concat!($text, "\0")),
                        $in_c,
                        super::Language::$language,
                    );
                    // SAFETY: promised by our caller.
                    unsafe { FRONT.pass([a, b, c, d, e, f, g, h, i, j, k, l, m]) }
                }
                super::noting_call_site! {
                    $noting, concat!("fathomp_mpi_front_", $text), $body
                }
            )+
        }
    };
}

fathomp_types::mpi_calls!(fronts);
