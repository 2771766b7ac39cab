//! Complex numbers of two `float` or `double`.

use super::{Atomic, under_lock, updates};
use crate::kmpc::types::Location;
use std::ops::{Add, Div, Mul, Sub};

/// C's `_Complex`: passed and returned as a structure of its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Complex<T> {
    re: T,
    im: T,
}

macro_rules! arithmetic {
    ($($type:ty),+) => {$(
        impl Add for Complex<$type> {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { re: self.re + other.re, im: self.im + other.im }
            }
        }
        impl Sub for Complex<$type> {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self { re: self.re - other.re, im: self.im - other.im }
            }
        }
        impl Mul for Complex<$type> {
            type Output = Self;
            fn mul(self, other: Self) -> Self {
                Self {
                    re: self.re * other.re - self.im * other.im,
                    im: self.re * other.im + self.im * other.re,
                }
            }
        }
        impl Div for Complex<$type> {
            type Output = Self;
            fn div(self, other: Self) -> Self {
                let norm = other.re * other.re + other.im * other.im;
                Self {
                    re: (self.re * other.re + self.im * other.im) / norm,
                    im: (self.im * other.re - self.re * other.im) / norm,
                }
            }
        }
    )+};
}

arithmetic!(f32, f64);

impl Atomic for Complex<f32> {
    unsafe fn update(place: *mut Self, new: impl Fn(Self) -> Self) -> (Self, Self) {
        let of = |word: u64| Self {
            re: f32::from_bits(word as u32),
            im: f32::from_bits((word >> 32) as u32),
        };
        let word =
            |value: Self| u64::from(value.re.to_bits()) | u64::from(value.im.to_bits()) << 32;
        // SAFETY: promised by our caller; two floats are as wide as the word.
        let (old, now) = unsafe { u64::update(place.cast(), |old| word(new(of(old)))) };
        (of(old), of(now))
    }
}

impl Atomic for Complex<f64> {
    unsafe fn update(place: *mut Self, new: impl Fn(Self) -> Self) -> (Self, Self) {
        // SAFETY: promised by our caller.
        unsafe { under_lock(place, new) }
    }
}

/// Those that update and tell a value return it, or write it to one more operand: `get` or `out`.
macro_rules! complex {
    ($name:literal, $type:ty, $told:ident) => {
        updates! { $name, $type:
            set "add" $type, |a, b| a + b;
            $told "add_cpt" $type, |a, b| a + b;
            set "sub" $type, |a, b| a - b;
            $told "sub_cpt" $type, |a, b| a - b;
            set "sub_rev" $type, |a, b| b - a;
            $told "sub_cpt_rev" $type, |a, b| b - a;
            set "mul" $type, |a, b| a * b;
            $told "mul_cpt" $type, |a, b| a * b;
            set "div" $type, |a, b| a / b;
            $told "div_cpt" $type, |a, b| a / b;
            set "div_rev" $type, |a, b| b / a;
            $told "div_cpt_rev" $type, |a, b| b / a;
            set "wr" $type, |_, b| b;
            read "rd" $type, |a, _| a;
        }
    };
}

complex!("cmplx4", Complex<f32>, out);
complex!("cmplx8", Complex<f64>, get);
updates! { "cmplx8", Complex<f64>: swap "swp" Complex<f64>, |_, b| b; }

kmpc! {
    /// `void __kmpc_atomic_cmplx4_swp(ident_t *, int gtid, kmp_cmplx32 *lhs, kmp_cmplx32 rhs,
    /// kmp_cmplx32 *out)`: alone of its kind, it does not return the value.
    fn __kmpc_atomic_cmplx4_swp(_location: Location, _gtid: i32, place: *mut u64, with: f64, out: *mut u64) {
        // A pair of floats comes in one register of the size of a double.
        // SAFETY: promised by our caller.
        unsafe { out.write(u64::update(place, |_| with.to_bits()).0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_are_divided() {
        let a = Complex { re: -5.0, im: 10.0 };
        let b = Complex { re: 3.0, im: 4.0 };
        assert_eq!(a / b * b, a);
    }
}
