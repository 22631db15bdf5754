//! Versioned formats. The words inside are the model's own (`docs/adr/0002-model-derives-serde.md`); what is
//! here is the envelope: which format it is, and what to say of one that cannot be read.

mod error;
mod record;
mod recording;
mod status;

pub use error::WireError;
pub use record::{memory_from_text, memory_to_text, record_from_text, record_to_text};
pub use recording::Recording;
pub use status::{NodeStatusLine, ProviderStatus, Status, WorkloadStatus};
