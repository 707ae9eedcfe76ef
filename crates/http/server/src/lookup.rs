//! Lookup of the response to a request for a file. If no ready response matches, a representation
//! is chosen, which may require a conversion of the original.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use conversion::growing::Growing;
use http1::Request;
use image_plan::imgproxy::Delivery;
use image_plan::{Accepts, Target};
use reactor::blocking;
use variants::cache::Key;
use variants::library::LibraryPath;

use crate::choice::{Body, Choice, SoundChoice};
use crate::coding::Coding;
use crate::core::Core;
use crate::denial::Denial;
use crate::fields::Field;
use crate::file_request::{FileRequest, TargetForm, TargetOrigin};
use crate::known::Known;
use crate::problem::Problem;
use crate::ready::{Entry, ReadyKey};
use crate::representation::{Conversion, Found, Representation};

/// Response that was ready before the request.
#[derive(Debug)]
pub(crate) struct ReadyResponse {
    pub(crate) representation: Rc<Representation>,
    /// Unix time in seconds until which clients may get the response.
    pub(crate) clients_until_unix_s: u64,
    /// Fields that the grammar of the target adds to the response.
    pub(crate) added: Rc<[Field]>,
}

/// Maximum number of attempts to choose a representation and open it, since the representation may
/// disappear before it is opened.
const ATTEMPTS_MAX: usize = 3;

impl Core {
    /// Returns the response to `request` if it is among the ready responses.
    pub(crate) fn lookup_ready(
        &self,
        request: &Request<'_>,
        accepts: Accepts,
        target_origin: TargetOrigin,
    ) -> Option<ReadyResponse> {
        let ready = &mut *self.ready.borrow_mut();
        let (target, settings) = (request.target, &self.service.settings);
        let entry = ready.get(ReadyKey {
            target,
            form: TargetForm::of(target.path, target_origin, settings),
            accepts,
        })?;
        let clock = self.reactor.clock();
        if entry.revalidate_at_ms <= clock.now_ms()
            || entry.clients_until_unix_s <= clock.unix_secs()
                && target_origin == TargetOrigin::Public
        {
            return None;
        }
        if let Some(variant) = &entry.representation.variant {
            variant.touch(self.reactor.clock().unix_secs() * 1000);
        }
        let is_codable = entry.representation.is_codable;
        let representation = match is_codable.then(|| Coding::preferred(request)).flatten() {
            Some(coding) => entry.coded[coding as usize].clone()?,
            None => Rc::clone(&entry.representation),
        };
        Some(ReadyResponse {
            representation,
            clients_until_unix_s: entry.clients_until_unix_s,
            added: Rc::clone(&entry.added),
        })
    }

    /// Returns the response to the request `file`, in a content coding that the client accepts.
    /// Converts the original if necessary.
    pub(crate) async fn find(&self, file: &FileRequest<'_>) -> Result<Found, Problem> {
        let mut found = self.find_plain(file).await?;
        let is_codable = found.representation.is_codable;
        if let Some(coding) = file.coding.filter(|_| is_codable) {
            found.representation = self.encode(file, found.representation, coding).await?;
        }
        Ok(found)
    }

