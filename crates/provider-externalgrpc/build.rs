//! Compiles the protocol with a compiler in Rust, so that no `protoc` need be there.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["proto/externalgrpc.proto"], ["proto"])?;
    tonic_prost_build::configure()
        // Ordered maps: what we say and log is the same for the same state.
        .btree_map(".")
        .build_server(std::env::var_os("CARGO_FEATURE_SERVER").is_some())
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
