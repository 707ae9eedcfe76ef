//! Responses to URLs of the IIIF Image API 3.0: their meaning as requests for files of the library,
//! and their fields. [`image_plan::iiif`] parses the URLs.
//!
//! An image request becomes the request for a file with the same recipe. So the rules of
//! [`crate::permission`], quotas, tags, purging and the caches apply to it as to any other request.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use http1::{Method, Request, accept};
use image_plan::Facts;
use image_plan::iiif::{
    IIIF_CONTEXT, IIIF_PROFILE, IiifError, IiifErrorKind, IiifInformation, IiifLimits, IiifRequest,
    IiifTarget, IiifUrl,
};
use reactor::Network;
use variants::library::LibraryPath;

use crate::core::Core;
use crate::fields::Field;
use crate::file_request::FileRequest;
use crate::gate::Admission;
use crate::known::Known;
use crate::metrics::Served;
use crate::paths::IIIF;
use crate::permission::Sender;
use crate::problem::Problem;
use crate::request_context::RequestContext;
use crate::response::{Fields, Payload, Response, Shape};

/// Pages of all origins may read responses: the specification requires it (§7.1).
const ALLOW_ORIGIN: (&str, &str) = ("access-control-allow-origin", "*");

const NO_HOST: IiifError = IiifError {
    kind: IiifErrorKind::Value,
    problem: "info.json contains its own URL, so the request needs a Host field",
};

impl Core {
    /// Responds to a request for a URL of the IIIF Image API. The request has passed the access
    /// checks for its path.
    ///
    /// # Panics
    /// The path does not begin with [`IIIF`].
    pub(crate) async fn iiif_response(
        &self,
        request: &Request<'_>,
        context: &RequestContext,
        admission: Admission,
    ) -> Response {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        let path = request.target.path.strip_prefix(IIIF);
        let path = path.expect("`Service::is_iiif`, which sends a request here, checks the prefix");
        let url = IiifUrl::parse(path).map_err(Problem::Iiif);
        let response = match url {
            Ok(url) => match url.target {
                IiifTarget::Base => Ok(redirect(url.identifier)),
                IiifTarget::Information => {
                    let document = self.information(&url, request, context).await;
                    document.map(|text| information_response(text, request, shape))
                }
                IiifTarget::Image(wanted) => {
                    let image = self.image((&url, &wanted), request, (context, admission));
                    image.await
                }
            },
            Err(problem) => Err(problem),
        };
        let mut response =
            response.unwrap_or_else(|problem| self.problem_response(&problem, shape));
        if admission == Admission::Known {
            response.make_private();
        }
        let (name, value) = ALLOW_ORIGIN;
        response.add(vec![(name.into(), value.into())]);
        response
    }

