//! Mounts at `/-/profile` and `/debug/pprof/profile`, which take a CPU profile of the server and
//! its workers. The last profile stays in memory, and is available in all formats.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use profile::{Error, Format, Known, Of, Profile, Request, SECONDS_MAX};
use reactor::blocking;
use serde_json::json;
use server::mount::{Field, MountRequest, Reply};
use tokio::sync::oneshot;
use wall_clock::since_1970;

use crate::dashboard_mount::DashboardMount;
use crate::mount::{json_reply, problem};

/// Path whose query names duration, processes and format.
pub(crate) const PATH: &str = "/-/profile";
/// Path of the last profile.
const LAST_PATH: &str = "/-/profile/last";
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
    /// Time at which the samples of the running profile end, while a profile is taken.
    busy_until: Mutex<Option<Instant>>,
    /// Last complete profile. Its stacks have at most [`profile::FRAMES_MAX`] frames.
    last: Mutex<Option<Arc<Profile>>>,
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
            busy_until: Mutex::new(None),
            last: Mutex::new(None),
        }
    }

    /// Reserves the profiler for a profile of `seconds`.
    ///
    /// # Errors
    /// The time that the running profile still needs.
    fn begin(&self, seconds: u64) -> Result<(), Duration> {
        let now = Instant::now();
        let mut busy_until = self.busy_until.lock();
        match *busy_until {
            Some(end) => Err(end.saturating_duration_since(now)),
            None => {
                *busy_until = Some(now + Duration::from_secs(seconds));
                Ok(())
            }
        }
    }

    fn end(&self) {
        *self.busy_until.lock() = None;
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

    /// Returns whether `path` is that of the last profile.
    fn is_last(&self, path: &str) -> bool {
        self.path == PATH && path == LAST_PATH
    }

    /// Returns the response with the last profile.
    async fn last(&self, query: &str) -> Reply {
        let format = match parse_format(query) {
            Ok(format) => format,
            Err(why) => return problem(400, why),
        };
        let last = self.profiler.last.lock().clone();
        match last {
            Some(profile) => written(format, profile).await,
            None => none_yet(),
        }
    }

    /// Takes a profile, and returns the response with it.
    async fn new_profile(&self, query: &str) -> Reply {
        let asked = match parse(self.default, query) {
            Ok(asked) => asked,
            Err(why) => return problem(400, why),
        };
        if let Err(left) = self.profiler.begin(asked.seconds) {
            return busy(left);
        }
        match self.take(asked).await {
            Ok(profile) => written(asked.format, profile).await,
            Err(error) => refusal(&error),
        }
    }

    /// Takes the profile on a thread of its own. If the future is dropped, the thread ends soon. A
    /// client of HTTP/1.1 that only closes its connection does not cause that: the profile then
    /// goes on for the requested time.
    async fn take(&self, asked: Asked) -> Result<Arc<Profile>, Error> {
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
            let taken = profile::take(request, &profiler.known, &is_cancelled).map(Arc::new);
            if let Ok(profile) = &taken {
                for issue in &profile.issues {
                    tracing::warn!(%issue, "some functions of a profile have no names");
                }
                *profiler.last.lock() = Some(Arc::clone(profile));
            }
            profiler.end();
            if sender.send(taken).is_err() {
                tracing::debug!("the client that requested a profile has disconnected");
            }
        };
        let thread = thread::Builder::new().name("profile".to_owned());
        if let Err(error) = thread.spawn(work) {
            self.profiler.end();
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

impl DashboardMount for ProfileMount {
    const ALLOW: &'static str = "GET";

    fn has_path(&self, path: &str) -> bool {
        path == self.path || self.is_last(path)
    }

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        let query = request.query.unwrap_or("");
        match self.is_last(request.path) {
            true => self.last(query).await,
            false => self.new_profile(query).await,
        }
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
                    .ok_or("the parameter `seconds` must be a whole number from 1 to 60")?;
            }
            Some(("format", text)) => asked.format = format_named(text)?,
            Some(("of", text)) => {
                let of = Of::named(text);
                asked.of = of.ok_or("the parameter `of` must be all, server or workers")?;
            }
            _ => return Err("the only parameters are `seconds`, `format` and `of`"),
        }
    }
    Ok(asked)
}

