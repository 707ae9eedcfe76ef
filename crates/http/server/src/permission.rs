//! Rules of the operator for requests that change pictures: signatures, permitted recipes,
//! referring pages, and conversions per client address.
//!
//! ```text
//! query ─► signature, if any ─► recipe of Pelton's page? ─yes─────────────► permitted
//!                                  └─ no ─► presets and lists ─► signature, if needed
//! ```
//!
//! The verdict on signature and recipe depends on the target alone, so it is part of the ready
//! response: a response is stored for clients only after its request was permitted, under a key
//! that contains the signature, and with the time at which the signature expires. A cache hit
//! therefore costs one comparison of this time. Referring pages are checked at each request;
//! without such a rule, that check ends at once. The rule for client addresses concerns conversions
//! only.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::net::IpAddr;

use http1::{Request, Target};
use image_plan::{Grammar, ImageQuery, PRESET_PARAMETERS, QueryError, RecipeRules};
use reactor::Network;

use crate::denial::Denial;
use crate::gate::is_listed_host;
use crate::problem::Problem;
use crate::scheme::without_port;
use crate::signature::{self, SignatureError, SignatureKey, SignedQuery};

/// Rules of the operator. By default, every request is permitted.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// Keys of signatures. A signature is valid if any of them has made it.
    pub keys: Vec<SignatureKey>,
    /// True if a request that changes a picture needs a signature.
    pub require_signature: bool,
    /// Rules for the recipes of requests.
    pub recipes: RecipeRules,
    /// Hosts whose pages may show pictures, as in [`crate::gate::Gate::hosts`]. If the list is
    /// empty, pages of every host may.
    pub referrers: Vec<String>,
    /// True if requests without a referring page are permitted although `referrers` is not empty.
    pub allows_empty_referrer: bool,
    /// Proxies whose X-Forwarded-For field names the client.
    pub proxies: Vec<Network>,
    /// Maximum number of requests per client address and minute that need a conversion; 0 means no
    /// limit.
    pub address_conversions_max: u32,
}

impl Default for Permissions {
    fn default() -> Permissions {
        Permissions {
            keys: Vec::new(),
            require_signature: false,
            recipes: RecipeRules::default(),
            referrers: Vec::new(),
            allows_empty_referrer: true,
            proxies: Vec::new(),
            address_conversions_max: 0,
        }
    }
}

/// Request whose target a client wrote, so that the rules apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender<'r> {
    pub(crate) request: &'r Request<'r>,
    pub(crate) peer: IpAddr,
}

/// Verdict of the rules on a request that they permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    /// Unix time in seconds from which on the same request is refused; `u64::MAX` if never.
    pub(crate) until_unix_s: u64,
    /// True if the recipe is one that every request may use, so that its conversions are not
    /// counted for the client's address.
    pub(crate) is_exempt: bool,
}

impl Permit {
    /// Verdict on requests to which no rule applies.
    pub(crate) const UNLIMITED: Permit = Permit {
        until_unix_s: u64::MAX,
        is_exempt: true,
    };
}

/// Meaning of a request's query, and the query without the parameters of a signature.
pub(crate) struct ParsedQuery<'q> {
    pub(crate) meaning: Result<ImageQuery, String>,
    /// Query without the parameters of a signature; empty if it is malformed.
    unsigned: Cow<'q, str>,
}

impl Permissions {
    /// Returns whether every target without a signature is permitted.
    pub(crate) fn is_open(&self) -> bool {
        !self.require_signature && self.recipes.permits_all()
    }

    /// Returns the parameters that distinguish responses, in addition to those of the grammar.
    pub(crate) fn relevance(&self, grammar: Grammar) -> Relevance {
        Relevance {
            grammar,
            has_keys: !self.keys.is_empty(),
            has_presets: !self.recipes.presets.is_empty(),
        }
    }

