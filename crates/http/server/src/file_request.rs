//! Request for a file of the library. The request is parsed only once.

use std::net::IpAddr;
use std::rc::Rc;

use http1::{Request, Target, accept};
use image_plan::imgproxy::{Delivery, Disposition};
use image_plan::{Accepts, ImageQuery, Recipe};
use variants::library::LibraryPath;

use crate::coding::Coding;
use crate::fields::Field;
use crate::imgproxy::{Imgproxy, content_disposition};
use crate::paths::IIIF;
use crate::permission::{Permit, Sender};
use crate::problem::Problem;
use crate::quota::client_address;
use crate::ready::ReadyKey;
use crate::service::Service;
use crate::settings::Settings;

/// Parsed request for a file.
#[derive(Debug)]
pub(crate) struct FileRequest<'r> {
    /// Target as the client sent it, or as a mount composed it to refer to a file of the library.
    pub(crate) target: Target<'r>,
    /// Formats that the client accepts.
    pub(crate) accepts: Accepts,
    /// Content coding that the client prefers, if any.
    pub(crate) coding: Option<Coding>,
    /// Unix time in seconds until which clients may get the response without another check; 0 if
    /// clients cannot request the file themselves, or if the server composed the request.
    pub(crate) clients_until_unix_s: u64,
    /// Address whose quota of conversions the request uses, if any.
    pub(crate) charged: Option<IpAddr>,
    /// True if the page that refers to the target may not show pictures.
    pub(crate) is_foreign: bool,
    /// Address of the client, for the log; `None` if the server composed the request.
    pub(crate) peer: Option<IpAddr>,
    /// Meaning of the target.
    meaning: Meaning,
}

/// Meaning of a target, in whatever grammar it is written.
#[derive(Debug)]
struct Meaning {
    /// Path in the library, or the reason why the target does not name a file.
    path: Result<LibraryPath, Problem>,
    /// Query parameters of the target, or the reason why they are invalid.
    query: Result<ImageQuery, Problem>,
    /// Verdict of the operator's rules on the target.
    permit: Result<Permit, Problem>,
    /// Parts of the meaning that only some grammars have.
    extra: Extra,
}

/// Parts of the meaning of a target that depend on its grammar.
#[derive(Debug)]
enum Extra {
    /// The target is the path of a file, with a query.
    File,
    /// The target is an imgproxy URL.
    Imgproxy(Delivery, Disposition),
    /// The target is a URL of the IIIF Image API. Its responses have these fields.
    Iiif(Rc<[Field]>),
}

/// Origin of a target. The origin decides which folders the target may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetOrigin {
    /// The target comes from a client.
    Public,
    /// The server composed the target, which may therefore name internal folders.
    Internal,
}

/// Form of a target, which decides its meaning. Equal targets of different forms are different
/// requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// The target is the path of a file, with the query of a recipe.
    File,
    /// The target is an imgproxy URL.
    Imgproxy,
    /// The target is a URL of the IIIF Image API.
    Iiif,
}

impl TargetForm {
    /// Returns the form of a target with `path`.
    pub(crate) fn of(path: &str, origin: TargetOrigin, settings: &Settings) -> TargetForm {
        let is_public = origin == TargetOrigin::Public;
        if is_public && settings.iiif.is_some() && path.starts_with(IIIF) {
            return TargetForm::Iiif;
        }
        match below_prefix(path, origin, settings.imgproxy.as_ref()) {
            Some(_) => TargetForm::Imgproxy,
            None => TargetForm::File,
        }
    }
}

