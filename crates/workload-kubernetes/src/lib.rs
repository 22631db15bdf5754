//! The nodes and pods of a Kubernetes cluster as a workload.
