//! Simulated nodes: machines that are Node objects with a kubelet of pretence behind them.
