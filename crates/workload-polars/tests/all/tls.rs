//! The service by TLS.

use super::common::{Served, config, free, serve};
use ostler_testkit::polars::client::http;
use ostler_workload::Outcome;
use ostler_workload_polars::{PolarsError, PolarsWorkload, Sockets, TlsFiles, Token, proto};
use proto::scaling_service_client::ScalingServiceClient;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

/// Whoever signs certificates.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
struct Identity {
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = parameters.self_signed(&key).expect("signed").pem();
        Self { pem, issuer: Issuer::new(parameters, key) }
    }

    fn issues(&self, name: &str) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("signed").pem();
        Identity { certificate, key: key.serialize_pem() }
    }

    /// Trusts this authority and shows this certificate.
    fn connector(&self, shown: Option<&Identity>, protocol: &[u8]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(der(&self.pem)).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder =
            builder.with_safe_default_protocol_versions().expect("there are").with_root_certificates(roots);
        let mut config = match shown {
            Some(Identity { certificate, key }) => {
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                builder.with_client_auth_cert(vec![der(certificate)], key).expect("they fit")
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        TlsConnector::from(Arc::new(config))
    }
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
}

/// Files as an operator has them.
struct Files(tempfile::TempDir);

impl Files {
    fn of(identity: &Identity, callers: Option<&Authority>) -> Self {
        let files = Self(tempfile::tempdir().expect("a directory"));
        files.write(identity);
        if let Some(callers) = callers {
            std::fs::write(files.0.path().join("ca.pem"), &callers.pem).expect("a file");
        }
        files
    }

    fn write(&self, identity: &Identity) {
        std::fs::write(self.0.path().join("cert.pem"), &identity.certificate).expect("a file");
        std::fs::write(self.0.path().join("key.pem"), &identity.key).expect("a file");
    }

    fn named(&self) -> TlsFiles {
        let path = |name: &str| self.0.path().join(name);
        let client_ca = Some(path("ca.pem")).filter(|path| path.exists());
        TlsFiles { certificate: path("cert.pem"), key: path("key.pem"), client_ca }
    }
}

fn served(files: &Files) -> Served {
    serve(Outcome::Accepted, |config| {
        config.tls = Some(files.named());
        config.grpc = config.rest.as_ref().map(|rest| rest.listen); // both on one port
    })
}

async fn connect(address: SocketAddr, connector: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    connector.connect(ServerName::try_from("localhost").expect("a name"), stream).await
}

/// The answer to a GET of the configuration.
async fn get(address: SocketAddr, connector: &TlsConnector) -> std::io::Result<String> {
    let mut stream = connect(address, connector).await?;
    stream.write_all(b"GET /scale_config HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn grpc(address: SocketAddr, connector: TlsConnector) -> ScalingServiceClient<Channel> {
    let dial = tower::service_fn(move |_| {
        let connector = connector.clone();
        async move { connect(address, &connector).await.map(hyper_util::rt::TokioIo::new) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    ScalingServiceClient::new(endpoint.connect_with_connector(dial).await.expect("it listens"))
}

#[tokio::test]
async fn rest_and_grpc_by_tls_on_one_port() {
    let ca = Authority::new();
    let files = Files::of(&ca.issues("localhost"), None);
    let served = served(&files);
    let answer = get(served.rest, &ca.connector(None, b"http/1.1")).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""desired":4"#), "{answer}");
    let mut client = grpc(served.rest, ca.connector(None, b"h2")).await;
    client.scale_to(proto::ScaleToRequest { amount: 7, ..Default::default() }).await.expect("accepted");
    assert_eq!(served.wishes.lock().expect("nobody panics")[0].amount, 7);
    let mut stream = client.scale_config(proto::ScaleConfigRequest {}).await.expect("a stream").into_inner();
    assert_eq!(stream.message().await.expect("a message").map(|m| m.max), Some(16));
    // Who knows another authority does not take us for the scaling service.
    get(served.rest, &Authority::new().connector(None, b"http/1.1")).await.expect_err("another authority");
}

#[tokio::test]
async fn callers_without_a_certificate_of_ours_stay_out() {
    let (ca, callers) = (Authority::new(), Authority::new());
    let files = Files::of(&ca.issues("localhost"), Some(&callers));
    let served = served(&files);
    let known = callers.issues("scheduler");
    for stranger in [None, Some(Authority::new().issues("scheduler")), Some(ca.issues("scheduler"))] {
        let connector = ca.connector(stranger.as_ref(), b"http/1.1");
        let answer = get(served.rest, &connector).await;
        assert!(answer.as_ref().is_err(), "{answer:?}");
    }
    let answer = get(served.rest, &ca.connector(Some(&known), b"http/1.1")).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut client = grpc(served.rest, ca.connector(Some(&known), b"h2")).await;
    client.scale_to(proto::ScaleToRequest { amount: 1, ..Default::default() }).await.expect("accepted");
    assert_eq!(served.wishes.lock().expect("nobody panics").len(), 1);
}

#[tokio::test]
async fn plain_http_is_told_to_speak_tls() {
    let files = Files::of(&Authority::new().issues("localhost"), None);
    let served = served(&files);
    for _ in 0..20 {
        let (status, text) = http(served.rest, "GET", "/scale_config", "", "").await.expect("an answer");
        assert_eq!(status, 400, "{text}");
        assert!(text.contains("https://"), "{text}");
    }
    let (status, _) = http(served.rest, "POST", "/scale_to", "application/json", r#"{"amount": 1}"#)
        .await
        .expect("an answer");
    assert_eq!(status, 400);
    let endpoint = Endpoint::from_shared(format!("http://{}", served.rest)).expect("a URI");
    let mut client = ScalingServiceClient::new(endpoint.connect_lazy());
    let asked = client.scale_to(proto::ScaleToRequest { amount: 1, ..Default::default() });
    tokio::time::timeout(Duration::from_secs(5), asked).await.expect("at once").expect_err("no TLS");
    assert!(served.wishes.lock().expect("nobody panics").is_empty());
}

/// Each of them takes a place for 5 s, and the others do not wait for it.
#[tokio::test]
async fn slow_handshakes_end() {
    let ca = Authority::new();
    let files = Files::of(&ca.issues("localhost"), None);
    let served = served(&files);
    let begun = Instant::now();
    let mut slow = Vec::new();
    for n in 0..200 {
        let mut stream = TcpStream::connect(served.rest).await.expect("it listens");
        if n % 2 == 0 {
            stream.write_all(&[22, 3, 1, 2, 0, 1]).await.expect("the beginning of a greeting");
        }
        slow.push(stream);
    }
    let answer = get(served.rest, &ca.connector(None, b"http/1.1")).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(3), "after {:?}", begun.elapsed());
    for mut stream in slow {
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut [0; 64])).await;
        assert!(matches!(ended.expect("it is closed"), Ok(0) | Err(_)));
    }
    assert!(begun.elapsed() >= Duration::from_secs(4), "they had their time: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_renewed_certificate_needs_no_restart() {
    let (old, new) = (Authority::new(), Authority::new());
    let files = Files::of(&old.issues("localhost"), None);
    let served = served(&files);
    let trusts = async |ca: &Authority| get(served.rest, &ca.connector(None, b"http/1.1")).await.is_ok();
    assert!(trusts(&old).await && !trusts(&new).await);
    // Half of a renewal is no good, and changes nothing.
    let identity = new.issues("localhost");
    std::fs::write(files.named().certificate, &identity.certificate).expect("a file");
    tokio::time::sleep(Duration::from_millis(5500)).await;
    assert!(trusts(&old).await && !trusts(&new).await);
    files.write(&identity);
    let begun = Instant::now();
    while !trusts(&new).await {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not read again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!trusts(&old).await);
}

#[tokio::test]
async fn a_callers_certificate_protects_and_ours_alone_does_not() {
    let (ca, callers) = (Authority::new(), Authority::new());
    let start = |files: TlsFiles| {
        let everywhere = |port: SocketAddr| SocketAddr::from(([0, 0, 0, 0], port.port()));
        let mut config = config(everywhere(free()), everywhere(free()));
        config.tls = Some(files);
        PolarsWorkload::start(config, BTreeSet::new(), &Sockets::default()).map(drop)
    };
    let mutual = Files::of(&ca.issues("localhost"), Some(&callers));
    assert!(start(mutual.named()).is_ok());
    let one_sided = Files::of(&ca.issues("localhost"), None);
    assert!(matches!(start(one_sided.named()), Err(PolarsError::Open { .. })));
    let said = |files: TlsFiles| start(files).expect_err("no good").to_string();
    let broken = |name: &str, text: &str| {
        let files = Files::of(&ca.issues("localhost"), Some(&callers));
        std::fs::write(files.0.path().join(name), text).expect("a file");
        said(files.named())
    };
    let words = broken("cert.pem", "");
    assert!(words.contains("cert.pem") && words.contains("no certificate is in it"), "{words}");
    assert!(broken("key.pem", "x").contains("key.pem"));
    assert!(broken("key.pem", &ca.issues("localhost").key).contains("OSTLER-L004"), "a key of another one");
    assert!(
        broken("ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").contains("ca.pem")
    );
    let missing = TlsFiles { key: "/nowhere/key.pem".into(), ..mutual.named() };
    assert!(said(missing).contains("/nowhere/key.pem"));
}

/// A connection from before a change of the configuration is not as well secured as the service now asks for.
#[tokio::test]
async fn a_connection_from_before_does_not_slip_through() {
    let (ca, callers) = (Authority::new(), Authority::new());
    let files = Files::of(&ca.issues("localhost"), Some(&callers));
    let (rest, sockets) = (free(), Sockets::default());
    let start = |tls| {
        let mut config = config(rest, free());
        (config.tls, config.token) = (tls, Token::new("t"));
        PolarsWorkload::start(config, BTreeSet::new(), &sockets).expect("the port is ours")
    };
    let before = start(None);
    let mut old = TcpStream::connect(rest).await.expect("it listens");
    let ask = b"GET /scale_config HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\n\r\n";
    let mut status = async || {
        old.write_all(ask).await.expect("it is open");
        let mut text = [0; 2048];
        let n = old.read(&mut text).await.expect("an answer");
        String::from_utf8_lossy(&text[9..12.min(n)]).into_owned()
    };
    assert_eq!(status().await, "401");
    let _now = start(Some(files.named()));
    drop(before);
    assert_eq!(status().await, "403");
}