impl<'r> FileRequest<'r> {
    /// Parses path, query and accepted formats of `request`. The operator's rules apply if a client
    /// wrote the query: `sender` is then its request, whose target may differ from that of
    /// `request`.
    pub(crate) fn parse(
        request: &Request<'r>,
        target_origin: TargetOrigin,
        sender: Option<Sender<'_>>,
        (service, now_unix_s): (&Service, u64),
    ) -> FileRequest<'r> {
        let target = request.target;
        let imgproxy = service.settings.imgproxy.as_ref();
        let meaning = match below_prefix(target.path, target_origin, imgproxy) {
            Some((imgproxy, path)) => Meaning::by_imgproxy(imgproxy, path, (service, now_unix_s)),
            None => Meaning::by_query(target, target_origin, sender, (service, now_unix_s)),
        };
        FileRequest::new(request, sender, service, meaning)
    }

    /// Parses a request whose target is an image request of the IIIF Image API, which means the
    /// picture at `path` by `recipe`. Its responses get the fields `added`.
    pub(crate) fn of_iiif(
        request: &Request<'r>,
        sender: Sender<'_>,
        (path, recipe, added): (LibraryPath, Recipe, Rc<[Field]>),
        (service, now_unix_s): (&Service, u64),
    ) -> FileRequest<'r> {
        let query = ImageQuery {
            recipe,
            meta: false,
        };
        let rules = &service.settings.permissions;
        let meaning = Meaning {
            path: Ok(path),
            query: Ok(query),
            permit: rules.judge_iiif(&query, request.target, now_unix_s),
            extra: Extra::Iiif(added),
        };
        FileRequest::new(request, Some(sender), service, meaning)
    }

    fn new(
        request: &Request<'r>,
        sender: Option<Sender<'_>>,
        service: &Service,
        meaning: Meaning,
    ) -> FileRequest<'r> {
        let (library, rules) = (service.library(), &service.settings.permissions);
        let Meaning { path, permit, .. } = &meaning;
        let is_internal = path.as_ref().is_ok_and(|path| library.is_internal(path));
        let clients_until_unix_s = match permit {
            _ if is_internal => 0,
            Ok(permit) if sender.is_some() || rules.is_open() => permit.until_unix_s,
            _ => 0,
        };
        let is_charged = permit.as_ref().is_ok_and(|permit| !permit.is_exempt);
        let has_quota = 0 < rules.address_conversions_max;
        let charged = sender.filter(|_| has_quota && is_charged);
        FileRequest {
            target: request.target,
            accepts: accepts(request),
            coding: Coding::preferred(request),
            clients_until_unix_s,
            charged: charged.and_then(|it| client_address(it.request, it.peer, &rules.proxies)),
            is_foreign: sender.is_some_and(|sender| rules.is_foreign(sender.request)),
            peer: sender.map(|sender| sender.peer),
            meaning,
        }
    }

    /// Returns the path of the file.
    ///
    /// # Errors
    /// [`Problem::NotFound`] if the target cannot name a file, or the problem of an imgproxy URL.
    pub(crate) fn path(&self) -> Result<&LibraryPath, Problem> {
        self.meaning.path.as_ref().map_err(Problem::clone)
    }

    /// Returns the query parameters.
    ///
    /// # Errors
    /// [`Problem::BadParameter`] if they are invalid, or the problem of the operator's rule that
    /// the request violates.
    pub(crate) fn query(&self) -> Result<ImageQuery, Problem> {
        let query = self.meaning.query.clone()?;
        self.meaning.permit.clone().map(|_| query)
    }

    /// Returns the Unix time in seconds at which the signature of the request becomes void;
    /// `u64::MAX` if it has none, or if it never does.
    pub(crate) fn signed_until_unix_s(&self) -> u64 {
        let permit = self.meaning.permit.as_ref();
        permit.map_or(u64::MAX, |permit| permit.until_unix_s)
    }

    /// Returns whether the client asks for the description of a picture.
    pub(crate) fn is_description(&self) -> bool {
        self.meaning.query.as_ref().is_ok_and(|query| query.meta)
    }

    /// Returns the form of the target. Only a target of the form `File` may name a folder.
    pub(crate) fn form(&self) -> TargetForm {
        match self.meaning.extra {
            Extra::File => TargetForm::File,
            Extra::Imgproxy(..) => TargetForm::Imgproxy,
            Extra::Iiif(_) => TargetForm::Iiif,
        }
    }

    /// Returns the key of the ready response to this request.
    pub(crate) fn ready_key(&self) -> ReadyKey<'r> {
        ReadyKey {
            target: self.target,
            form: self.form(),
            accepts: self.accepts,
        }
    }

    /// Returns the use of the unchanged file.
    pub(crate) fn delivery(&self) -> &Delivery {
        match &self.meaning.extra {
            Extra::Imgproxy(delivery, _) => delivery,
            Extra::File | Extra::Iiif(_) => &Delivery::Converted,
        }
    }

    /// Returns the fields that the grammar of the target adds to a response with `media_type`.
    pub(crate) fn added_fields(&self, media_type: &str) -> Rc<[Field]> {
        let disposition = match (&self.meaning.extra, &self.meaning.path) {
            (Extra::Iiif(added), _) => return Rc::clone(added),
            (Extra::Imgproxy(_, disposition), Ok(path)) => {
                content_disposition(disposition, path.as_path(), media_type)
            }
            (Extra::Imgproxy(..), Err(_)) | (Extra::File, _) => None,
        };
        let field = disposition.map(|value| ("content-disposition".into(), value));
        field.into_iter().collect()
    }
}

