//! Servers that are none, that say too much, or odd things; and TLS.

mod common;

use common::{Place, config, launch, listed, ms, pool, serving, spec, try_launch};
use ostler_model::{FailureClass, LaunchToken};
use ostler_provider::{LaunchSpec, Provider, ServedPool};
use ostler_provider_externalgrpc::double::{Cloud, Fault, Fleet};
use ostler_provider_externalgrpc::{Config, ExternalGrpcProvider, Tls};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

async fn open(config: Config) -> ExternalGrpcProvider {
    serving(ExternalGrpcProvider::open(config).await.expect("the ledger is free and good"))
}

/// Takes every connection, reads what comes, and says this.
async fn talker(says: &'static [u8]) -> (String, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.write_all(says).await;
                let mut buffer = [0; 1024];
                while stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {}
            });
        }
    });
    (address, task)
}

#[tokio::test]
async fn a_server_that_is_none_is_said_in_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let (garbage, one) = talker(b"220 mail.example ESMTP\r\n").await;
    let (silent, two) = talker(b"").await;
    for address in [garbage, silent, "127.0.0.1:1".to_owned()] {
        let mut config = config(&address, &dir);
        config.timeout = ms(300);
        let provider = open(config).await;
        let began = Instant::now();
        let listed = provider.list().await.expect_err("no server");
        let launched = try_launch(&provider, "i", 1).await.expect_err("no server");
        let ended = provider.terminate(&"x".into()).await.expect_err("no server");
        for error in [listed, launched, ended] {
            assert_eq!(error.class, FailureClass::Transient, "{error}");
            assert!(error.message.contains(&address), "{error}");
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{address}: {:?}", began.elapsed());
    }
    one.abort();
    two.abort();
}

#[tokio::test]
async fn a_server_that_hangs_costs_one_deadline() {
    let mut place = Place::new(Fleet::default()).await;
    place.config.timeout = ms(300);
    // Nobody else calls in between.
    place.config.timing.poll = ms(2_000);
    let provider = place.open().await;
    for call in ["Refresh", "NodeGroupNodes", "NodeGroupTargetSize", "NodeGroups", "NodeGroupIncreaseSize"] {
        place.cloud.world(|world| world.fault(call, &[Fault::Hang]));
        let error = try_launch(&provider, "i", 1).await.expect_err("no answer");
        assert_eq!((error.class, error.code), (FailureClass::Transient, "OSTLER-P305"), "{error}");
        assert!(error.message.contains(call), "{error}");
    }
    // Its size is asked for again once it must have shown, had it been heard.
    launch(&provider, "i").await;
    assert_eq!(place.changes(), ["increase g +1"]);
}

#[tokio::test]
async fn too_much_is_refused() {
    let place = Place::new(Fleet::default().with(&["a"])).await;
    let provider = place.open().await;
    let fill = |n: usize, width: usize| {
        place.fleet(|fleet| {
            let one = fleet.machines[0].clone();
            let id = |n: usize| format!("{n:0width$}");
            fleet.machines = (0..n).map(|n| double_machine(&one, id(n))).collect();
            fleet.target = n as i32;
        });
    };
    for (n, width, words) in [(50_001, 8, "50001 machines"), (40_000, 1_000, "32 MiB")] {
        fill(n, width);
        let error = provider.list().await.expect_err("too much");
        assert_eq!((error.class, error.code), (FailureClass::Permanent, "OSTLER-P312"), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    fill(20_000, 12);
    assert_eq!(listed(&provider).await.len(), 20_000, "as large as the largest clusters");
}

fn double_machine(
    like: &ostler_provider_externalgrpc::double::Machine,
    id: String,
) -> ostler_provider_externalgrpc::double::Machine {
    ostler_provider_externalgrpc::double::Machine { id, ..like.clone() }
}

#[tokio::test]
async fn odd_sizes_and_ids_do_no_harm() {
    let long = "x".repeat(2_000);
    let place = Place::new(Fleet::default().with(&["a", &long, "b\n"])).await;
    let provider = place.open().await;
    let listing = provider.list().await.expect("the rest stands");
    assert_eq!((listing.instances.len(), listing.skipped.len()), (1, 2));
    assert!(
        listing.skipped.iter().all(|why| why.len() < 700 && !why.contains('\n')),
        "{:?}",
        listing.skipped
    );
    place.fleet(|fleet| fleet.target = -7);
    let id = launch(&provider, "i").await;
    assert!(
        place.changes().iter().all(|line| line == "increase g +1"),
        "step by step: {:?}",
        place.changes()
    );
    assert_eq!((place.target(), place.alive()), (1, vec![id.to_string()]));
}

fn pem(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).expect("a file of the test")
}

#[tokio::test]
async fn tls_both_ways() {
    let server = ServerTlsConfig::new()
        .identity(Identity::from_pem(pem("server.pem"), pem("server.key")))
        .client_ca_root(Certificate::from_pem(pem("ca.pem")));
    let cloud = Cloud::start_tls([("g", Fleet::default())], server).await;
    let (_, port) =
        cloud.address().rsplit_once(':').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a port");
    let address = format!("localhost:{port}");
    let identity = Some((pem("client.pem"), pem("client.key")));
    let cases = [
        (Some(Tls { ca: pem("ca.pem"), identity: identity.clone() }), true),
        (Some(Tls { ca: pem("ca.pem"), identity: None }), false),
        (Some(Tls { ca: pem("other.pem"), identity }), false),
        (None, false),
    ];
    for (tls, good) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let mut config = config(&address, &dir);
        config.tls = tls;
        let provider = open(config).await;
        if good {
            launch(&provider, "i").await;
        } else {
            let error = provider.list().await.expect_err("not trusted");
            assert_eq!(error.class, FailureClass::Transient, "{error}");
        }
    }
}

