//! Tests of mounts beside imgproxy URLs.

use std::pin::Pin;
use std::sync::Arc;

use image_plan::imgproxy::ImgproxyRules;

use super::peer::TestServer;
use crate::imgproxy::Imgproxy;
use crate::mount::{Mount, MountRequest, Mounts, Reply};
use crate::signature::SignatureKey;

/// Mount that responds with the file of the library that the query of the request names. It may
/// name internal folders, as the mount of covers may.
struct Inner;

impl Mount for Inner {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let target = request.query.unwrap_or("").to_owned();
        let fields = Vec::new();
        Box::pin(async move { Reply::Internal { target, fields } })
    }

    fn reaches_internal(&self) -> bool {
        true
    }
}

/// All paths of files are imgproxy URLs here, so the target of the mount is one too if a client
/// sends it.
#[test]
fn a_ready_response_of_a_mount_needs_a_signature_as_an_imgproxy_url() {
    let mounts = Mounts::new(vec![("/inner".to_owned(), Arc::new(Inner))]);
    let server = TestServer::start(mounts, |settings| {
        settings.imgproxy = Some(Imgproxy {
            prefix: String::new(),
            keys: vec![SignatureKey::new(b"secret", b"hello")],
            signature_bytes: 32,
            trusted_signatures: Vec::new(),
            rules: ImgproxyRules::default(),
        });
    });
    let status = |target: &str| server.ask_http1("GET", target, "", "")[..3].to_owned();
    for _ in 0..2 {
        assert_eq!(status("/inner?/digits.txt"), "200");
        assert_eq!(status("/digits.txt"), "403");
    }
}
