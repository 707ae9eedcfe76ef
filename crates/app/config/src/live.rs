//! Settings that a running server applies when it reads the configuration again.

use super::settings::Key;

/// Settings that take effect with the next request or connection. All others are fixed at the start
/// of a process.
const LIVE: &[&str] = &[
    "quality",
    "formats",
    "allowed_types",
    "only_types",
    "active_types",
    "headers",
    "tags",
    "cors_origins",
    "resource_policy",
    "queries",
    "strict_query",
    "improve",
    "programs",
    "limits.program_queue_max",
    "require_login",
    "hosts",
    "origins",
    "admin_token_file",
    "max_age",
    "max_age_quick",
    "limits.hot_bytes_max",
    "limits.memory_body_bytes_max",
    "limits.coded_bytes_max",
    "limits.gallery_entries_max",
    "limits.revalidate_after",
    "limits.original_bytes_max",
    "limits.source_pixels_max",
    "limits.target_pixels_max",
    "limits.animation_frames_max",
    "limits.animation_pixels_max",
    "limits.profile_bytes_max",
    "limits.connection_requests_max",
    "limits.queued_bytes_max",
    "limits.head_bytes_max",
    "limits.fields_max",
    "limits.target_bytes_max",
    "limits.body_bytes_max",
    "limits.request_body_bytes",
    "limits.request_bodies_bytes",
    "limits.mount_responses_bytes",
    "limits.chunk_line_bytes_max",
    "limits.trailer_bytes_max",
    "limits.tls_buffer_bytes_max",
    "limits.h2_streams_max",
    "limits.h2_buffer_bytes_max",
    "limits.h2_running_max",
    "limits.h2_idle_bytes_max",
    "limits.h2_resets_max",
    "limits.address_conversions_max",
    "images.signature_keys",
    "images.signature_key_file",
    "images.require_signature",
    "images.presets",
    "images.presets_only",
    "images.allowed_widths",
    "images.allowed_heights",
    "images.allowed_formats",
    "images.allowed_qualities",
    "images.allowed_operations",
    "images.allowed_referrers",
    "images.empty_referrer",
    "images.iiif",
    "imgproxy.prefix",
    "imgproxy.keys",
    "imgproxy.salts",
    "imgproxy.signature_size",
    "imgproxy.trusted_signatures",
    "imgproxy.presets",
    "imgproxy.only_presets",
    "imgproxy.base_url",
];

impl Key {
    /// Returns whether a new value takes effect without a restart.
    pub fn is_live(&self) -> bool {
        LIVE.contains(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, LIVE};

    #[test]
    fn what_changes_live_is_known() {
        for name in LIVE {
            assert!(Key::named(name).is_some(), "{name}");
        }
    }
}