/// Parses the query of the last profile, whose only parameter is the format.
fn parse_format(query: &str) -> Result<Format, &'static str> {
    let mut format = Format::Pprof;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let text = pair
            .strip_prefix("format=")
            .ok_or("the only parameter is `format`")?;
        format = format_named(text)?;
    }
    Ok(format)
}

fn format_named(text: &str) -> Result<Format, &'static str> {
    Format::named(text).ok_or("the parameter `format` must be pprof, folded or svg")
}

/// Returns the response with a profile. A long profile takes a while to write, so that is done on
/// the blocking pool.
async fn written(format: Format, profile: Arc<Profile>) -> Reply {
    let same = Arc::clone(&profile);
    let body = match blocking(move || format.encode(&same)).await {
        Ok(body) => body,
        Err(error) => return refusal(&Error::Host(error)),
    };
    let begin_ms = since_1970(profile.begin).as_millis();
    let seconds = profile.duration.as_secs_f64();
    let field = |name: &'static str, value: String| -> Field { (name.into(), value.into()) };
    Reply::Whole {
        status: 200,
        fields: vec![
            field("content-type", format.media_type().to_owned()),
            field("cache-control", "no-store".to_owned()),
            field("x-content-type-options", "nosniff".to_owned()),
            field("content-security-policy", "default-src 'none'".to_owned()),
            field("pelton-profile-begin-ms", begin_ms.to_string()),
            field("pelton-profile-seconds", format!("{seconds:.1}")),
            field("pelton-profile-samples", profile.samples().to_string()),
            field("pelton-profile-lost", profile.lost.to_string()),
            field("pelton-profile-refused", profile.refused.to_string()),
        ],
        body: body.into(),
    }
}

/// Returns the response to a request for the last profile before the first.
fn none_yet() -> Reply {
    Reply::Whole {
        status: 204,
        fields: vec![("cache-control".into(), "no-store".into())],
        body: String::new().into(),
    }
}

/// Returns the response to a request during another profile, which needs the time `left`.
fn busy(left: Duration) -> Reply {
    let mut reply = problem(409, "another profile is already being taken");
    if let Reply::Whole { fields, .. } = &mut reply {
        // Adds a second, in which the stacks are named.
        let seconds = left.as_secs() + 1;
        fields.push(("retry-after".into(), seconds.to_string().into()));
    }
    reply
}

/// Returns the response for a profile that could not be taken.
fn refusal(error: &Error) -> Reply {
    tracing::warn!(%error, hint = error.hint().unwrap_or("none"), "cannot take a profile");
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
    use std::time::Duration;

    use super::{Asked, Format, Of, Profiler, parse, parse_format};

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
        let range = Err("the parameter `seconds` must be a whole number from 1 to 60");
        assert_eq!(parse("seconds=0"), range);
        assert_eq!(parse("seconds=61"), range);
        assert_eq!(parse("seconds=1.5"), range);
        assert_eq!(
            parse("of=me"),
            Err("the parameter `of` must be all, server or workers")
        );
        assert_eq!(
            parse("format=png"),
            Err("the parameter `format` must be pprof, folded or svg")
        );
        assert_eq!(
            parse("second=1"),
            Err("the only parameters are `seconds`, `format` and `of`")
        );
    }

    #[test]
    fn queries_of_the_last_profile() {
        assert_eq!(parse_format(""), Ok(Format::Pprof));
        assert_eq!(parse_format("format=svg"), Ok(Format::Svg));
        assert_eq!(
            parse_format("format=png"),
            Err("the parameter `format` must be pprof, folded or svg")
        );
        assert_eq!(
            parse_format("seconds=1"),
            Err("the only parameter is `format`")
        );
    }

    #[test]
    fn a_second_profile_has_to_wait_for_the_first() {
        let profiler = Profiler::new(Vec::new());
        assert_eq!(profiler.begin(60), Ok(()));
        let left = profiler.begin(1).expect_err("the first profile is running");
        assert!(left <= Duration::from_secs(60), "{left:?}");
        assert!(Duration::from_secs(1) < left, "{left:?}");
        profiler.end();
        assert_eq!(profiler.begin(1), Ok(()));
    }
}
