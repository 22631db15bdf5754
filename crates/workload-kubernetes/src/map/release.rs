//! What differs between the versions of Kubernetes in how kube-scheduler reads a pod.

use std::fmt;

/// The minor version of Kubernetes 1 whose rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u32);

impl Release {
    /// The newest whose rules we know; taken for those after it too, and where nobody says which one it is.
    pub const NEWEST: Self = Self(37);

    /// Reads a minor version as an API server tells it (`36`, `36+`).
    pub fn of(minor: &str) -> Self {
        let digits = minor.split(|c: char| !c.is_ascii_digit()).next();
        digits
            .and_then(|digits| digits.parse().ok())
            .map_or(Self::NEWEST, |minor| Self(minor).min(Self::NEWEST))
    }

    /// Nodes declare what they can do, and the scheduler looks at it (on by default from then on).
    pub(super) fn declares_features(self) -> bool {
        self.0 >= 36
    }

    /// The resources of a pod as a whole can be changed while it runs.
    pub(super) fn resizes_pods(self) -> bool {
        self.0 >= 36
    }

    /// A pod that is being resized counts as the most of three sums over its containers; before, as the sum of what is
    /// the most for each container.
    pub(super) fn sums_before_most(self) -> bool {
        self.0 >= 37
    }

    /// A term's namespace selector that holds for a namespace without labels (`NotIn`, `DoesNotExist`) means every
    /// namespace in the terms of the pod that is placed, not in those of the pods that are there already.
    /// (kubernetes/kubernetes#141526; 1.37 has it right.)
    pub(super) fn widens_namespaces(self) -> bool {
        (34..37).contains(&self.0)
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_api_servers_tell_it() {
        let cases = [("34", 34), ("36+", 36), ("37", 37), ("41", 37), ("", 37), ("odd", 37)];
        for (minor, release) in cases {
            assert_eq!(Release::of(minor), Release(release), "{minor:?}");
        }
    }
}
