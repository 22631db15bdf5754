//! Listening sockets outlive what is served on them: after a change of the configuration the new service stands beside
//! the old one until that leaves, and no scheduler is ever refused. Several services may share an address, each below
//! its own path.

use crate::error::PolarsError;
use crate::server::{Served, listen};
use crate::tls::Tls;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The sockets that this process listens on.
#[derive(Debug, Clone, Default)]
pub struct Sockets(Arc<Mutex<BTreeMap<SocketAddr, Weak<Site>>>>);

/// One address, and what is served there. It listens for as long as somebody serves.
#[derive(Debug, Default)]
pub(crate) struct Site {
    services: Mutex<Services>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Services {
    last: u64,
    all: BTreeMap<u64, Arc<Served>>,
}

/// A service on an address; it ends with this.
#[derive(Debug)]
pub(crate) struct Serving {
    site: Arc<Site>,
    number: u64,
}

impl Sockets {
    /// Serves there: on the socket that there is, or on a new one.
    pub(crate) fn serve(&self, address: SocketAddr, served: Served) -> Result<Serving, PolarsError> {
        let mut sites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let site = match sites.get(&address).and_then(Weak::upgrade) {
            Some(site) => site,
            None => {
                let site = open(address)
                    .map_err(|error| PolarsError::Listen { address, reason: error.to_string() })?;
                sites.insert(address, Arc::downgrade(&site));
                site
            }
        };
        let number = site.add(served);
        Ok(Serving { site, number })
    }
}

fn open(address: SocketAddr) -> std::io::Result<Arc<Site>> {
    let socket = std::net::TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    let (listener, site) = (TcpListener::from_std(socket)?, Arc::new(Site::default()));
    let task = tokio::spawn(listen(listener, Arc::downgrade(&site)));
    *site.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    Ok(site)
}

impl Site {
    fn add(&self, served: Served) -> u64 {
        let mut services = self.lock();
        services.last += 1;
        let number = services.last;
        services.all.insert(number, Arc::new(served));
        number
    }

    /// Who serves this path: the longest path that it lies below, and of two with the same the newer one.
    pub(crate) fn rest(&self, path: &str) -> Option<Arc<Served>> {
        let services = self.lock();
        let fits = services.all.iter().filter(|(_, served)| served.serves(path));
        fits.max_by_key(|(number, served)| (served.path.len(), **number)).map(|(_, served)| served.clone())
    }

    /// How new connections are secured: as the newest service says.
    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.lock().all.values().next_back().and_then(|served| served.tls.clone())
    }

    /// Who serves gRPC: the newest.
    pub(crate) fn grpc(&self) -> Option<Arc<Served>> {
        self.lock().all.values().rev().find(|served| served.grpc.is_some()).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Services> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(task) = self.listening.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.site.lock().all.remove(&self.number);
    }
}
