//! One registry of identifiers. Each is a cheap-to-clone string with a type of its own, so that the id of a
//! machine can never be passed where the id of a node is meant.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a text; any text is an id, its source has checked it.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    )*};
}

ids! {
    /// One thing that asks for capacity: a Ray cluster, a Kubernetes cluster, a Polars scheduler.
    WorkloadId;
    /// Machines of one kind with bounds (Ray: node type, worker group).
    PoolId;
    /// Where machines come from, as named in the configuration.
    ProviderId;
    /// Our record of one machine; we make it up before the machine exists, and it is never used again.
    InstanceId;
    /// What the provider calls the machine. Unique within the provider.
    CloudId;
    /// What the workload calls the machine (Ray: 28 bytes in hex).
    NodeId;
    /// A group of requests that is placed as a whole (Ray: placement group).
    GangId;
    /// Makes a launch idempotent: instance id and attempt, see [`LaunchToken::of`].
    LaunchToken;
}

impl LaunchToken {
    /// The token of one attempt to launch one instance. The same instance and attempt always give the same
    /// token, so a launch that is repeated after a crash finds the machine that the first one made.
    pub fn of(instance: &InstanceId, attempt: u32) -> Self {
        Self::new(alloc::format!("{instance}.{attempt}"))
    }
}