    /// Parses a query: separates the parameters of a signature, and expands the preset. Without
    /// keys and presets, these parameters are unknown, and the grammar decides about them.
    pub(crate) fn parse<'q>(&self, query: &'q str, grammar: Grammar) -> ParsedQuery<'q> {
        let unsigned = match self.keys.is_empty() {
            true => Cow::Borrowed(query),
            false => match SignedQuery::parse(query) {
                Ok(signed) => signed.rest,
                Err(err) => {
                    return ParsedQuery {
                        meaning: Err(malformed(err).to_owned()),
                        unsigned: Cow::Borrowed(""),
                    };
                }
            },
        };
        let expanded = self.recipes.expand(&unsigned);
        let meaning = expanded.and_then(|expanded| grammar.parse(&expanded));
        ParsedQuery {
            meaning: meaning.map_err(|err: QueryError| err.to_string()),
            unsigned,
        }
    }

    /// Judges the query of a target that a client requests.
    ///
    /// # Errors
    /// [`Problem::Denied`], or [`Problem::BadParameter`] if the query is invalid.
    pub(crate) fn judge(
        &self,
        path: &str,
        query: &str,
        parsed: &ParsedQuery<'_>,
        (grammar, now_unix_s): (Grammar, u64),
    ) -> Result<Permit, Problem> {
        let meaning = parsed.meaning.as_ref();
        let meaning = meaning.map_err(|err| Problem::BadParameter(err.clone()))?;
        let signed_until = match self.keys.is_empty() {
            true => None,
            false => self.verify(path, query, now_unix_s)?,
        };
        self.judge_recipe((&parsed.unsigned, grammar), meaning, signed_until)
    }

    /// Judges the meaning of an imgproxy URL by its recipe. `signed_until` is the Unix time until
    /// which a valid signature permits the request, if it has one.
    ///
    /// # Errors
    /// [`Problem::Denied`].
    pub(crate) fn judge_imgproxy(
        &self,
        meaning: &ImageQuery,
        signed_until: Option<u64>,
    ) -> Result<Permit, Problem> {
        let query = meaning.recipe.to_string();
        self.judge_recipe((&query, Grammar::Pelton), meaning, signed_until)
    }

    /// Judges the recipe of a URL of the IIIF Image API. The query may sign the URL, as it may sign
    /// the URL of a file.
    ///
    /// # Errors
    /// [`Problem::Denied`], or [`Problem::BadParameter`] if the signature is malformed.
    pub(crate) fn judge_iiif(
        &self,
        meaning: &ImageQuery,
        target: Target<'_>,
        now_unix_s: u64,
    ) -> Result<Permit, Problem> {
        let signed_until = match self.keys.is_empty() {
            true => None,
            false => self.verify(target.path, target.query.unwrap_or(""), now_unix_s)?,
        };
        let query = meaning.recipe.to_string();
        self.judge_recipe((&query, Grammar::Pelton), meaning, signed_until)
    }

    fn judge_recipe(
        &self,
        (query, grammar): (&str, Grammar),
        meaning: &ImageQuery,
        signed_until: Option<u64>,
    ) -> Result<Permit, Problem> {
        let recipes = &self.recipes;
        let violation = recipes.check(query, grammar, meaning);
        violation.map_err(|violation| Problem::Denied {
            denial: Denial::Recipe(violation.rule),
            detail: Some(violation.problem),
        })?;
        let is_exempt = recipes.is_exempt(meaning);
        let needs_signature = !meaning.recipe.is_identity() && !is_exempt;
        if self.require_signature && signed_until.is_none() && needs_signature {
            return Err(Problem::Denied {
                denial: Denial::Unsigned,
                detail: None,
            });
        }
        Ok(Permit {
            until_unix_s: signed_until.unwrap_or(u64::MAX),
            is_exempt,
        })
    }

    fn verify(&self, path: &str, query: &str, now_unix_s: u64) -> Result<Option<u64>, Problem> {
        let verified = signature::verify(&self.keys, path, query, now_unix_s);
        verified.map_err(|err| match err {
            SignatureError::Malformed(_) => Problem::BadParameter(malformed(err).to_owned()),
            SignatureError::Wrong => Problem::Denied {
                denial: Denial::WrongSignature,
                detail: None,
            },
            SignatureError::Expired => Problem::Denied {
                denial: Denial::Expired,
                detail: None,
            },
        })
    }

    /// Returns whether the page that refers to the target of `request` may not show pictures. Pages
    /// of this server may always.
    pub(crate) fn is_foreign(&self, request: &Request<'_>) -> bool {
        if self.referrers.is_empty() {
            return false;
        }
        let own = |name| {
            request
                .values(name)
                .only()
                .and_then(|it| str::from_utf8(it).ok())
        };
        // Browsers set this field, and no page can change it.
        if own("sec-fetch-site") == Some("same-origin") {
            return false;
        }
        let Some(referrer) = own("referer").and_then(authority) else {
            // A page of another site can keep its browser from sending the referrer, but not from
            // sending this field.
            return !self.allows_empty_referrer || own("sec-fetch-site") == Some("cross-site");
        };
        let is_own = request
            .host
            .is_some_and(|host| host.eq_ignore_ascii_case(referrer));
        let name = without_port(referrer)
            .trim_end_matches('.')
            .to_ascii_lowercase();
        !is_own
            && !self
                .referrers
                .iter()
                .any(|host| is_listed_host(host, &name))
    }
}

fn malformed(err: SignatureError) -> &'static str {
    match err {
        SignatureError::Malformed(what) => what,
        SignatureError::Wrong | SignatureError::Expired => "sig: the signature is not valid",
    }
}

/// Returns the authority (host and port) of a URL of a web page; `None` if `url` is
/// not such a URL.
fn authority(url: &str) -> Option<&str> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    Some(host).filter(|host| !host.is_empty())
}

/// Rule for the parameters of a query that distinguish responses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Relevance {
    grammar: Grammar,
    has_keys: bool,
    has_presets: bool,
}

impl Relevance {
    /// Returns whether a signature covers `query`, so that all its parameters distinguish
    /// responses.
    pub(crate) fn is_signed(self, query: &str) -> bool {
        self.has_keys && query.split('&').any(signature::is_signature)
    }

    /// Returns whether `pair`, the text between two `&`, can change the response to a target
    /// without a signature.
    pub(crate) fn is_relevant(self, pair: &str) -> bool {
        let name = || pair.split_once('=').map_or(pair, |(name, _)| name);
        self.grammar.is_relevant(pair) || self.has_presets && PRESET_PARAMETERS.contains(&name())
    }
}
