//! What tests and chores share: cases recorded from other schedulers, and how answers are compared with theirs.

#[cfg(feature = "gcs")]
pub mod gcs;
#[cfg(feature = "kube")]
pub mod kube;
#[cfg(feature = "polars")]
pub mod polars;
#[cfg(feature = "ray")]
pub mod ray;
pub mod ray_case;
pub mod ray_problem;
