//! Decisions exactly as Ray 2.60.0 makes them.
