//! Keys of one control plane: an authority, the API server's certificate, the signer of service accounts, and a
//! token for each user. Made anew for each, so no key is ever at rest in the repository.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::fs;
use std::path::{Path, PathBuf};

/// Users that the API server knows by token, and the group each is in.
const USERS: [(&str, &str, &str); 3] = [
    ("admin", "admin", "system:masters"),
    ("scheduler", "system:kube-scheduler", ""),
    ("controllers", "system:kube-controller-manager", ""),
];

/// Files of the keys.
#[derive(Debug)]
pub(crate) struct Pki {
    dir: PathBuf,
    authority: String,
}

impl Pki {
    /// Writes all keys into a directory.
    pub(crate) fn make(dir: &Path) -> Self {
        let key = || KeyPair::generate().expect("a key");
        let named = |name: &str, hosts: Vec<String>| {
            let mut params = CertificateParams::new(hosts).expect("names of hosts");
            params.distinguished_name.push(DnType::CommonName, name);
            params
        };
        let mut authority = named("ostler-lab", vec![]);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority_key = key();
        let certificate = authority.self_signed(&authority_key).expect("a certificate").pem();
        let issuer = Issuer::new(authority, authority_key);

        let hosts = ["127.0.0.1", "10.96.0.1", "localhost", "kubernetes", "kubernetes.default.svc"];
        let server_key = key();
        let server = named("kube-apiserver", hosts.map(String::from).to_vec());
        let server = server.signed_by(&server_key, &issuer).expect("a certificate").pem();
        let accounts = key();

        let pki = Self { dir: dir.to_owned(), authority: certificate };
        fs::create_dir_all(dir).expect("a directory for keys");
        pki.write("ca.crt", &pki.authority);
        pki.write("server.crt", &server);
        pki.write("server.key", &server_key.serialize_pem());
        pki.write("accounts.key", &accounts.serialize_pem());
        pki.write("accounts.pub", &accounts.public_key_pem());
        let line = |(name, user, group): &(&str, &str, &str)| {
            let token = pki.token(name);
            format!("{token},{user},{user},{group}\n")
        };
        for (name, ..) in USERS {
            pki.write(&format!("{name}.token"), &fresh_token());
        }
        pki.write("tokens.csv", &USERS.iter().map(line).collect::<String>());
        pki
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    /// The token of a user of [`USERS`].
    fn token(&self, name: &str) -> String {
        fs::read_to_string(self.file(&format!("{name}.token"))).expect("it was written")
    }

    /// Writes the way in for one of our users; the answer is its path.
    pub(crate) fn kubeconfig_of(&self, user: &str, port: u16) -> PathBuf {
        self.kubeconfig(user, port, &self.token(user))
    }

    /// Writes a way in with this token; the answer is its path. YAML, of which JSON is a part.
    pub(crate) fn kubeconfig(&self, name: &str, port: u16, token: &str) -> PathBuf {
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority": self.file("ca.crt"),
            }}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": name}}],
            "current-context": "lab",
        });
        let path = self.dir.join(format!("{name}.kubeconfig"));
        fs::write(&path, config.to_string()).expect("a kubeconfig can be written");
        path
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).expect("a key can be written");
    }
}

/// Nobody can guess it: a key is as random as a token must be.
fn fresh_token() -> String {
    let key = KeyPair::generate().expect("a key").public_key_raw().to_vec();
    key.iter().skip(1).take(16).map(|byte| format!("{byte:02x}")).collect()
}