    /// Returns the response to the request `file`, without a content coding. Converts the original
    /// if necessary.
    async fn find_plain(&self, file: &FileRequest<'_>) -> Result<Found, Problem> {
        let (path, query) = (file.path()?, file.query()?);
        if file.is_foreign && self.service.is_picture(path).await? {
            return Err(Problem::Denied {
                denial: Denial::Referrer,
                detail: None,
            });
        }
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            // The original may change during a conversion. So the period in which the response is
            // reused without a check of the original begins before the conversion.
            let revalidate_at_ms = self.revalidate_at_ms();
            let choice = match self.sends_original(file, path).await? {
                true => self.service.choose_original(path).await?,
                false => {
                    let service = &self.service;
                    let choice = service.choose(path, query.recipe, file.accepts, file.charged);
                    choice.await?
                }
            };
            let conversion = Conversion::of(&choice, begun);
            let same = self.ready.borrow_mut().renew(
                file.ready_key(),
                &choice,
                revalidate_at_ms,
                file.clients_until_unix_s,
            );
            if let Some(representation) = same {
                return Ok(Found {
                    representation,
                    conversion,
                });
            }
            let is_cached = !matches!(choice.body, Body::Uncached(..));
            match self.prepare(choice, path).await {
                Ok(representation) => {
                    // Later requests on this core, and requests that wait for the same conversion,
                    // use this response.
                    if is_cached {
                        let entry = Entry {
                            representation: Rc::clone(&representation),
                            coded: [const { None }; Coding::COUNT],
                            revalidate_at_ms,
                            clients_until_unix_s: file.clients_until_unix_s,
                            added: file.added_fields(representation.media_type()),
                        };
                        let ready = &mut *self.ready.borrow_mut();
                        ready.insert(file.ready_key(), entry);
                    }
                    return Ok(Found {
                        representation,
                        conversion,
                    });
                }
                Err(err) => {
                    tracing::debug!(
                        path = file.target.path,
                        %err,
                        "the chosen representation cannot be read"
                    )
                }
            }
        }
        Err(Problem::Host)
    }

    /// Returns whether the request asks for the unchanged file at `path`.
    async fn sends_original(
        &self,
        file: &FileRequest<'_>,
        path: &LibraryPath,
    ) -> Result<bool, Problem> {
        let skipped = match file.delivery() {
            Delivery::Converted => return Ok(false),
            Delivery::Original => return Ok(true),
            Delivery::OriginalOf(skipped) => skipped,
        };
        let identity = self.service.identify(path).await?;
        let Known::Picture(facts) = self.service.facts(path, &identity).await? else {
            return Ok(false);
        };
        let target = file.query()?.recipe.format.map(Target::format);
        Ok(skipped.contains(&facts.format) && target.is_none_or(|it| it == facts.format))
    }

    /// Returns `plain`, the response to the request `file`, encoded in `coding`.
    async fn encode(
        &self,
        file: &FileRequest<'_>,
        plain: Rc<Representation>,
        coding: Coding,
    ) -> Result<Rc<Representation>, Problem> {
        let key = file.ready_key();
        let known = self.ready.borrow_mut().coded(key, &plain, coding);
        if let Some(coded) = known {
            return Ok(coded);
        }
        let (bytes, length) = (plain.bytes.clone(), plain.length);
        let encoded = blocking(move || bytes.read(length).map(|bytes| coding.encode(&bytes)));
        let coded = match encoded.await {
            Ok(Some(coded)) => Rc::new(plain.coded(coding, coded.into())),
            Ok(None) => Rc::clone(&plain),
            Err(err) => {
                tracing::warn!(path = key.target.path, %err, "the file cannot be read");
                return Err(Problem::Host);
            }
        };
        let ready = &mut *self.ready.borrow_mut();
        ready.insert_coded(key, &plain, (coding, &coded));
        Ok(coded)
    }

    /// Opens the bytes of `choice`, the representation chosen for the file at `path`, and prepares
    /// the response head. Fails if the bytes no longer exist.
    async fn prepare(&self, choice: Choice, path: &LibraryPath) -> io::Result<Rc<Representation>> {
        let now_unix_s = self.now_unix_s();
        let memory_body_bytes_max = self.service.settings.limits.memory_body_bytes_max;
        let prepared = if choice.is_in_memory(memory_body_bytes_max) {
            self.service.prepare(&choice, path, now_unix_s)
        } else {
            let (service, path) = (Arc::clone(&self.service), path.clone());
            blocking(move || service.prepare(&choice, &path, now_unix_s)).await
        };
        prepared.map(Rc::new)
    }

    /// Returns a variant for the request `file`, never the original. Converts the original if
    /// necessary.
    pub(crate) async fn find_variant(&self, file: &FileRequest<'_>) -> Result<Found, Problem> {
        let (path, query) = (file.path()?, file.query()?);
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = self
                .service
                .choose_variant(path, query.recipe, file.accepts);
            let choice = choice.await?;
            let conversion = Conversion::of(&choice, begun);
            match self.prepare(choice, path).await {
                Ok(representation) => {
                    return Ok(Found {
                        representation,
                        conversion,
                    });
                }
                Err(err) => {
                    tracing::debug!(
                        path = file.target.path,
                        %err,
                        "the chosen variant cannot be read"
                    );
                }
            }
        }
        Err(Problem::Host)
    }

    /// Returns the original at `path`, the path of a request target, without conversion or content
    /// coding.
    pub(crate) async fn find_original(&self, path: &str) -> Result<Rc<Representation>, Problem> {
        let path = self.service.library().path_for_clients(path);
        let path = path.ok_or(Problem::NotFound)?;
        for _ in 0..ATTEMPTS_MAX {
            let choice = self.service.choose_original(&path).await?;
            match self.prepare(choice, &path).await {
                Ok(representation) => return Ok(representation),
                Err(err) => {
                    tracing::debug!(
                        path = %path.as_path().display(),
                        %err,
                        "the original cannot be read"
                    );
                }
            }
        }
        Err(Problem::Host)
    }

    /// Returns the track at `path`, transcoded according to `plan`. If the caller allows streaming,
    /// the track may be one that is still being transcoded.
    pub(crate) async fn find_track(
        &self,
        path: &str,
        plan: &audio_plan::Plan,
        user: &Arc<str>,
        allow_streaming: bool,
    ) -> Result<TranscodeBody, Problem> {
        let path = LibraryPath::from_target(path).ok_or(Problem::NotFound)?;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_MAX {
            let choice = self
                .service
                .choose_sound(&path, plan, user, allow_streaming);
            let choice = match choice.await? {
                SoundChoice::Whole(choice) => choice,
                SoundChoice::Growing(key, growing) => {
                    return Ok(TranscodeBody::Growing(key, growing));
                }
                SoundChoice::Changed => continue,
            };
            let conversion = Conversion::of(&choice, begun);
            match self.prepare(choice, &path).await {
                Ok(representation) => {
                    return Ok(TranscodeBody::Whole(Found {
                        representation,
                        conversion,
                    }));
                }
                Err(err) => {
                    tracing::debug!(%err, "the transcoded track cannot be read");
                }
            }
        }
        Err(Problem::Host)
    }
}

/// Track that is transcoded for a music player, completely or in part.
#[derive(Debug)]
pub(crate) enum TranscodeBody {
    Whole(Found),
    /// A track that is still being transcoded, and that will be stored under this key.
    Growing(Key, Arc<Growing>),
}
