//! TLS client.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};

use super::wait::DEADLINE;
use super::{Certificate, Client};

/// TLS connection.
pub(crate) type Secure = StreamOwned<ClientConnection, TcpStream>;

/// Returns the configuration of a client that trusts only these certificates and caches sessions.
pub(crate) fn trusting(
    certificates: &[&Certificate],
    protocols: &[&str],
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let added = roots.add(certificate.der.clone());
        added.expect("the certificate makes sense");
    }
    let mut config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(versions)
        .expect("ring speaks these versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    Arc::new(config)
}

impl Client<Secure> {
    /// Connects, and completes the handshake for the server name `name`.
    pub(crate) fn secure(
        address: SocketAddr,
        config: &Arc<ClientConfig>,
        name: &'static str,
    ) -> Result<Client<Secure>, std::io::Error> {
        let mut socket = TcpStream::connect(address).expect("the server listens");
        socket
            .set_read_timeout(Some(DEADLINE))
            .expect("a socket takes a timeout");
        let name = ServerName::try_from(name).expect("a name or an address");
        let session = ClientConnection::new(Arc::clone(config), name);
        let mut session = session.expect("the configuration makes sense");
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        Ok(Client::speaking(StreamOwned::new(session, socket)))
    }
    /// Returns the certificate that the server presented.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        let presented = self.stream().conn.peer_certificates();
        presented.expect("after the handshake")[0].clone()
    }

    /// Returns the kind of the handshake: full or resumed.
    pub(crate) fn handshake(&self) -> Option<HandshakeKind> {
        self.stream().conn.handshake_kind()
    }
}
