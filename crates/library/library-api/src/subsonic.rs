//! Handling of a request of the Subsonic API: response format, login, endpoint, envelope.

use std::cell::OnceCell;
use std::net::IpAddr;

use crate::call::Call;
use crate::context::Context;
use crate::endpoints::{self, Endpoint, Handler};
use crate::fault::{Code, Fault};
use crate::guard::Try;
use crate::params::Params;
use crate::response::Response;
use crate::write::{Form, Writer};
use crate::{auth, system};

/// Request of the Subsonic API.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Name of the endpoint, with or without the suffix `.view`: `ping` or `ping.view`.
    pub name: &'a str,
    /// Parameters of the query, and of the body if it is a form.
    pub params: Params<'a>,
    /// Body, if it is not a form; empty otherwise.
    pub body: &'a str,
    /// Address of the client.
    pub peer: IpAddr,
    /// Scheme and host with which links in the response begin, such as `https://music.example`.
    pub base: String,
    /// Present time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// Result of an endpoint: a document in the requested format, or a complete response.
enum Outcome {
    Document(String),
    Response(Response),
}

/// Returns the response to a request.
pub(crate) fn respond(context: &Context, request: &Request<'_>) -> Response {
    let params = &request.params;
    let (form, outcome) = match form(params) {
        Ok(form) => (form, handle(context, request)),
        Err(fault) => (Form::Xml, Err(fault)),
    };
    match outcome {
        Ok(Outcome::Response(response)) => response,
        Ok(Outcome::Document(written)) => document(form, 200, written),
        Err(fault) => {
            let refused = refused(&fault, form == Form::Xml);
            document(form, fault.status, refused)
        }
    }
}

/// Returns the response to a request that would exceed the limit on concurrent transcodes.
pub(crate) fn busy(params: &Params<'_>) -> Response {
    let form = form(params).unwrap_or(Form::Xml);
    let fault = Fault::busy();
    let refused = refused(&fault, form == Form::Xml);
    document(form, fault.status, refused)
}

fn handle(context: &Context, request: &Request<'_>) -> Result<Outcome, Fault> {
    let params = &request.params;
    let name = request.name.strip_suffix(".view").unwrap_or(request.name);
    let endpoint = endpoints::find(name)
        .ok_or_else(|| Fault::new(Code::NotFound, "this server has no such endpoint"))?;
    let (index, derived) = context.index(request.now_ms);
    let mut call = Call {
        context,
        index,
        derived,
        params,
        body: request.body,
        user: String::new(),
        now_ms: request.now_ms,
        fresh: fastrand::u64(..),
        token: OnceCell::new(),
        base: &request.base,
    };
    if !endpoint.is_open {
        call.user = authenticate(context, request)?;
    }
    run(&call, endpoint, is_xml(params))
}

/// Returns the name of the user whom the request authenticates. Refuses the request if too many
/// recent logins of this user from this address have failed.
fn authenticate(context: &Context, request: &Request<'_>) -> Result<String, Fault> {
    let params = &request.params;
    let (peer, now_ms) = (request.peer, request.now_ms);
    // Only failures with a user name are counted: an API key cannot be guessed, and a request with
    // a key needs no name.
    let name = params
        .first("u")
        .filter(|_| params.first("apiKey").is_none());
    let secret = context.store.secret()?;
    let judged = context.store.read(|state| {
        let this = name.map(|name| {
            let known = state.user_named(name);
            Try {
                address: peer,
                name: known.map_or(name, |(name, _)| name),
                is_user: known.is_some(),
            }
        });
        let waits = this.and_then(|this| context.guard.wait_s(&this, now_ms));
        if let Some(wait_s) = waits {
            return Err(Fault::guessing(wait_s));
        }
        if secret.is_none() && !state.users.is_empty() {
            tracing::error!("the key that encrypts the users' passwords is missing, so no password can be checked: restore the file users/key, or set a new password for each user");
        }
        let user = auth::user(params, state, secret).map(str::to_owned);
        let is_in = match &user {
            Ok(_) => Some(true),
            Err(fault) => (fault.code == Code::Login).then_some(false),
        };
        if let (Some(this), Some(is_in)) = (this, is_in) {
            context.guard.note(&this, is_in, now_ms);
        }
        user
    });
    judged?
}

