//! Does it fit, where, and how well: pure placement rules, one folder for each scoring policy.
#![no_std]
extern crate alloc;

pub mod ray_exact;
