//! Shares of the user: links under which everyone sees a photograph, a folder, an album or a
//! playlist without a login.

use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::shares::content::{self, Photos};
use crate::shares::{find, new_token};
use crate::store::{Change, Role, Share, SharedItem, State};
use crate::time::iso;
use crate::write::Writer;

const DAY_MS: i64 = 86_400_000;

impl ApiCall<'_> {
    /// Handles a request that changes shares. `parts` are the segments of its path below
    /// `/shares`.
    pub(super) fn edit_shares(&self, parts: &[&str]) -> Result<String, Refusal> {
        match (parts, self.request.method) {
            ([], "POST") => self.create_share(),
            ([], _) => Err(Refusal::Method("GET, HEAD, POST")),
            ([token], "PATCH") => self.change_share(token),
            ([token], "DELETE") => self.delete_share(token),
            ([_], _) => Err(Refusal::Method("PATCH, DELETE")),
            _ => Err(Refusal::NotFound),
        }
    }

    /// Returns the user's shares, the latest first. An admin gets the shares of all users.
    pub(super) fn shares<'s>(
        &self,
        state: &'s State,
    ) -> Result<Vec<(&'s str, &'s Share)>, Refusal> {
        let user = self.user(state)?;
        let is_admin = self.admin(state).is_ok();
        let shares = state.shares.iter();
        let shares = shares.filter(|(_, share)| is_admin || share.owner == user);
        let mut shares: Vec<_> = shares.map(|(token, share)| (&**token, share)).collect();
        shares.sort_by_key(|(_, share)| std::cmp::Reverse(share.created_ms));
        Ok(shares)
    }

    /// Writes the fields of a share, such as its URL, its item, its owner and the number of visits.
    pub(super) fn write_share(&self, out: &mut Writer, state: &State, (token, it): (&str, &Share)) {
        let photos = Photos::of(&self.index, it);
        let count = match &photos {
            Some(photos) => photos.count(&self.derived),
            None => content::tracks(&self.index, state, it).len(),
        };
        let visits = self.context.visits(|visits| visits.get(token).copied());
        let visits = visits.unwrap_or_default();
        out.text("id", token);
        out.text("url", &format!("/-/share/{token}"));
        out.text("kind", kind(it));
        match &it.item {
            Some(SharedItem::Object(id)) => out.text("item", &id.to_string()),
            Some(SharedItem::Folder(path)) => out.text("folder", path),
            None => {}
        }
        let name = content::name(&self.index, state, it);
        out.text_or_null("name", name.as_deref());
        out.number("count", count as u32);
        out.text("description", &it.description);
        out.text("owner", &it.owner);
        out.flag("originals", it.allows_originals);
        out.text("created", &iso(it.created_ms));
        out.text_or_null("expires", it.expires_ms.map(iso).as_deref());
        let now_ms = self.request.now_ms;
        let is_over = it.expires_ms.is_some_and(|end_ms| end_ms <= now_ms);
        out.flag("expired", is_over);
        out.number("visits", visits.count);
        if visits.count != 0 {
            out.text("visited", &iso(visits.last_ms));
        }
    }

    fn create_share(&self) -> Result<String, Refusal> {
        let token = new_token();
        // Users who may not share are refused before the folder is read. The store is not locked
        // while the folder is read.
        self.context
            .store
            .read(|state| self.sharing_user(state))??;
        let has_videos = self.request.params.first("folder").is_some_and(|path| {
            let path = path.trim_matches('/').as_bytes();
            let library = &self.context.library;
            !library.videos_below(path, self.request.videos).is_empty()
        });
        self.context.store.change(|state| {
            let owner = self.sharing_user(state)?;
            let own = state.shares.values().filter(|it| it.owner == owner);
            if self.context.limits.kept_max <= own.count() {
                return Err(Refusal::Full);
            }
            let share = Share {
                item: Some(self.shared_item(state, &owner, has_videos)?),
                description: self.description()?.unwrap_or_default(),
                created_ms: self.request.now_ms,
                expires_ms: Some(
                    self.expires_ms()?
                        .unwrap_or_else(|| self.days_from_now(self.context.limits.share_days)),
                ),
                allows_originals: self.flag("originals")?.unwrap_or(false),
                owner,
                tracks: Vec::new(),
            };
            // Forget the visits of shares that no longer exist.
            let all = &state.shares;
            let retain = |token: &String| all.contains_key(token);
            self.context
                .visits(|visits| visits.retain(|token, _| retain(token)));
            self.compose_share(state, &token, share)
        })??;
        self.share_document(&token)
    }

    fn change_share(&self, token: &str) -> Result<String, Refusal> {
        self.context.store.change(|state| {
            self.sharing_user(state)?;
            let (token, share) = self.own_share(state, token)?;
            let share = Share {
                description: self
                    .description()?
                    .unwrap_or_else(|| share.description.clone()),
                expires_ms: self.expires_ms()?.or(share.expires_ms),
                allows_originals: self.flag("originals")?.unwrap_or(share.allows_originals),
                ..share.clone()
            };
            self.compose_share(state, token, share)
        })??;
        self.share_document(token)
    }

    fn delete_share(&self, token: &str) -> Result<String, Refusal> {
        self.context.store.change(|state| {
            let (token, _) = self.own_share(state, token)?;
            let token = token.to_owned();
            Ok::<_, Refusal>(vec![Change::Share { token, share: None }])
        })??;
        Ok("{}".to_owned())
    }

    /// Returns the user of the request, if this user may create and change shares.
    fn sharing_user(&self, state: &State) -> Result<String, Refusal> {
        let name = self.user(state)?;
        let user = state.users.get(&name);
        match user.is_some_and(|user| user.may(Role::Share)) {
            true => Ok(name),
            false => Err(Refusal::MayNotShare),
        }
    }

    /// Returns the share with this token, if the user of the request may change it: the user's own
    /// share, or, for an admin, any share.
    fn own_share<'s>(
        &self,
        state: &'s State,
        token: &str,
    ) -> Result<(&'s str, &'s Share), Refusal> {
        let user = self.user(state)?;
        let is_admin = self.admin(state).is_ok();
        let found = find(state, token);
        let own = found.filter(|(_, share)| is_admin || share.owner == user);
        own.ok_or(Refusal::NotFound)
    }

    /// Returns the item that the parameter `item` or `folder` names. `has_videos` is true if the
    /// folder or one below it has videos.
    fn shared_item(
        &self,
        state: &State,
        user: &str,
        has_videos: bool,
    ) -> Result<SharedItem, Refusal> {
        let params = &self.request.params;
        match (params.first("item"), params.first("folder")) {
            (Some(id), None) => {
                let id = Id::parse(id).ok_or(Refusal::Bad("item"))?;
                let is_known = match id {
                    Id::Photo(id) => self.index.photo_row(id).is_some(),
                    Id::Album(id) => self.index.album_row(id).is_some(),
                    Id::Listing(id) => self.index.playlist_row(id).is_some(),
                    Id::Playlist(id) => {
                        let playlist = state.playlists.get(&id);
                        playlist.is_some_and(|it| it.is_visible_to(user))
                    }
                    Id::Artist(_) | Id::Track(_) => return Err(Refusal::Bad("item")),
                };
                match is_known {
                    true => Ok(SharedItem::Object(id)),
                    false => Err(Refusal::NotFound),
                }
            }
            (None, Some(path)) => {
                let path = path.trim_matches('/');
                let mut names = path.split('/');
                if names.any(|name| matches!(name, "" | "." | "..")) {
                    return Err(Refusal::Bad("folder"));
                }
                let folder = self.index.folder(path.as_bytes());
                let timeline = self.derived.timeline();
                let has_photos =
                    folder.is_some_and(|folder| !timeline.among(&folder.files).is_empty());
                match has_photos || has_videos {
                    true => Ok(SharedItem::Folder(path.to_owned())),
                    false => Err(Refusal::NotFound),
                }
            }
            _ => Err(Refusal::Bad("item")),
        }
    }

    /// Returns the expiry time that the parameter `days` gives, if the request has it.
    fn expires_ms(&self) -> Result<Option<i64>, Refusal> {
        let Some(days) = self.number("days")? else {
            return Ok(None);
        };
        let days = u32::try_from(days).ok();
        let allowed = 1..=self.context.limits.share_days_max;
        let days = days.filter(|days| allowed.contains(days));
        let days = days.ok_or(Refusal::Bad("days"))?;
        Ok(Some(self.days_from_now(days)))
    }

    fn days_from_now(&self, days: u32) -> i64 {
        let days_ms = i64::from(days) * DAY_MS;
        self.request.now_ms.saturating_add(days_ms)
    }

    fn description(&self) -> Result<Option<String>, Refusal> {
        let text = self.request.params.first("description").map(str::trim);
        let bytes_max = self.context.limits.text_bytes_max;
        match text {
            Some(text) if bytes_max < text.len() => Err(Refusal::Bad("description")),
            text => Ok(text.map(str::to_owned)),
        }
    }

    /// Returns the change that stores a share, unless it exceeds the limit on its owner's data.
    fn compose_share(
        &self,
        state: &State,
        token: &str,
        share: Share,
    ) -> Result<Vec<Change>, Refusal> {
        let (token, share) = (token.to_owned(), Some(share));
        self.check_quota(state, Change::Share { token, share })
    }

    fn share_document(&self, token: &str) -> Result<String, Refusal> {
        let mut out = Writer::new(false);
        let written = self.context.store.read(|state| {
            let share = find(state, token).ok_or(Refusal::NotFound)?;
            out.braced(|out| self.write_share(out, state, share));
            Ok::<_, Refusal>(())
        });
        written??;
        Ok(out.finish())
    }
}

/// Returns the kind of the shared content, as responses name it.
fn kind(share: &Share) -> &'static str {
    match &share.item {
        Some(SharedItem::Folder(_)) => "folder",
        Some(SharedItem::Object(Id::Photo(_))) => "photo",
        Some(SharedItem::Object(Id::Album(_))) => "album",
        Some(SharedItem::Object(Id::Playlist(_) | Id::Listing(_))) => "playlist",
        _ => "tracks",
    }
}
