//! Mounts at `/-/profile` and `/debug/pprof/profile`, which take a CPU profile of the server and
//! its workers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use profile::{Error, Known, Of, Profile, Request, SECONDS_MAX};
use serde_json::json;
use server::gate::Part;
use server::mount::{Field, Mount, MountRequest, Reply};
use tokio::sync::oneshot;

use crate::mount::{json_reply, not_allowed, problem};

/// Path whose query names duration, processes and format.
pub(crate) const PATH: &str = "/-/profile";
/// Path at which tools of Go expect a profile in the format pprof.
pub(crate) const GO_PATH: &str = "/debug/pprof/profile";

/// Mount that takes profiles, one at a time.
pub(crate) struct ProfileMount {
    profiler: Arc<Profiler>,
    path: &'static str,
    /// Query without parameters.
    default: Asked,
}

/// State that all paths of profiles share.
pub(crate) struct Profiler {
    known: Vec<Known>,
    /// True while a profile is taken.
    is_busy: AtomicBool,
}

/// Form of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pprof,
    Folded,
    Svg,
}

impl Format {
    const NAMES: [(&str, Format); 3] = [
        ("pprof", Format::Pprof),
        ("folded", Format::Folded),
        ("svg", Format::Svg),
    ];
}

/// Parsed query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    seconds: u64,
    format: Format,
    of: Of,
}

impl Profiler {
    /// Creates the profiler. `known` are executable files that are not on the disk.
    pub(crate) fn new(known: Vec<Known>) -> Profiler {
        Profiler {
            known,
            is_busy: AtomicBool::new(false),
        }
    }
}

impl ProfileMount {
    /// Creates the mount of [`PATH`].
    pub(crate) fn new(profiler: &Arc<Profiler>) -> ProfileMount {
        ProfileMount {
            profiler: Arc::clone(profiler),
            path: PATH,
            default: Asked {
                seconds: 10,
                format: Format::Pprof,
                of: Of::All,
            },
        }
    }

    /// Creates the mount of [`GO_PATH`]. The default duration is that of Go's `net/http/pprof`.
    pub(crate) fn go(profiler: &Arc<Profiler>) -> ProfileMount {
        let mount = ProfileMount::new(profiler);
        ProfileMount {
            path: GO_PATH,
            default: Asked {
                seconds: 30,
                ..mount.default
            },
            ..mount
        }
    }

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if request.path != self.path {
            return problem(404, "no such resource");
        }
        if request.method != "GET" {
            return not_allowed("GET");
        }
        let asked = match parse(self.default, request.query.unwrap_or("")) {
            Ok(asked) => asked,
            Err(why) => return problem(400, why),
        };
        if self.profiler.is_busy.swap(true, Ordering::Relaxed) {
            return busy();
        }
        match self.take(asked).await {
            Ok(profile) => written(asked.format, &profile),
            Err(error) => refusal(&error),
        }
    }

    /// Takes the profile on a thread of its own. If the future is dropped, the thread ends soon. A
    /// client of HTTP/1.1 that only closes its connection does not cause that: the profile then
    /// goes on for the requested time.
    async fn take(&self, asked: Asked) -> Result<Profile, Error> {
        let profiler = Arc::clone(&self.profiler);
        let cancel = CancelOnDrop(Arc::new(AtomicBool::new(false)));
        let is_cancelled = Arc::clone(&cancel.0);
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            let request = Request {
                server: std::process::id(),
                seconds: asked.seconds,
                of: asked.of,
            };
            let taken = profile::take(request, &profiler.known, &is_cancelled);
            profiler.is_busy.store(false, Ordering::Relaxed);
            if sender.send(taken).is_err() {
                tracing::debug!("the client of a profile has disconnected");
            }
        };
        let thread = thread::Builder::new().name("profile".to_owned());
        if let Err(error) = thread.spawn(work) {
            self.profiler.is_busy.store(false, Ordering::Relaxed);
            return Err(Error::Host(error));
        }
        receiver
            .await
            .expect("the thread sends a result, or a panic aborts the process")
    }
}

