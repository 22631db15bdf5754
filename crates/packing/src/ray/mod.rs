//! Ray's documented scoring with its oddities repaired.
