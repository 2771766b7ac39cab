//! One pointer per thread, reached in two instructions.
//!
//! `thread_local!` in a shared library calls `__tls_get_addr`. The runtime asks
//! "who am I" in nearly every entry point, so this module keeps one slot in
//! the initial-exec model, as the C runtimes do: the slot's distance from the
//! thread pointer is a constant that the loader writes once.

use std::any::TypeId;
use std::marker::PhantomData;

/// A per-thread `Option<&'static T>`. All slots of a process share one piece
/// of storage, so only one type should be kept in it; a reader of another type
/// sees an empty slot.
#[derive(Debug)]
pub struct ThreadSlot<T: 'static> {
    value: PhantomData<&'static T>,
}

impl<T: Sync + 'static> Default for ThreadSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync + 'static> ThreadSlot<T> {
    /// The slot.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: PhantomData }
    }

    /// What this thread stored last.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        let (pointer, tag) = platform::load();
        if tag == tag_of::<T>() {
            // SAFETY: pointer and tag are only ever stored together by `set`
            // of the same thread; the tag proves that the pointer came from a
            // `&'static T` of this very type (or is null).
            unsafe { (pointer as *const T).as_ref() }
        } else {
            None
        }
    }

    /// Stores `value` for this thread.
    #[inline]
    pub fn set(&self, value: Option<&'static T>) {
        let pointer = value.map_or(std::ptr::null(), std::ptr::from_ref);
        platform::store(pointer as usize, tag_of::<T>());
    }
}

/// 128 bits that identify `T`.
#[inline]
fn tag_of<T: 'static>() -> [u64; 2] {
    // SAFETY: `TypeId` is a plain 128-bit value without padding, so any
    // bits of it are valid `u64`s; the sizes are checked at compile time.
    unsafe { std::mem::transmute::<TypeId, [u64; 2]>(TypeId::of::<T>()) }
}

/// A number no two living threads share, and never 0.
#[inline]
#[must_use]
pub fn thread_token() -> usize {
    platform::token()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod platform {
    use std::arch::{asm, global_asm};

    // Pointer and 128-bit tag, zero in a new thread.
    global_asm!(
        ".section .tbss,\"awT\",@nobits",
        ".balign 8",
        ".globl fathomp_thread_slot",
        ".hidden fathomp_thread_slot",
        ".type fathomp_thread_slot, @object",
        ".size fathomp_thread_slot, 24",
        "fathomp_thread_slot:",
        ".zero 24",
        ".text",
    );

    #[inline]
    pub(super) fn load() -> (usize, [u64; 2]) {
        let (pointer, low, high): (usize, u64, u64);
        // SAFETY: reads 24 bytes of this thread's own copy of the symbol
        // defined above; nothing else is touched.
        unsafe {
            asm!(
                "mov {o}, qword ptr [rip + fathomp_thread_slot@GOTTPOFF]",
                "mov {p}, qword ptr fs:[{o}]",
                "mov {l}, qword ptr fs:[{o} + 8]",
                "mov {h}, qword ptr fs:[{o} + 16]",
                o = out(reg) _,
                p = out(reg) pointer,
                l = out(reg) low,
                h = lateout(reg) high,
                options(readonly, nostack, preserves_flags, pure),
            );
        }
        (pointer, [low, high])
    }

    #[inline]
    pub(super) fn store(pointer: usize, tag: [u64; 2]) {
        // SAFETY: writes 24 bytes of this thread's own copy of the symbol
        // defined above, which nothing but this module refers to.
        unsafe {
            asm!(
                "mov {o}, qword ptr [rip + fathomp_thread_slot@GOTTPOFF]",
                "mov qword ptr fs:[{o}], {p}",
                "mov qword ptr fs:[{o} + 8], {l}",
                "mov qword ptr fs:[{o} + 16], {h}",
                o = out(reg) _,
                p = in(reg) pointer,
                l = in(reg) tag[0],
                h = in(reg) tag[1],
                options(nostack, preserves_flags),
            );
        }
    }

    #[inline]
    pub(super) fn token() -> usize {
        let token: usize;
        // SAFETY: on x86-64 Linux the first word at the thread pointer is the
        // thread pointer itself (psABI), constant for the thread's life.
        unsafe {
            asm!(
                "mov {t}, qword ptr fs:[0]",
                t = out(reg) token,
                options(readonly, nostack, preserves_flags, pure),
            );
        }
        token
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod platform {
    use std::cell::Cell;

    thread_local! {
        static SLOT: Cell<(usize, [u64; 2])> = const { Cell::new((0, [0; 2])) };
    }

    #[inline]
    pub(super) fn load() -> (usize, [u64; 2]) {
        SLOT.get()
    }

    #[inline]
    pub(super) fn store(pointer: usize, tag: [u64; 2]) {
        SLOT.set((pointer, tag));
    }

    #[inline]
    pub(super) fn token() -> usize {
        SLOT.with(|slot| std::ptr::from_ref(slot) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NUMBERS: [u32; 2] = [7, 8];
    static NUMBER: ThreadSlot<u32> = ThreadSlot::new();

    #[test]
    fn each_thread_has_its_own_value() {
        assert_eq!(NUMBER.get(), None);
        NUMBER.set(Some(&NUMBERS[0]));
        std::thread::spawn(|| {
            assert_eq!(NUMBER.get(), None);
            NUMBER.set(Some(&NUMBERS[1]));
            assert_eq!(NUMBER.get(), Some(&8));
        })
        .join()
        .unwrap();
        assert_eq!(NUMBER.get(), Some(&7));
        NUMBER.set(None);
        assert_eq!(NUMBER.get(), None);
    }

    #[test]
    fn a_value_of_another_type_is_not_seen() {
        static TEXT: ThreadSlot<&'static str> = ThreadSlot::new();
        NUMBER.set(Some(&NUMBERS[0]));
        assert_eq!(TEXT.get(), None);
        NUMBER.set(None);
    }

    #[test]
    fn tokens_of_living_threads_differ() {
        let mine = thread_token();
        let other = std::thread::spawn(thread_token).join().unwrap();
        assert_eq!(mine, thread_token());
        assert_ne!(mine, other);
    }
}
