//! MPI, as far as agents of several hosts use it.
//!
//! Every MPI has types of its own, so what is loaded here is a small library ([`SOURCE`]) that
//! the user's `mpicc` has compiled and that shows none of them. It belongs into a process that
//! shares no memory page by page: MPI's own libraries overwrite functions of the C library and
//! start threads.

pub mod behind;
mod members;
mod world;

pub use members::{from_fortran, members};
pub use world::World;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The source of the library, in C.
pub const SOURCE: &str = include_str!("shim.c");
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 32 << 10;

/// The version of the library's functions that is understood here.
const INTERFACE: c_int = 1;
const NOTHING: c_int = -2;

/// MPI cannot be used, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum MpiError {
    /// The library cannot be loaded.
    #[error(
        "the library that was built for MPI cannot be loaded: {0}: see that this host has the same MPI as the one where it was built"
    )]
    Load(String),
    /// It lacks functions, or has them differently.
    #[error("{}: it is no library of this version for MPI: delete it, so that it is built again", .0.display())]
    Foreign(PathBuf),
    /// A function of MPI has failed.
    #[error("MPI has failed: {0}")]
    Failed(String),
    /// This message is longer than any may be.
    #[error("a message of {0} bytes is too long for MPI here")]
    TooLong(usize),
}

/// MPI has begun and not ended.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Whether MPI has begun in this process and not ended. Then what its libraries do at the end of
/// a process may wait for others, or fail: see [`leave`](crate::process::leave).
#[must_use]
pub fn is_under_way() -> bool {
    UNDER_WAY.load(Ordering::Acquire)
}

/// What the loader finds under a name.
type Found = *mut c_void;
type Why = unsafe extern "C" fn() -> *const c_char;
type Number = unsafe extern "C" fn() -> c_int;
type Init = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, c_int) -> c_int;
type Gather = unsafe extern "C" fn(*const c_void, c_int, *mut c_void) -> c_int;
type SendOne = unsafe extern "C" fn(c_int, *const c_void, c_int, c_int) -> c_int;
type Sent = unsafe extern "C" fn(c_int) -> c_int;
type Receive = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int) -> c_int;

/// The library's functions.
struct Functions {
    why: Why,
    init: Init,
    version: Version,
    gather: Gather,
    send: SendOne,
    sent: Sent,
    receive: Receive,
    finalize: Number,
}

/// Room for a message that is being sent.
struct Slot {
    bytes: Box<[u8]>,
    busy: bool,
}

/// MPI, begun. It stays with the thread that began it, and ends by [`finalize`](Self::finalize)
/// or with the process.
pub struct Mpi {
    functions: Functions,
    rank: u32,
    size: u32,
    slots: Vec<Slot>,
    /// Where the slot after the last one that was taken is.
    next: usize,
    incoming: Box<[u8]>,
    /// Sends and receives may be under way, into and out of memory of this.
    begun: bool,
    _one_thread: PhantomData<*mut ()>,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi(rank {} of {})", self.rank, self.size)
    }
}

impl Mpi {
    /// Loads the library and begins MPI; returns when all processes of the run have.
    ///
    /// # Errors
    /// If there is no such library, or MPI does not begin.
    pub fn begin(library: &Path) -> Result<Self, MpiError> {
        let quiet = Quiet::begin();
        let (functions, slots) = load(library)?;
        let (mut rank, mut size) = (0, 0);
        UNDER_WAY.store(true, Ordering::Release);
        // SAFETY: `load` has seen that the function is of our interface; it writes two numbers.
        let done = unsafe { (functions.init)(&raw mut rank, &raw mut size) };
        drop(quiet);
        check(&functions, done)?;
        let slot = |_| Slot {
            bytes: vec![0; MESSAGE_BYTES_MAX].into_boxed_slice(),
            busy: false,
        };
        Ok(Self {
            functions,
            rank: u32::try_from(rank).unwrap_or(0),
            size: u32::try_from(size).unwrap_or(0),
            slots: (0..slots).map(slot).collect(),
            next: 0,
            incoming: vec![0; MESSAGE_BYTES_MAX].into_boxed_slice(),
            begun: true,
            _one_thread: PhantomData,
        })
    }