fn run(call: &Call<'_>, endpoint: &Endpoint, is_xml: bool) -> Result<Outcome, Fault> {
    let store = &call.context.store;
    let read = |write: endpoints::Read| {
        let written =
            store.read(|state| envelope(is_xml, "ok", |out| write(call, &call.seen(state), out)));
        Ok(Outcome::Document(written??))
    };
    let change = |decide: endpoints::Decide| {
        let bytes_max = call.context.limits.user_bytes_max;
        let changed = store.change(|state| {
            let changes = decide(call, &call.seen(state))?;
            match state.has_room(&changes, bytes_max) {
                true => Ok(changes),
                false => Err(Fault::full()),
            }
        });
        changed?
    };
    match endpoint.handler {
        Handler::Read(write) => read(write),
        Handler::Lack(lack) => Err(Fault::lacking(lack)),
        Handler::Change(decide) => {
            change(decide)?;
            read(|_, _, _| Ok(()))
        }
        Handler::ChangeAndRead(decide, write) => {
            change(decide)?;
            read(write)
        }
        Handler::Respond(respond) => {
            let outcome = store.read(|state| respond(call, &call.seen(state)));
            Ok(Outcome::Response(outcome??))
        }
    }
}

fn is_xml(params: &Params<'_>) -> bool {
    !matches!(params.first("f"), Some("json" | "jsonp"))
}

fn form(params: &Params<'_>) -> Result<Form, Fault> {
    /// Maximum bytes of a JSONP callback name, far above the names that JavaScript libraries
    /// generate.
    const CALLBACK_BYTES_MAX: usize = 128;
    match params.first("f") {
        None | Some("xml" | "") => Ok(Form::Xml),
        Some("json") => Ok(Form::Json),
        Some("jsonp") => {
            let callback = params.first("callback");
            let callback = callback.ok_or_else(|| Fault::missing("callback"))?;
            // Only these characters are allowed in the name of the callback. With others, the
            // author of a link could run code in the page that loads the script.
            let is_name = !callback.is_empty()
                && callback.len() <= CALLBACK_BYTES_MAX
                && callback
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte));
            match is_name {
                true => Ok(Form::Jsonp(callback.to_owned())),
                false => Err(Fault::bad("callback")),
            }
        }
        Some(_) => Err(Fault::bad("f")),
    }
}

fn envelope(
    is_xml: bool,
    status: &str,
    inside: impl FnOnce(&mut Writer) -> Result<(), Fault>,
) -> Result<String, Fault> {
    let mut out = Writer::new(is_xml);
    let mut written = Ok(());
    let response = |out: &mut Writer| {
        out.object("subsonic-response", |out| {
            if out.is_xml() {
                out.text("xmlns", "http://subsonic.org/restapi");
            }
            out.text("status", status);
            out.text("version", system::VERSION);
            out.text("type", "pelton");
            out.text("serverVersion", env!("CARGO_PKG_VERSION"));
            out.flag("openSubsonic", true);
            written = inside(out);
        });
    };
    if is_xml {
        response(&mut out);
    } else {
        out.braced(response);
    }
    written.map(|()| out.finish())
}

fn refused(fault: &Fault, is_xml: bool) -> String {
    let error = |out: &mut Writer| {
        out.object("error", |out| {
            out.number("code", fault.code as u8);
            out.text("message", &fault.message);
        });
        Ok(())
    };
    envelope(is_xml, "failed", error).expect("writing an error document cannot fail")
}

fn document(form: Form, status: u16, written: String) -> Response {
    let (media_type, body) = match form {
        Form::Xml => (
            "text/xml; charset=utf-8",
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{written}"),
        ),
        Form::Json => ("application/json", written),
        Form::Jsonp(callback) => (
            "application/javascript; charset=utf-8",
            format!("/**/{callback}({written});"),
        ),
    };
    Response::Document {
        status,
        media_type,
        body,
        allow: None,
    }
}
