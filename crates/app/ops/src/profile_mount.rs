//! Mounts at `/-/profile` and `/debug/pprof/profile`, which take a CPU profile of the server and
//! its workers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use profile::{Error, Format, Known, Of, Request, SECONDS_MAX};
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
    /// Time at which the running profile has all its samples. `None` while no profile is taken.
    /// The lock is held only while the value is read or written.
    busy_until: Mutex<Option<Instant>>,
}

/// Profile as a file, with the numbers that the response states.
struct Taken {
    file: Vec<u8>,
    samples: u64,
    lost: u64,
    refused: usize,
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
        }
    }

    /// Notes that a profile of this duration begins.
    ///
    /// # Errors
    /// If another profile is running: the time that it needs for its samples.
    fn begin(&self, duration: Duration) -> Result<(), Duration> {
        let now = Instant::now();
        let mut busy_until = self.busy_until.lock();
        if let Some(until) = *busy_until {
            return Err(until.saturating_duration_since(now));
        }
        *busy_until = Some(now + duration);
        Ok(())
    }

    /// Notes that no profile is running any more.
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
        if let Err(rest) = self.profiler.begin(Duration::from_secs(asked.seconds)) {
            return busy(rest);
        }
        match self.take(asked).await {
            Ok(taken) => complete(asked.format, taken),
            Err(error) => refusal(&error),
        }
    }

    /// Takes and encodes the profile on a thread of its own. If the future is dropped, the thread
    /// ends soon. A client of HTTP/1.1 that only closes its connection does not cause that: the
    /// profile then goes on for the requested time.
    async fn take(&self, asked: Asked) -> Result<Taken, Error> {
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
            let taken = taken.and_then(|profile| {
                for issue in &profile.issues {
                    tracing::warn!(%issue, "some functions of a profile have no names");
                }
                Ok(Taken {
                    file: asked.format.encode(&profile).map_err(Error::Host)?,
                    samples: profile.samples(),
                    lost: profile.lost,
                    refused: profile.refused,
                })
            });
            profiler.end();
            if sender.send(taken).is_err() {
                tracing::debug!("the client of a profile has disconnected");
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
                    .ok_or("seconds must be a whole number from 1 to 60")?;
            }
            Some(("format", text)) => {
                let format = Format::named(text);
                asked.format = format.ok_or("format must be pprof, folded or svg")?;
            }
            Some(("of", text)) => {
                asked.of = Of::named(text).ok_or("of must be all, server or workers")?;
            }
            _ => return Err("the parameters are seconds, format and of"),
        }
    }
    Ok(asked)
}

/// Returns the response with a profile.
fn complete(format: Format, taken: Taken) -> Reply {
    let field = |name: &'static str, value: String| -> Field { (name.into(), value.into()) };
    Reply::Whole {
        status: 200,
        fields: vec![
            field("content-type", format.media_type().to_owned()),
            field("cache-control", "no-store".to_owned()),
            field("x-content-type-options", "nosniff".to_owned()),
            field("content-security-policy", "default-src 'none'".to_owned()),
            field("pelton-profile-samples", taken.samples.to_string()),
            field("pelton-profile-lost", taken.lost.to_string()),
            field("pelton-profile-refused", taken.refused.to_string()),
        ],
        body: taken.file.into(),
    }
}

/// Returns the response to a request during another profile, which needs the time `rest` for the
/// rest of its samples.
fn busy(rest: Duration) -> Reply {
    let mut reply = problem(409, "another profile is being taken");
    if let Reply::Whole { fields, .. } = &mut reply {
        // Rounded up to a whole second, in which the functions get their names.
        let seconds = rest.as_secs() + 1;
        fields.push(("retry-after".into(), seconds.to_string().into()));
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
    use std::time::Duration;

    use super::{Asked, Format, Of, Profiler, Reply, busy, parse};

    #[test]
    fn a_second_profile_waits_for_the_rest_of_the_first() {
        let profiler = Profiler::new(Vec::new());
        assert_eq!(profiler.begin(Duration::from_secs(60)), Ok(()));
        let rest = profiler.begin(Duration::from_secs(1)).expect_err("busy");
        assert!(rest <= Duration::from_secs(60), "{rest:?}");
        profiler.end();
        assert_eq!(profiler.begin(Duration::ZERO), Ok(()));
        // The samples are complete, but the functions have no names yet.
        assert_eq!(profiler.begin(Duration::ZERO), Err(Duration::ZERO));
    }

    #[test]
    fn retry_after_is_the_rest_of_the_running_profile() {
        let retry_after = |rest| {
            let Reply::Whole { status, fields, .. } = busy(rest) else {
                panic!("not a whole response");
            };
            let field = fields.into_iter().find(|(name, _)| name == "retry-after");
            (status, field.map(|(_, value)| value.to_string()))
        };
        let some = |text: &str| (409, Some(text.to_owned()));
        assert_eq!(retry_after(Duration::from_millis(3_200)), some("4"));
        assert_eq!(retry_after(Duration::ZERO), some("1"));
    }

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
        let range = Err("seconds must be a whole number from 1 to 60");
        assert_eq!(parse("seconds=0"), range);
        assert_eq!(parse("seconds=61"), range);
        assert_eq!(parse("seconds=1.5"), range);
        assert_eq!(parse("of=me"), Err("of must be all, server or workers"));
        assert_eq!(
            parse("format=png"),
            Err("format must be pprof, folded or svg")
        );
        assert_eq!(
            parse("second=1"),
            Err("the parameters are seconds, format and of")
        );
    }
}
