//! Does it fit, where, and how well: pure placement rules, one folder for each scoring policy.
//!
//! A [`problem::Problem`] is a question (pools, machines, demand, bounds), a [`problem::Decision`] its answer.
//! [`ray`] answers as Ray documents it, [`ray_exact`] as Ray 2.60.0 really does.
#![no_std]

extern crate alloc;

pub mod exact;
pub mod kube;
pub mod problem;
pub mod ray;
pub mod ray_exact;
pub mod target;
mod why;