/// Flag that is set when the request ends before the profile.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Mount for ProfileMount {
    fn part(&self) -> Part {
        Part::Dashboard
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

/// Parses the query. Parameters that are left out have the values of `asked`; unknown ones are
/// errors.
fn parse(mut asked: Asked, query: &str) -> Result<Asked, &'static str> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("seconds", text)) => {
                let seconds = text.parse().ok();
                asked.seconds = seconds
                    .filter(|seconds| (1..=SECONDS_MAX).contains(seconds))
                    .ok_or("parameter seconds must be a whole number from 1 to 60")?;
            }
            Some(("format", text)) => {
                let found = Format::NAMES.iter().find(|(name, _)| *name == text);
                asked.format = found
                    .ok_or("parameter format must be pprof, folded or svg")?
                    .1;
            }
            Some(("of", text)) => {
                let found = Of::NAMES.iter().find(|(name, _)| *name == text);
                asked.of = found
                    .ok_or("parameter of must be all, server or workers")?
                    .1;
            }
            _ => return Err("the only parameters are seconds, format and of"),
        }
    }
    Ok(asked)
}

fn written(format: Format, profile: &Profile) -> Reply {
    let (media_type, body) = match format {
        Format::Pprof => match profile::pprof(profile) {
            Ok(bytes) => ("application/octet-stream", bytes.into()),
            Err(error) => return refusal(&Error::Host(error)),
        },
        Format::Folded => ("text/plain; charset=utf-8", profile::folded(profile).into()),
        Format::Svg => ("image/svg+xml", profile::svg(profile).into()),
    };
    let field = |name: &'static str, value: String| -> Field { (name.into(), value.into()) };
    Reply::Whole {
        status: 200,
        fields: vec![
            field("content-type", media_type.to_owned()),
            field("cache-control", "no-store".to_owned()),
            field("x-content-type-options", "nosniff".to_owned()),
            field("content-security-policy", "default-src 'none'".to_owned()),
            field("pelton-profile-samples", profile.samples().to_string()),
            field("pelton-profile-lost", profile.lost.to_string()),
            field("pelton-profile-refused", profile.refused.to_string()),
        ],
        body,
    }
}

/// Returns the response to a request during another profile.
fn busy() -> Reply {
    let mut reply = problem(409, "another profile is being taken");
    if let Reply::Whole { fields, .. } = &mut reply {
        // The longest time that the other profile may still need.
        fields.push(("retry-after".into(), SECONDS_MAX.to_string().into()));
    }
    reply
}

/// Returns the response for a profile that could not be taken.
fn refusal(error: &Error) -> Reply {
    tracing::warn!(%error, hint = error.hint().unwrap_or("none"), "no profile was taken");
    let mut document = json!({
        "title": "the host does not let this server take a profile",
        "status": 503,
        "detail": error.to_string(),
    });
    if let Some(hint) = error.hint() {
        document["hint"] = hint.into();
    }
    json_reply(503, "application/problem+json", &document)
}

#[cfg(test)]
mod tests {
    use super::{Asked, Format, Of, parse};

    #[test]
    fn queries() {
        let default = Asked {
            seconds: 10,
            format: Format::Pprof,
            of: Of::All,
        };
        let parse = |query| parse(default, query);
        assert_eq!(parse(""), Ok(default));
        let asked = Asked {
            seconds: 60,
            format: Format::Svg,
            of: Of::Workers,
        };
        assert_eq!(parse("of=workers&seconds=60&format=svg"), Ok(asked));
        let range = Err("parameter seconds must be a whole number from 1 to 60");
        assert_eq!(parse("seconds=0"), range);
        assert_eq!(parse("seconds=61"), range);
        assert_eq!(parse("seconds=1.5"), range);
        assert_eq!(
            parse("of=me"),
            Err("parameter of must be all, server or workers")
        );
        assert_eq!(
            parse("format=png"),
            Err("parameter format must be pprof, folded or svg")
        );
        assert_eq!(
            parse("second=1"),
            Err("the only parameters are seconds, format and of")
        );
    }
}