    /// The number of this process.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many processes there are.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What the MPI calls itself.
    #[must_use]
    pub fn version(&self) -> String {
        let mut text = [0_u8; 200];
        // SAFETY: writes a string of at most that many bytes, its end included.
        let done = unsafe { (self.functions.version)(text.as_mut_ptr().cast(), 200) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        // What comes behind a comma is who has built it, and when.
        let name = text.to_string_lossy();
        let name = name.split(',').next().unwrap_or_default();
        match done < 0 {
            true => "an unknown MPI".to_owned(),
            false => name.replace(char::is_control, " "),
        }
    }

    /// Gives all processes what each of them has, of the same length everywhere, in the order of
    /// ranks. Waits for all.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn gather(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, MpiError> {
        let bytes = c_int::try_from(mine.len()).map_err(|_| MpiError::TooLong(mine.len()))?;
        let mut all = vec![0; mine.len() * self.size as usize];
        // SAFETY: there are as many bytes as are said, and as many times of them in `all` as
        // there are processes. That all call this with the same length is the callers' part; if
        // they do not, MPI reports it, and writes no more than it was told there is room for.
        let done = unsafe {
            (self.functions.gather)(mine.as_ptr().cast(), bytes, all.as_mut_ptr().cast())
        };
        check(&self.functions, done)?;
        Ok(all.chunks(mine.len().max(1)).map(<[u8]>::to_vec).collect())
    }

    /// Begins to send a message that consists of these parts; `false` if too many are being sent.
    ///
    /// # Errors
    /// If MPI fails, or the message is too long.
    pub fn send(&mut self, to: u32, parts: &[&[u8]]) -> Result<bool, MpiError> {
        let length = parts.iter().map(|part| part.len()).sum();
        if length > MESSAGE_BYTES_MAX {
            return Err(MpiError::TooLong(length));
        }
        let Some(number) = self.free_slot()? else {
            return Ok(false);
        };
        let Some(slot) = self.slots.get_mut(number) else {
            return Ok(false);
        };
        let mut rest = &mut slot.bytes[..];
        for part in parts {
            let (here, behind) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = behind;
        }
        slot.busy = true;
        let (to, length) = (to as c_int, length as c_int);
        // SAFETY: the slot's memory stays where it is, and as it is, until `sent` has said that
        // it is free: only then is it taken again, and it is never freed while MPI may read it
        // (see `drop`). Its number is below what the library has said.
        let done = unsafe {
            (self.functions.send)(to, slot.bytes.as_ptr().cast(), length, number as c_int)
        };
        check(&self.functions, done)?;
        Ok(true)
    }

    /// Whether a message can be sent now.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn has_room(&mut self) -> Result<bool, MpiError> {
        Ok(self.free_slot()?.is_some())
    }

    /// A slot that nothing is sent from, if there is one.
    fn free_slot(&mut self) -> Result<Option<usize>, MpiError> {
        let (first, count) = (self.next, self.slots.len());
        for number in (0..count).map(|step| (first + step) % count) {
            if self.is_free(number)? {
                self.next = number;
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn is_free(&mut self, number: usize) -> Result<bool, MpiError> {
        let Some(slot) = self.slots.get_mut(number) else {
            return Ok(false);
        };
        if slot.busy {
            // SAFETY: takes the number of a slot from which something is sent.
            let sent = unsafe { (self.functions.sent)(number as c_int) };
            check(&self.functions, sent)?;
            slot.busy = sent == 0;
        }
        Ok(!slot.busy)
    }

    /// The next message and whom it is from, if one has come.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn receive(&mut self) -> Result<Option<(u32, &[u8])>, MpiError> {
        let mut from = 0;
        let room = self.incoming.len() as c_int;
        // SAFETY: `incoming` is where every call receives; it stays where it is, nobody else
        // touches it but through the result, which keeps this function from being called, and it
        // is never freed while MPI may write it (see `drop`).
        let got = unsafe {
            (self.functions.receive)(&raw mut from, self.incoming.as_mut_ptr().cast(), room)
        };
        if got == NOTHING {
            return Ok(None);
        }
        check(&self.functions, got)?;
        let bytes = self.incoming.get(..got as usize).unwrap_or_default();
        Ok(Some((u32::try_from(from).unwrap_or(u32::MAX), bytes)))
    }

    /// Ends MPI; waits until all processes do.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn finalize(mut self) -> Result<(), MpiError> {
        // SAFETY: takes nothing; `self` is gone afterwards, so nothing else is called.
        let done = unsafe { (self.functions.finalize)() };
        if done < 0 {
            return Err(MpiError::Failed("MPI_Finalize".to_owned()));
        }
        // MPI reads and writes nothing any more.
        self.begun = false;
        UNDER_WAY.store(false, Ordering::Release);
        Ok(())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.begun {
            // MPI may still read and write this memory, as long as the process lives.
            std::mem::forget(std::mem::take(&mut self.slots));
            std::mem::forget(std::mem::take(&mut self.incoming));
        }
    }
}

