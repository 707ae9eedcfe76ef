//! Preparation of the representation that was chosen: opens its bytes and composes its head.

use std::cell::OnceCell;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use http1::date;
use variants::library::{self, Identity, LibraryPath};

use super::{Bytes, Representation, template};
use crate::choice::{Body, Choice};
use crate::coding::{CODED_BYTES_MIN, extended_vary, is_text};
use crate::metrics::Served;
use crate::service::Service;

/// Content-Security-Policy for files that may contain scripts: SVG and files of unknown type. It
/// forbids browsers to run these scripts, and to load other resources for the file.
const INERT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Data from which the fields of a representation are composed.
struct Described<'a> {
    choice: &'a Choice,
    path: &'a LibraryPath,
    length: u64,
    etag: &'a str,
    modified_unix_s: Option<i64>,
}

impl Service {
    /// Opens the bytes of `choice` and prepares the response head. May block on the disk.
    ///
    /// # Errors
    /// If the bytes no longer exist. The caller then chooses a representation again.
    pub fn prepare(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        now_unix_s: i64,
    ) -> io::Result<Representation> {
        let bytes = match &choice.body {
            Body::Variant(variant, sealed, _)
                if variant.bytes <= self.settings.limits.memory_body_bytes_max =>
            {
                Bytes::Memory(match sealed {
                    Some(sealed) => self.variants().read_sealed(variant, sealed)?,
                    None => self.variants().read(variant)?,
                })
            }
            // A large variant is sent from its file, even if its bytes are also in the sealed
            // memory file of the job. The kernel can reclaim the cached pages of a file while slow
            // clients read, but not the memory of a sealed memory file.
            Body::Variant(variant, ..) => Bytes::File(Arc::new(self.variants().open(variant)?)),
            Body::Uncached(sealed, ..) => Bytes::Sealed(Arc::clone(sealed)),
            Body::Original(_) => self.original_bytes(path, &choice.identity)?,
        };
        self.represent(choice, path, bytes, now_unix_s)
    }

    fn original_bytes(&self, path: &LibraryPath, identity: &Identity) -> io::Result<Bytes> {
        let changed = || io::Error::other("original changed");
        let (file, now) = self.library().open_original(path).map_err(|_| changed())?;
        if now != *identity {
            return Err(changed());
        }
        if self.settings.limits.memory_body_bytes_max < identity.size_bytes {
            return Ok(Bytes::File(Arc::new(file)));
        }
        let mut bytes = vec![0; identity.size_bytes as usize];
        FileExt::read_exact_at(&file, &mut bytes, 0)?;
        // The file may have been overwritten while it was read.
        if library::identity(&file).map_err(|_| changed())? != *identity {
            return Err(changed());
        }
        Ok(Bytes::Memory(bytes.into()))
    }

    fn represent(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        bytes: Bytes,
        now_unix_s: i64,
    ) -> io::Result<Representation> {
        let length = match &bytes {
            Bytes::Memory(bytes) => bytes.len() as u64,
            Bytes::File(file) => file.metadata()?.len(),
            Bytes::Part(file, begin) => file.metadata()?.len().saturating_sub(*begin),
            Bytes::Sealed(sealed) => sealed.bytes,
        };
        let (variant, etag) = match &choice.body {
            Body::Variant(variant, ..) => {
                (Some(Arc::clone(variant)), format!("\"{}\"", variant.key))
            }
            Body::Uncached(_, key, _) => (None, format!("\"{key}\"")),
            Body::Original(_) => (None, choice.identity.etag()),
        };
        // A provisional representation gets no Last-Modified field: its variant will be replaced,
        // but the date of the original will stay the same. A date in the future is replaced by the
        // current time (RFC 9110 §8.8.2.1).
        let modified_s = choice.identity.modified_s;
        let modified_unix_s = (!choice.provisional).then_some(modified_s.min(now_unix_s));
        let is_codable = is_text(choice.body.media_type())
            && (CODED_BYTES_MIN..=self.settings.limits.coded_bytes_max).contains(&length);
        let fields = self.fields(
            &Described {
                choice,
                path,
                length,
                etag: &etag,
                modified_unix_s,
            },
            is_codable,
        );
        let served = match &choice.body {
            Body::Original(_) => Served::Original,
            Body::Variant(..) | Body::Uncached(..) => Served::Hit,
        };
        Ok(Representation {
            whole: template(&fields, length),
            fields,
            header_map: OnceCell::new(),
            lines: OnceCell::new(),
            etag,
            modified_unix_s,
            is_only: choice.is_only && modified_s <= now_unix_s && !is_codable,
            is_codable,
            length,
            bytes,
            variant,
            identity: choice.identity,
            negotiated: choice.negotiated,
            provisional: choice.provisional,
            served,
        })
    }

    fn fields(&self, described: &Described<'_>, is_codable: bool) -> Vec<(String, String)> {
        let Described {
            choice,
            path,
            length,
            etag,
            modified_unix_s,
        } = *described;
        let media_type = choice.body.media_type();
        let age_s = if choice.provisional {
            self.settings.provisional_age_s
        } else {
            self.settings.max_age_s
        };
        let rate = length as f64 / choice.identity.size_bytes.max(1) as f64;
        let mut fields: Vec<(&str, String)> = vec![
            ("content-type", media_type.to_owned()),
            ("etag", etag.to_owned()),
            ("cache-control", format!("public, max-age={age_s}")),
            ("accept-ranges", "bytes".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-compression-rate", format!("{rate:.2}")),
            // These two values are replaced if the request waited for a conversion.
            ("cache-status", "Pelton; hit".to_owned()),
            ("server-timing", "cache;desc=hit".to_owned()),
        ];
        if let Some(modified_unix_s) = modified_unix_s {
            let date = date::format(modified_unix_s);
            fields.push((
                "last-modified",
                date.iter().copied().map(char::from).collect(),
            ));
        }
        fields.extend(self.policies(choice, path, is_codable));
        fields.extend(self.settings.tags.fields(path));
        let own = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        // The operator's fields cannot change the freshness of provisional responses.
        let is_set = |name: &str| !(choice.provisional && name == "cache-control");
        self.settings.headers.combine(own.collect(), is_set)
    }

    /// Returns the fields that control caches and the browser's security policies.
    fn policies(
        &self,
        choice: &Choice,
        path: &LibraryPath,
        is_codable: bool,
    ) -> Vec<(&'static str, String)> {
        let settings = &self.settings;
        let mut fields = Vec::new();
        let varies = [
            (choice.negotiated, "Accept"),
            (is_codable, "Accept-Encoding"),
            (settings.cors.is_reflected(), "Origin"),
        ];
        let varies = varies.into_iter().filter(|(varies, _)| *varies);
        let vary = varies.fold(String::new(), |vary, (_, name)| extended_vary(&vary, name));
        if !vary.is_empty() {
            fields.push(("vary", vary));
        }
        let may_be_active = match &choice.body {
            Body::Original(known) => known.may_be_active(),
            Body::Variant(..) | Body::Uncached(..) => false,
        };
        if may_be_active && !settings.active_types.admits(path.as_path()) {
            fields.push(("content-security-policy", INERT_POLICY.to_owned()));
        }
        fields.extend(settings.cors.fields());
        let resource_policy = settings.resource_policy;
        fields.extend(resource_policy.map(|it| ("cross-origin-resource-policy", it.to_owned())));
        fields
    }
}