impl Meaning {
    /// Interprets the path as that of a file, and the query by the grammar of the settings.
    fn by_query(
        target: Target<'_>,
        target_origin: TargetOrigin,
        sender: Option<Sender<'_>>,
        (service, now_unix_s): (&Service, u64),
    ) -> Meaning {
        let path = match target_origin {
            TargetOrigin::Public => service.library().path_for_clients(target.path),
            TargetOrigin::Internal => LibraryPath::from_target(target.path),
        };
        let (rules, grammar) = (&service.settings.permissions, service.settings.grammar);
        let parsed = rules.parse(target.query.unwrap_or(""), grammar);
        let permit = match sender {
            None => Ok(Permit::UNLIMITED),
            Some(Sender { request, .. }) => {
                let Target { path, query } = request.target;
                let query = query.unwrap_or("");
                rules.judge(path, query, &parsed, (grammar, now_unix_s))
            }
        };
        Meaning {
            path: path.ok_or(Problem::NotFound),
            query: parsed.meaning.map_err(Problem::BadParameter),
            permit,
            extra: Extra::File,
        }
    }

    /// Interprets a path as an imgproxy URL. The query has no meaning.
    fn by_imgproxy(
        imgproxy: &Imgproxy,
        path: &str,
        (service, now_unix_s): (&Service, u64),
    ) -> Meaning {
        let url = match imgproxy.parse(path, now_unix_s) {
            Ok(url) => url,
            Err(problem) => {
                return Meaning {
                    path: Err(problem.clone()),
                    query: Err(problem.clone()),
                    permit: Err(problem),
                    extra: Extra::Imgproxy(Delivery::Converted, Disposition::default()),
                };
            }
        };
        let query = ImageQuery {
            recipe: url.request.recipe,
            meta: false,
        };
        let rules = &service.settings.permissions;
        let permit = rules.judge_imgproxy(&query, url.is_signed.then_some(url.until_unix_s));
        let permit = permit.map(|permit| Permit {
            until_unix_s: url.until_unix_s,
            ..permit
        });
        let path = service.library().path_for_clients(&url.request.path);
        Meaning {
            path: path.ok_or(Problem::NotFound),
            query: Ok(query),
            permit,
            extra: Extra::Imgproxy(url.request.delivery, url.request.disposition),
        }
    }
}

/// Returns the settings of imgproxy URLs and the part of `path` below their prefix, if a target
/// with `path` is an imgproxy URL. Targets that may name internal folders are none.
fn below_prefix<'p>(
    path: &'p str,
    origin: TargetOrigin,
    imgproxy: Option<&'p Imgproxy>,
) -> Option<(&'p Imgproxy, &'p str)> {
    let imgproxy = imgproxy.filter(|_| origin == TargetOrigin::Public)?;
    Some((imgproxy, imgproxy.path_below(path)?))
}

/// Returns the formats that a request accepts.
pub(crate) fn accepts(request: &Request<'_>) -> Accepts {
    let formats = ["image/avif", "image/webp", "image/jxl", "image/heic"];
    let [avif, webp, jxl, heic] = accept::fold(request.accept(), &formats);
    let named = accept::names(request.accept(), "image/");
    Accepts {
        avif,
        webp,
        jxl,
        heic,
        named,
    }
}
