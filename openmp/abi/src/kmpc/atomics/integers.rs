//! Integers of 1, 2, 4 and 8 bytes.

use super::{Atomic, updates};
use crate::kmpc::types::Location;

macro_rules! integers {
    ($($name:literal $type:ty, $unsigned_name:literal $unsigned:ty;)+) => {$(
        updates! { $name, $type:
            set "add" $type, |a, b| a.wrapping_add(b);
            get "add_cpt" $type, |a, b| a.wrapping_add(b);
            set "sub" $type, |a, b| a.wrapping_sub(b);
            get "sub_cpt" $type, |a, b| a.wrapping_sub(b);
            set "sub_rev" $type, |a, b| b.wrapping_sub(a);
            get "sub_cpt_rev" $type, |a, b| b.wrapping_sub(a);
            set "mul" $type, |a, b| a.wrapping_mul(b);
            get "mul_cpt" $type, |a, b| a.wrapping_mul(b);
            set "mul_float8" f64, |a, b| (a as f64 * b) as $type;
            set "div" $type, |a, b| a.checked_div(b).unwrap_or(a);
            get "div_cpt" $type, |a, b| a.checked_div(b).unwrap_or(a);
            set "div_rev" $type, |a, b| b.checked_div(a).unwrap_or(a);
            get "div_cpt_rev" $type, |a, b| b.checked_div(a).unwrap_or(a);
            set "div_float8" f64, |a, b| (a as f64 / b) as $type;
            set "andb" $type, |a, b| a & b;
            get "andb_cpt" $type, |a, b| a & b;
            set "orb" $type, |a, b| a | b;
            get "orb_cpt" $type, |a, b| a | b;
            set "xor" $type, |a, b| a ^ b;
            get "xor_cpt" $type, |a, b| a ^ b;
            set "neqv" $type, |a, b| a ^ b;
            get "neqv_cpt" $type, |a, b| a ^ b;
            set "eqv" $type, |a, b| !(a ^ b);
            get "eqv_cpt" $type, |a, b| !(a ^ b);
            set "andl" $type, |a, b| <$type>::from(a != 0 && b != 0);
            get "andl_cpt" $type, |a, b| <$type>::from(a != 0 && b != 0);
            set "orl" $type, |a, b| <$type>::from(a != 0 || b != 0);
            get "orl_cpt" $type, |a, b| <$type>::from(a != 0 || b != 0);
            set "shl" $type, |a, b| a.wrapping_shl(b as u32);
            get "shl_cpt" $type, |a, b| a.wrapping_shl(b as u32);
            set "shl_rev" $type, |a, b| b.wrapping_shl(a as u32);
            get "shl_cpt_rev" $type, |a, b| b.wrapping_shl(a as u32);
            set "shr" $type, |a, b| a.wrapping_shr(b as u32);
            get "shr_cpt" $type, |a, b| a.wrapping_shr(b as u32);
            set "shr_rev" $type, |a, b| b.wrapping_shr(a as u32);
            get "shr_cpt_rev" $type, |a, b| b.wrapping_shr(a as u32);
            set "max" $type, |a, b| a.max(b);
            get "max_cpt" $type, |a, b| a.max(b);
            set "min" $type, |a, b| a.min(b);
            get "min_cpt" $type, |a, b| a.min(b);
            set "wr" $type, |_, b| b;
            swap "swp" $type, |_, b| b;
            read "rd" $type, |a, _| a;
        }
        // What is the same for both signs has no name of its own.
        updates! { $unsigned_name, $unsigned:
            set "div" $unsigned, |a, b| a.checked_div(b).unwrap_or(a);
            get "div_cpt" $unsigned, |a, b| a.checked_div(b).unwrap_or(a);
            set "div_rev" $unsigned, |a, b| b.checked_div(a).unwrap_or(a);
            get "div_cpt_rev" $unsigned, |a, b| b.checked_div(a).unwrap_or(a);
            set "shr" $unsigned, |a, b| a.wrapping_shr(b as u32);
            get "shr_cpt" $unsigned, |a, b| a.wrapping_shr(b as u32);
            set "shr_rev" $unsigned, |a, b| b.wrapping_shr(a as u32);
            get "shr_cpt_rev" $unsigned, |a, b| b.wrapping_shr(a as u32);
        }
    )+};
}

integers! {
    "fixed1" i8, "fixed1u" u8;
    "fixed2" i16, "fixed2u" u16;
    "fixed4" i32, "fixed4u" u32;
    "fixed8" i64, "fixed8u" u64;
}
