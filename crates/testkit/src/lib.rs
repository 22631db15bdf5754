//! What tests and chores share: cases recorded from other schedulers, and how answers are compared with theirs.

pub mod ray_case;
pub mod ray_problem;
