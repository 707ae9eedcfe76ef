//! Files of the library at `/-/file/…`, for users who have logged in with a browser.
//!
//! The path of the session cookie is `/-/`, so browsers send no cookie when they request files of
//! the library at their own paths, and shared caches need not distinguish users. If files need a
//! login, the web page loads them from this mount: the mount serves the same files for the same
//! queries, but with private responses.

use std::pin::Pin;
use std::sync::Arc;

use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};

/// Mount that serves the library's files below `/-/file`.
pub(crate) struct PageFiles;

impl PageFiles {
    pub(crate) const PREFIX: &str = "/-/file";

    /// Returns the mount and its path.
    pub(crate) fn mount() -> (String, Arc<dyn Mount>) {
        (PageFiles::PREFIX.to_owned(), Arc::new(PageFiles))
    }

    fn reply(request: &MountRequest<'_>) -> Reply {
        if !matches!(request.method, "GET" | "HEAD") {
            return Reply::Whole {
                status: 405,
                fields: vec![("allow".into(), "GET, HEAD".into())],
                body: bytes::Bytes::new(),
            };
        }
        let path = request.path.strip_prefix(PageFiles::PREFIX);
        let path = path.filter(|path| !path.is_empty()).unwrap_or("/");
        Reply::Internal {
            target: match request.query {
                Some(query) => format!("{path}?{query}"),
                None => path.to_owned(),
            },
            // Pages of other hosts may embed public files, but not files that need a login.
            fields: vec![("cross-origin-resource-policy".into(), "same-origin".into())],
        }
    }
}

impl Mount for PageFiles {
    /// Returns the part of the server to which this mount belongs. This part needs a login, except
    /// if all files are public.
    fn part(&self) -> Part {
        Part::Music
    }

    fn passes_queries(&self) -> bool {
        true
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(std::future::ready(PageFiles::reply(&request)))
    }
}

#[cfg(test)]
mod tests {
    use server::gate::RequireLogin;
    use server::media_type::AllowedTypes;
    use server::mount::{MountRequest, Reply};

    use super::PageFiles;

    /// Returns the target in the library from which the mount serves `request`.
    fn target(request: &str) -> Option<String> {
        let text = format!("{request} HTTP/1.1\r\nhost: h\r\n\r\n");
        let parsed = http1::parse(text.as_bytes(), &http1::Limits::default());
        let parsed = parsed.expect("sound").expect("whole");
        let reply = PageFiles::reply(&MountRequest {
            method: parsed.method_name,
            path: parsed.target.path,
            query: parsed.target.query,
            fields: parsed.fields(),
            body: bytes::Bytes::new(),
            peer: [127, 0, 0, 1].into(),
            secure: false,
            require_login: RequireLogin::All,
            allowed_types: &AllowedTypes::default(),
            only_types: &AllowedTypes::every(),
        });
        match reply {
            Reply::Internal { target, .. } => Some(target),
            _ => None,
        }
    }

    #[test]
    fn the_target_is_what_follows_the_prefix() {
        for (request, expected) in [
            ("GET /-/file/a%20b.jpg?w=8&q=1", Some("/a%20b.jpg?w=8&q=1")),
            ("HEAD /-/file/-/file/a.jpg", Some("/-/file/a.jpg")),
            ("GET /-/file", Some("/")),
            ("POST /-/file/a.jpg", None),
        ] {
            assert_eq!(target(request).as_deref(), expected, "{request}");
        }
    }
}
