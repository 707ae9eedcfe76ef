//! Page for a person who follows a link to something that does not exist. Other clients get a
//! problem document.

use http1::{Request, accept};

use crate::core::Core;
use crate::gallery::POLICY;
use crate::metrics::Served;
use crate::paths::relative_root;
use crate::problem::Problem;
use crate::response::{Fields, Payload, Response, Shape};

const STYLE: &str = "body{margin:20vh auto;max-width:30rem;padding:0 1rem;font:16px/1.5 \
                     system-ui,sans-serif;text-align:center;color-scheme:light dark;\
                     background:Canvas;color:CanvasText}h1{font-size:1.5rem}";

impl Core {
    /// Responds to a request whose target does not exist. Clients that accept HTML get a page with
    /// a link to the start page, and other clients get a problem document.
    pub(crate) fn not_found_response(&self, request: &Request<'_>, shape: Shape) -> Response {
        let shape = Shape {
            negotiable: true,
            ..shape
        };
        let mut response = self.problem_response(&Problem::NotFound, shape);
        let [reads_html] = accept::fold(request.accept(), &["text/html"]);
        if !reads_html {
            return response;
        }
        let root = relative_root(request.target.path);
        let text = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width,initial-scale=1\"><title>Not found · Pelton</title>\
             <link rel=\"icon\" href=\"{root}favicon.ico\">\
             <style>{STYLE}</style><main><h1>There is no such page</h1><p>The link may be wrong, or the \
             page was moved or deleted.<p><a href=\"{root}-/\">To the start page</a></main>"
        );
        response.fields = Fields::Listed(vec![
            ("content-type".into(), "text/html; charset=utf-8".into()),
            ("cache-control".into(), "no-store".into()),
            ("x-content-type-options".into(), "nosniff".into()),
            ("content-security-policy".into(), POLICY.into()),
            ("content-length".into(), text.len().to_string().into()),
            ("vary".into(), "Accept".into()),
        ]);
        response.payload = match shape.bodiless {
            true => Payload::None,
            false => Payload::Owned(text.into()),
        };
        response.served = Served::Other;
        response
    }
}