/// Standard output is the program's. UCX, by which MPIs send, writes what it has to say there
/// unless this variable names another stream, which it reads when it is loaded: as MPI is, or as
/// that begins. Afterwards the variable is gone, since programs get the environment, too.
struct Quiet {
    is_ours: bool,
}

impl Quiet {
    const VARIABLE: &str = "UCX_LOG_FILE";

    fn begin() -> Self {
        let is_ours = std::env::var_os(Self::VARIABLE).is_none();
        if is_ours {
            // SAFETY: Rust's other readers and writers are kept out meanwhile, and C's writers by
            // the C library. C code that reads at the same time sees the variables before or
            // after: the old list of them stays where it is, as each MPI's own calls of `setenv`
            // in this very function rely on.
            unsafe { std::env::set_var(Self::VARIABLE, "stderr") };
        }
        Self { is_ours }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: as above; taking one out moves the others up within the list.
            unsafe { std::env::remove_var(Self::VARIABLE) };
        }
    }
}

/// What a function has said.
fn check(functions: &Functions, done: c_int) -> Result<(), MpiError> {
    if done >= 0 {
        return Ok(());
    }
    // SAFETY: gives a string that the library keeps.
    let why = unsafe { CStr::from_ptr((functions.why)()) };
    Err(MpiError::Failed(why.to_string_lossy().into_owned()))
}

/// Loads the library, and never unloads it: MPI's threads may be in it. Gives its functions and
/// how many messages it sends at a time.
fn load(library: &Path) -> Result<(Functions, usize), MpiError> {
    let foreign = || MpiError::Foreign(library.to_owned());
    let path = CString::new(library.as_os_str().as_bytes()).map_err(|_| foreign())?;
    // Globally, because parts of an MPI that are loaded later look for its functions there.
    // SAFETY: the path is a C string. What constructors of the library do is what the user's
    // compiler has put there.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        // SAFETY: gives a string that lives until the next call of this thread, or null.
        let why = unsafe { libc::dlerror() };
        let why = match why.is_null() {
            true => "for no known reason".into(),
            // SAFETY: as above.
            false => unsafe { CStr::from_ptr(why) }.to_string_lossy(),
        };
        return Err(MpiError::Load(why.into_owned()));
    }
    let find = |name: &CStr| {
        // SAFETY: a handle that is never closed, and a C string.
        let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!found.is_null()).then_some(found).ok_or_else(foreign)
    };
    // SAFETY: this is the type that the function of that name has in all versions of the source.
    let interface =
        unsafe { std::mem::transmute::<Found, Number>(find(c"fathomp_mpi_interface")?) };
    // SAFETY: takes nothing.
    if unsafe { interface() } != INTERFACE {
        return Err(foreign());
    }
    // SAFETY: these are the types that the source has for these names, which is what `INTERFACE`
    // stands for: it is raised with every change of them.
    let (slots, functions) = unsafe {
        let functions = Functions {
            why: std::mem::transmute::<Found, Why>(find(c"fathomp_mpi_why")?),
            init: std::mem::transmute::<Found, Init>(find(c"fathomp_mpi_init")?),
            version: std::mem::transmute::<Found, Version>(find(c"fathomp_mpi_version")?),
            gather: std::mem::transmute::<Found, Gather>(find(c"fathomp_mpi_gather")?),
            send: std::mem::transmute::<Found, SendOne>(find(c"fathomp_mpi_send")?),
            sent: std::mem::transmute::<Found, Sent>(find(c"fathomp_mpi_sent")?),
            receive: std::mem::transmute::<Found, Receive>(find(c"fathomp_mpi_receive")?),
            finalize: std::mem::transmute::<Found, Number>(find(c"fathomp_mpi_finalize")?),
        };
        let slots = std::mem::transmute::<Found, Number>(find(c"fathomp_mpi_slots")?);
        (slots(), functions)
    };
    let slots = usize::try_from(slots).map_err(|_| foreign())?;
    Ok((functions, slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_for_mpi_is_refused() {
        let error = Mpi::begin(Path::new("/no/such/library.so")).unwrap_err();
        assert!(matches!(error, MpiError::Load(_)), "{error}");
        // One that everybody has, and that is none of ours.
        let error = Mpi::begin(Path::new("libc.so.6")).unwrap_err();
        assert!(matches!(error, MpiError::Foreign(_)), "{error}");
    }
}