type Spoil = Box<dyn Fn(&mut Config)>;

#[tokio::test]
async fn mistakes_of_the_configuration_are_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = || config("cloud:8086", &dir);
    let bad: [(&str, Spoil); 6] = [
        ("HOST:PORT", Box::new(|c| c.address = "cloud".into())),
        ("HOST:PORT", Box::new(|c| c.address = "http://cloud:1".into())),
        ("HOST:PORT", Box::new(|c| c.address = "cloud:99999".into())),
        ("timeout", Box::new(|c| c.timeout = Duration::ZERO)),
        ("ca_file", Box::new(|c| c.tls = Some(Tls { ca: b"secret".to_vec(), identity: None }))),
        (
            "key_file",
            Box::new(|c| {
                let identity = Some((pem("client.pem"), b"secret".to_vec()));
                c.tls = Some(Tls { ca: pem("ca.pem"), identity });
            }),
        ),
    ];
    for (word, spoil) in bad {
        let mut config = good();
        spoil(&mut config);
        let error = ExternalGrpcProvider::open(config).await.expect_err(word);
        assert!(error.code == "OSTLER-P301" && error.message.contains(word), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[tokio::test]
async fn pools_come_and_go_while_it_runs() {
    let place = Place::new(Fleet::default()).await;
    let provider = place.open().await;
    let machine = launch(&provider, "i").await;
    let other = |template: serde_json::Value| ServedPool { pool: "q".into(), template, ..pool() };
    for (word, template) in [
        ("another pool's", json!({"group": "g"})),
        ("empty", json!({"group": ""})),
        ("unknown", json!({"size": 1})),
    ] {
        let error = provider.configure(&[pool(), other(template)]).expect_err(word);
        assert!(error.code == "OSTLER-P301" && error.message.contains(word), "{error}");
        assert_eq!(listed(&provider).await.len(), 1, "what was told before stays");
    }
    let spec = LaunchSpec { pool: "q".into(), template: json!({"group": "late"}), ..spec("j") };
    let token = LaunchToken::of(&spec.instance, spec.attempt);
    let error = provider.launch(&spec, &token).await.expect_err("nobody told of it");
    assert_eq!(error.class, FailureClass::Permanent, "{error}");

    place.cloud.world(|world| world.fleets.insert("late".into(), Fleet::default()));
    provider.configure(&[pool(), other(json!({"group": "late"}))]).expect("a pool more");
    let late = provider.launch(&spec, &token).await.expect("a machine of the new pool");
    assert_eq!(listed(&provider).await.len(), 2);
    provider.configure(&[other(json!({"group": "late"}))]).expect("the first pool is gone");
    let left = provider.list().await.expect("a listing").instances;
    assert_eq!(left.iter().map(|one| (&one.id, &one.pool)).collect::<Vec<_>>(), [(&late, &"q".into())]);
    provider.terminate(&machine).await.expect("what is not ours is let alone");
    assert_eq!(place.alive().len(), 1);
}

#[tokio::test]
async fn a_ledger_has_one_owner_and_one_form() {
    let place = Place::new(Fleet::default()).await;
    let provider = place.open().await;
    launch(&provider, "i").await;
    let error = ExternalGrpcProvider::open(place.config.clone()).await.expect_err("it is taken");
    assert_eq!(error.code, "OSTLER-P303");
    drop(provider);
    let text = std::fs::read_to_string(&place.config.state_file).expect("a ledger");
    assert!(!text.contains("a-secret"), "{text}");
    for bad in ["{", "[]", &text.replace("\"format\":1", "\"format\":2")] {
        std::fs::write(&place.config.state_file, bad).expect("written");
        let error = ExternalGrpcProvider::open(place.config.clone()).await.expect_err("not a ledger of ours");
        assert_eq!(error.code, "OSTLER-P302", "{error}");
    }
    std::fs::write(&place.config.state_file, &text).expect("written");
    assert_eq!(listed(&place.open().await).await[0].1.as_deref(), Some("i"));
}

#[tokio::test]
async fn no_secret_is_printed() {
    let place = Place::new(Fleet::default()).await;
    let mut config = place.config.clone();
    config.tls = Some(Tls { ca: pem("ca.pem"), identity: Some((pem("client.pem"), pem("client.key"))) });
    let key = String::from_utf8_lossy(&pem("client.key")).lines().nth(1).map(str::to_owned).expect("a key");
    let bytes = format!("{:?}", pem("client.key"));
    let provider = open(config.clone()).await;
    for text in [format!("{config:?}"), format!("{provider:?}")] {
        assert!(!text.contains(&key) && !text.contains(&bytes[1..100]), "a key is printed");
    }
}
