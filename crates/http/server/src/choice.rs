//! Representation that was chosen for a request, before its response is prepared.

use std::sync::Arc;

use conversion::growing::Growing;
use variants::cache::{Key, Variant};
use variants::library::Identity;
use variants::sealed::Sealed;

use crate::known::Known;

/// Representation that was chosen for a request.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Content of the representation: a variant, or the original.
    pub body: Body,
    /// Version of the original. The representation was made from this version, or is the original
    /// itself.
    pub identity: Identity,
    /// True if a different `Accept` field could lead to a different representation.
    pub negotiated: bool,
    /// True if a variant that is encoded later at higher effort will replace this representation.
    pub provisional: bool,
    /// True if the representation was converted for this request.
    pub made: bool,
    /// True if the target has no other representation. The representation then depends neither on
    /// what the client accepts nor on later conversions.
    pub is_only: bool,
}

/// Response that was chosen for a request of a music player for a track.
#[derive(Clone, Debug)]
pub enum SoundChoice {
    /// A complete transcoded track, or the original file.
    Whole(Choice),
    /// A track that is still being transcoded, and that will be stored under this key.
    Growing(Key, Arc<Growing>),
    /// The original has changed, so the choice must be made again.
    Changed,
}

/// Media type, as sent in the field Content-Type.
pub type MediaType = &'static str;

/// Location of a representation's bytes.
#[derive(Clone, Debug)]
pub enum Body {
    /// Variant on disk. If it was converted for this request, its bytes are also in memory.
    Variant(Arc<Variant>, Option<Arc<Sealed>>, MediaType),
    /// Variant in memory only, because the disk did not accept it.
    Uncached(Arc<Sealed>, Key, MediaType),
    /// The original file.
    Original(Known),
}

impl Body {
    pub(crate) fn media_type(&self) -> MediaType {
        match self {
            Body::Variant(_, _, media_type) | Body::Uncached(_, _, media_type) => media_type,
            Body::Original(known) => known.media_type(),
        }
    }
}

impl Choice {
    /// Returns whether the bytes are in memory, so that preparing the response cannot block.
    pub(crate) fn is_in_memory(&self, memory_body_bytes_max: u64) -> bool {
        match &self.body {
            Body::Variant(variant, sealed, _) => {
                sealed.is_some() && variant.bytes <= memory_body_bytes_max
            }
            Body::Uncached(..) => true,
            Body::Original(_) => false,
        }
    }

    /// Returns a choice of the original, as the only representation of its target.
    pub(crate) fn original(identity: Identity, known: Known) -> Choice {
        Choice {
            body: Body::Original(known),
            identity,
            negotiated: false,
            provisional: false,
            made: false,
            is_only: true,
        }
    }
}
