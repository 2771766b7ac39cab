//! Floating-point numbers of 4 and 8 bytes.

use super::{Atomic, updates};
use crate::kmpc::types::Location;

macro_rules! reals {
    ($($name:literal $type:ty;)+) => {$(
        updates! { $name, $type:
            set "add" $type, |a, b| a + b;
            get "add_cpt" $type, |a, b| a + b;
            set "sub" $type, |a, b| a - b;
            get "sub_cpt" $type, |a, b| a - b;
            set "sub_rev" $type, |a, b| b - a;
            get "sub_cpt_rev" $type, |a, b| b - a;
            set "mul" $type, |a, b| a * b;
            get "mul_cpt" $type, |a, b| a * b;
            set "div" $type, |a, b| a / b;
            get "div_cpt" $type, |a, b| a / b;
            set "div_rev" $type, |a, b| b / a;
            get "div_cpt_rev" $type, |a, b| b / a;
            set "max" $type, |a, b| if a < b { b } else { a };
            get "max_cpt" $type, |a, b| if a < b { b } else { a };
            set "min" $type, |a, b| if b < a { b } else { a };
            get "min_cpt" $type, |a, b| if b < a { b } else { a };
            set "wr" $type, |_, b| b;
            swap "swp" $type, |_, b| b;
            read "rd" $type, |a, _| a;
        }
    )+};
}

reals! {
    "float4" f32;
    "float8" f64;
}

updates! { "float4", f32:
    set "add_float8" f64, |a, b| (f64::from(a) + b) as f32;
    set "sub_float8" f64, |a, b| (f64::from(a) - b) as f32;
    set "mul_float8" f64, |a, b| (f64::from(a) * b) as f32;
    set "div_float8" f64, |a, b| (f64::from(a) / b) as f32;
}
