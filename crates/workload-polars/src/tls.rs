//! TLS: certificates from files, which are read again when they change, so that a renewed one needs no restart.

use crate::error::PolarsError;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Between two looks at the files. Certificates are renewed days before they run out.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The first byte of a TLS connection: a record of a handshake.
const HANDSHAKE: u8 = 22;

/// Where certificates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM file with our certificate, and behind it those between it and the authority.
    pub certificate: PathBuf,
    /// PEM file with its private key.
    pub key: PathBuf,
    /// PEM file with authorities; callers must have a certificate of one of them. `None`: callers need none.
    pub client_ca: Option<PathBuf>,
}

/// What the service says of itself to callers, and asks of them.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    now: Mutex<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    texts: Vec<Vec<u8>>,
    config: Arc<ServerConfig>,
}

/// How well a connection is secured; a service may ask for at least so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Secured {
    /// Everybody on the way can read it.
    Plain,
    /// Nobody on the way can read it.
    Encrypted,
    /// And the caller has shown a certificate.
    Known,
}

impl Tls {
    /// Reads the files, now and whenever they have changed, for as long as this is there. A change that is no good
    /// changes nothing and is said.
    pub(crate) fn start(files: TlsFiles) -> Result<Arc<Self>, PolarsError> {
        let texts = texts(&files)?;
        let config = server_config(&files, &texts)?;
        let tls = Arc::new(Self { files, now: Mutex::new(Loaded { texts, config }) });
        tokio::spawn(follow(Arc::downgrade(&tls)));
        Ok(tls)
    }

    /// What a connection is at least.
    pub(crate) const fn secures(&self) -> Secured {
        if self.files.client_ca.is_some() { Secured::Known } else { Secured::Encrypted }
    }

    /// Agrees on keys with a caller. Needs a deadline.
    pub(crate) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let config = self.lock().config.clone();
        TlsAcceptor::from(config).accept(stream).await
    }

    /// Reads the files again; `Ok(true)`: they have changed.
    fn refresh(&self) -> Result<bool, PolarsError> {
        let texts = texts(&self.files)?;
        if self.lock().texts == texts {
            return Ok(false);
        }
        let config = server_config(&self.files, &texts)?;
        *self.lock() = Loaded { texts, config };
        Ok(true)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Loaded> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn follow(tls: Weak<Tls>) {
    let mut said = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(tls) = tls.upgrade() else { return };
        let file = tls.files.certificate.display().to_string();
        // Files may lie on a disk that does not answer.
        let looked = tokio::task::spawn_blocking(move || tls.refresh().map_err(|error| error.to_string()));
        match looked.await {
            Ok(Ok(changed)) => {
                if changed {
                    tracing::info!(file, "the certificate was read again");
                }
                said = None;
            }
            Ok(Err(error)) if said.as_ref() != Some(&error) => {
                tracing::warn!(error, "the certificate cannot be read again; the one from before stays");
                said = Some(error);
            }
            Ok(Err(_)) | Err(_) => {}
        }
    }
}

/// Is that the beginning of a TLS connection? Waits for the first byte.
pub(crate) async fn begins(stream: &TcpStream) -> std::io::Result<bool> {
    let mut first = [0];
    Ok(stream.peek(&mut first).await? == 1 && first[0] == HANDSHAKE)
}

fn texts(files: &TlsFiles) -> Result<Vec<Vec<u8>>, PolarsError> {
    let all = [Some(&files.certificate), Some(&files.key), files.client_ca.as_ref()];
    let read = |path: &PathBuf| std::fs::read(path).map_err(|error| unusable(path, &error));
    all.into_iter().flatten().map(read).collect()
}

fn server_config(files: &TlsFiles, texts: &[Vec<u8>]) -> Result<Arc<ServerConfig>, PolarsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let bytes = |n: usize| texts.get(n).map_or(&[][..], Vec::as_slice);
    let chain = certificates(&files.certificate, bytes(0))?;
    let key = PrivateKeyDer::from_pem_slice(bytes(1)).map_err(|error| unusable(&files.key, &error))?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&files.certificate, &error))?;
    let builder = match &files.client_ca {
        Some(file) => builder.with_client_cert_verifier(authorities(file, bytes(2), provider)?),
        None => builder.with_no_client_auth(),
    };
    let made = builder.with_single_cert(chain, key);
    let mut config = made.map_err(|error| unusable(&files.certificate, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn authorities(
    file: &Path,
    text: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, PolarsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file, text)? {
        roots.add(certificate).map_err(|error| unusable(file, &error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    verifier.map_err(|error| unusable(file, &error))
}

/// All certificates of a file, and at least one.
fn certificates(file: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, PolarsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let all = all.map_err(|error| unusable(file, &error))?;
    if all.is_empty() { Err(unusable(file, &"no certificate is in it")) } else { Ok(all) }
}

fn unusable(file: &Path, reason: &dyn std::fmt::Display) -> PolarsError {
    PolarsError::Tls { file: file.display().to_string(), reason: reason.to_string() }
}
