//! What is wrong with a text that should be one of our formats.

/// A text that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Not JSON, or not of the shape that the format has.
    #[error("{what} cannot be read: {reason}. Was it written by Ostler, and is it whole? [OSTLER-W001]")]
    Unreadable {
        /// Which text.
        what: &'static str,
        /// What the reader says.
        reason: String,
    },
    /// A format of another version.
    #[error(
        "{what} has format {found}, this Ostler reads format {known}. Use the Ostler that wrote it [OSTLER-W002]"
    )]
    OtherFormat {
        /// Which text.
        what: &'static str,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
}