    /// Responds with the picture that `url` names, as `wanted` describes it.
    async fn image(
        &self,
        (url, wanted): (&IiifUrl<'_>, &IiifRequest),
        request: &Request<'_>,
        (context, admission): (&RequestContext, Admission),
    ) -> Result<Response, Problem> {
        let (path, facts) = self.iiif_picture(url).await?;
        let limits = IiifLimits::of(&self.service.settings.picture);
        let image = wanted.resolve(&facts, &limits).map_err(Problem::Iiif)?;
        let peer = context.peer;
        let sender = Sender { request, peer };
        let now_unix_s = self.reactor.clock().unix_secs();
        let meaning = (path, image.recipe, image_fields(&image.canonical));
        let file = FileRequest::of_iiif(request, sender, meaning, (&*self.service, now_unix_s));
        let response = self.respond_with_file(request, &file, context, admission);
        Ok(response.await)
    }

    /// Returns the text of the info.json of the picture that `url` names.
    async fn information(
        &self,
        url: &IiifUrl<'_>,
        request: &Request<'_>,
        context: &RequestContext,
    ) -> Result<String, Problem> {
        let (_, facts) = self.iiif_picture(url).await?;
        let settings = &self.service.settings;
        let stated = settings.iiif.as_ref().and_then(|it| it.base_url.clone());
        let base_url = match stated {
            Some(base_url) => base_url,
            None => {
                let host = request.host.ok_or(Problem::Iiif(NO_HOST))?;
                let is_secure = context.secure
                    || is_forwarded_https(request, context.peer, &settings.permissions.proxies);
                format!("{}://{host}", if is_secure { "https" } else { "http" })
            }
        };
        let information = IiifInformation {
            id: &format!("{base_url}{IIIF}{}", url.identifier),
            size: facts.oriented(),
            limits: IiifLimits::of(&settings.picture),
        };
        Ok(information.to_string())
    }

    /// Returns the picture that `url` names: its path and the facts of its first page.
    async fn iiif_picture(&self, url: &IiifUrl<'_>) -> Result<(LibraryPath, Facts), Problem> {
        let service = &self.service;
        let path = LibraryPath::from_segment(url.identifier)
            .filter(|path| !service.library().is_internal(path))
            .ok_or(Problem::NotFound)?;
        let identity = service.identify(&path).await?;
        match service.facts(&path, &identity).await? {
            Known::Picture(facts) => Ok((path, facts)),
            Known::Damaged => Err(Problem::Undecodable),
            Known::WithoutPreview(..) => Err(Problem::NoPreview),
            // The file is not a picture, so there is no picture with this identifier.
            Known::Untouched(_) | Known::Audio(_) | Known::Allowed(_) | Known::NotServed => {
                Err(Problem::NotFound)
            }
        }
    }
}

/// Returns the fields of a response with a picture. The canonical URI is relative to the requested
/// URL, so that the response is the same under every name of the server.
fn image_fields(canonical: &str) -> Rc<[Field]> {
    let (name, value) = ALLOW_ORIGIN;
    let link =
        format!("<../../../{canonical}>;rel=\"canonical\", <{IIIF_PROFILE}>;rel=\"profile\"");
    Rc::new([(name.into(), value.into()), ("link".into(), link.into())])
}

/// Redirects the base URI of a picture to its info.json, by a URL that is relative to the parent of
/// the base URI. Without `./`, an identifier such as `https:example.org` would be another server.
fn redirect(identifier: &str) -> Response {
    Response {
        status: 303,
        served: Served::Other,
        fields: Fields::Listed(vec![
            (
                "location".into(),
                format!("./{identifier}/info.json").into(),
            ),
            ("cache-control".into(), "no-store".into()),
            ("content-length".into(), "0".into()),
        ]),
        added: Vec::new(),
        payload: Payload::None,
        request_id: None,
    }
}

fn information_response(text: String, request: &Request<'_>, shape: Shape) -> Response {
    let [reads_json_ld] = accept::fold(request.accept(), &["application/ld+json"]);
    let media_type: Cow<'static, str> = match reads_json_ld {
        true => format!("application/ld+json;profile=\"{IIIF_CONTEXT}\"").into(),
        false => "application/json".into(),
    };
    let fields: Vec<Field> = vec![
        ("content-type".into(), media_type),
        // The picture may change at any time, and viewers read this document only once per visit.
        ("cache-control".into(), "public, no-cache".into()),
        ("vary".into(), "Accept".into()),
        ("x-content-type-options".into(), "nosniff".into()),
        (
            "link".into(),
            format!("<{IIIF_PROFILE}>;rel=\"profile\"").into(),
        ),
        ("content-length".into(), text.len().to_string().into()),
    ];
    Response {
        status: 200,
        served: Served::Other,
        fields: Fields::Listed(fields),
        added: Vec::new(),
        payload: match shape.bodiless {
            true => Payload::None,
            false => Payload::Owned(text.into()),
        },
        request_id: None,
    }
}

/// Returns whether a trusted proxy says that the client uses HTTPS. If there are several values,
/// the first one is from the proxy to which the client connects.
fn is_forwarded_https(request: &Request<'_>, peer: IpAddr, proxies: &[Network]) -> bool {
    let peer = peer.to_canonical();
    let mut fields = request.fields();
    let field = fields.find(|(name, _)| name.eq_ignore_ascii_case("x-forwarded-proto"));
    let first = field.and_then(|(_, value)| value.split(|byte| *byte == b',').next());
    proxies.iter().any(|proxy| proxy.contains(peer))
        && first.is_some_and(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
}
