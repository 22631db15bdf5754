//! Listening sockets outlive what serves them: after a change of the configuration the new service takes over the
//! socket of the old one, and no scheduler is ever refused.

use crate::error::PolarsError;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The sockets that this process listens on.
#[derive(Debug, Clone, Default)]
pub struct Sockets(Arc<Mutex<BTreeMap<SocketAddr, Weak<TcpListener>>>>);

impl Sockets {
    /// A socket that listens there: the one that there is, or a new one.
    pub(crate) fn listen(&self, address: SocketAddr) -> Result<Arc<TcpListener>, PolarsError> {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(socket) = sockets.get(&address).and_then(Weak::upgrade) {
            return Ok(socket);
        }
        let cannot = |error: std::io::Error| PolarsError::Listen { address, reason: error.to_string() };
        let socket = TcpListener::bind(address).map_err(cannot)?;
        socket.set_nonblocking(true).map_err(cannot)?;
        let socket = Arc::new(socket);
        sockets.insert(address, Arc::downgrade(&socket));
        Ok(socket)
    }
}
