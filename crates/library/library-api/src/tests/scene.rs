//! Fixture: a library in memory, users on disk, and a fixed time.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use catalog::{Catalog, Content, CoverOwner, Entry, Photo, Stat, build};
use image_plan::Placeholder;
use serde_json::Value;
use tags::{
    Audio, AudioHash, Codec, Container, Exposure, Field, Listed, Listing, Media, Mime,
    PhotoMetadata, Picture, PictureKind, Place, Splits, Stored, Tags,
};

use crate::{
    ApiRequest, Index, LibraryAccess, Limits, MotionVideo, Params, Reading, Request, Response,
    Scanning, Server, Store, Watching,
};

pub(super) const NOW_MS: i64 = 1_000_000;

/// Library with a fixed index, which only the test itself replaces. Also holds the folders of the
/// last requested scan, and the name of the only avatar.
struct FixedLibrary(Mutex<Arc<Index>>, Mutex<Vec<Vec<u8>>>, Mutex<String>);

impl LibraryAccess for FixedLibrary {
    fn index(&self) -> Arc<Index> {
        Arc::clone(&self.0.lock().expect("one thread"))
    }

    fn scanning(&self) -> Scanning {
        let asked = !self.1.lock().expect("one thread").is_empty();
        let reading = Reading {
            done: 3,
            of: 7,
            per_second: 12.5,
            left_s: Some(0.32),
        };
        Scanning {
            active: asked,
            files: 7,
            reading: asked.then_some(reading),
            ended_ms: Some(1),
            watch: Watching::Inotify { folders: 4 },
            ..Scanning::default()
        }
    }

    fn unreadable(&self, index: &Index) -> Vec<(Vec<u8>, String)> {
        index.unreadable().collect()
    }

    fn scan(&self, folders: Vec<Vec<u8>>) {
        *self.1.lock().expect("one thread") = folders;
    }

    fn cancel_scan(&self) {
        self.1.lock().expect("one thread").clear();
    }

    fn cover(&self, _: &Index, of: CoverOwner, query: &str) -> Option<String> {
        Some(format!("/cover/{of:?}?{query}"))
    }

    fn has_cover(&self, index: &Index, of: CoverOwner) -> bool {
        let CoverOwner::Album(row) = of else {
            return true;
        };
        index.album(row).is_some_and(|album| album.title == "Über")
    }

    fn placeholder(&self, index: &Index, of: CoverOwner) -> Option<Placeholder> {
        let is_album = matches!(of, CoverOwner::Album(_));
        (is_album && self.has_cover(index, of)).then(placeholder)
    }

    fn placeholder_of_file(&self, path: &[u8]) -> Option<Placeholder> {
        path.ends_with(b"cover.jpg").then(placeholder)
    }

    fn videos(&self, folder: &[u8], extensions: &[&str]) -> Vec<Vec<u8>> {
        match folder {
            b"2003" if extensions.contains(&"mp4") => vec![b"a b.mp4".to_vec()],
            b"films/trip" => vec![b"c.mp4".to_vec()],
            _ => Vec::new(),
        }
    }

    fn videos_below(&self, folder: &[u8], extensions: &[&str]) -> Vec<Vec<u8>> {
        match folder {
            b"films" => vec![b"films/trip/c.mp4".to_vec()],
            b"2003" if extensions.contains(&"mp4") => vec![b"2003/a b.mp4".to_vec()],
            _ => Vec::new(),
        }
    }

    fn motion(&self, path: &[u8]) -> io::Result<Option<MotionVideo>> {
        if path.ends_with(b"cover.jpg") {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok((path == b"2003/a b.jpg").then(|| MotionVideo {
            etag: "\"v1\"".to_owned(),
            range: 1000..3000,
        }))
    }

    fn avatar(&self, name: &str) -> Option<String> {
        (name == self.2.lock().expect("one thread").as_str()).then(|| format!("/avatar/{name}"))
    }

    fn lyrics(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let timed =
            "[ar:Björk]\n[offset:-80]\n[00:01.5]Erste <Zeile>\n[01:02.003] zweite\nohne Zeit\n";
        match path.ends_with(b"1.flac") {
            true => vec![b"First line".to_vec(), timed.into()],
            false => Vec::new(),
        }
    }
}

/// Returns the one placeholder that all pictures in the fixture have.
fn placeholder() -> Placeholder {
    Placeholder::new(
        [0x1f, 0x2e, 0x3d],
        "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
        &[29, 7, 6],
    )
}

/// Fixture: a server with its library and the store of its users. It has no users, the admin ann,
/// or the admin ann and the user bob.
pub(super) struct Scene {
    folder: PathBuf,
    store: Arc<Store>,
    library: Arc<FixedLibrary>,
    server: Server,
    is_first: bool,
}

impl Scene {
    pub(super) fn new(name: &str) -> Scene {
        let scene = Scene::empty(name);
        scene
            .store
            .add_user("ann", "sesame", false, 1)
            .expect("a user");
        scene
            .store
            .add_user("bob", "secret", false, 1)
            .expect("a user");
        scene
    }

    pub(super) fn empty(name: &str) -> Scene {
        Scene::limited(name, Limits::default())
    }

    /// Creates a fixture without users, like [`Scene::empty`], with these limits.
    pub(super) fn limited(name: &str, limits: Limits) -> Scene {
        let folder = format!("pelton-subsonic-{name}-{}", std::process::id());
        Scene::open(std::env::temp_dir().join(folder), library(), limits, true)
    }

    /// Creates a fixture with the library `library` and the user ann, who is an admin because she
    /// is the first user.
    pub(super) fn with_library(name: &str, library: Vec<Entry>) -> Scene {
        let folder = format!("pelton-subsonic-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let scene = Scene::open(folder, library, Limits::default(), true);
        let added = scene.store.add_user("ann", "sesame", false, 1);
        added.expect("a user");
        scene
    }

    /// Opens the fixture's folder a second time, as another process would.
    pub(super) fn again(&self) -> Scene {
        Scene::open(self.folder.clone(), library(), Limits::default(), false)
    }

    fn open(folder: PathBuf, library: Vec<Entry>, limits: Limits, is_first: bool) -> Scene {
        let store = Arc::new(Store::open(&folder).expect("a folder"));
        let library = Arc::new(FixedLibrary(
            Mutex::new(index_of(library)),
            Mutex::default(),
            Mutex::default(),
        ));
        let server = Server::new(
            library.clone(),
            Arc::clone(&store),
            Splits::default(),
            limits,
        );
        Scene {
            folder,
            store,
            library,
            server,
            is_first,
        }
    }

    /// Replaces the index with an index of the library without the files at these paths. A scan
    /// does the same after these files were removed.
    pub(super) fn rescan_without(&self, paths: &[&str]) {
        let mut entries = library();
        entries.retain(|entry| paths.iter().all(|path| path.as_bytes() != entry.path));
        *self.library.0.lock().expect("one thread") = index_of(entries);
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Sets the name of the only avatar.
    pub(super) fn give_avatar(&self, name: String) {
        *self.library.2.lock().expect("one thread") = name;
    }

    /// Returns the folders of the last requested scan.
    pub(super) fn requested_folders(&self) -> Vec<Vec<u8>> {
        self.library.1.lock().expect("one thread").clone()
    }

    pub(super) fn respond(&self, request: &str, who: &str) -> Response {
        self.respond_to_form(request, who, "")
    }

    /// Returns the response to a request with the login parameters `who` and a body that is not a
    /// form.
    pub(super) fn respond_to_form(&self, request: &str, who: &str, body: &str) -> Response {
        let (name, query) = request.split_once('?').unwrap_or((request, ""));
        let mut params = Params::parse(query);
        params.extend(who);
        self.server.respond(&Request {
            name,
            params,
            body,
            peer: std::net::Ipv4Addr::LOCALHOST.into(),
            base: "http://here".to_owned(),
            now_ms: NOW_MS,
        })
    }

    /// Returns the document in the response to a request with the login parameters `who`.
    pub(super) fn ask_as(&self, request: &str, who: &str) -> String {
        match self.respond(request, who) {
            Response::Document { status, body, .. } => {
                assert_eq!(status, 200, "{request}");
                body
            }
            other => panic!("{request} is no document: {other:?}"),
        }
    }

    pub(super) fn ask(&self, request: &str) -> String {
        self.ask_as(request, "u=ann&p=sesame")
    }

    pub(super) fn ok(&self, request: &str) {
        let response = self.ask(request);
        assert!(response.contains("status=\"ok\""), "{request}: {response}");
    }

    pub(super) fn json(&self, request: &str) -> Value {
        let end = if request.contains('?') {
            "&f=json"
        } else {
            "?f=json"
        };
        let text = self.ask(&format!("{request}{end}"));
        let response: Value = serde_json::from_str(&text).expect("JSON");
        response["subsonic-response"].clone()
    }

    /// Returns the values of one attribute in all elements of one name. `what` names the element
    /// and the attribute, as in `song.id`.
    pub(super) fn all(&self, request: &str, what: &str) -> Vec<String> {
        let text = self.ask(request);
        let (element, name) = what.split_once('.').expect("an element and an attribute");
        let (element, name) = (format!("<{element} "), format!(" {name}=\""));
        let tags = text.split(&element).skip(1).filter_map(|rest| {
            let tag = format!(" {}", rest.split('>').next()?);
            let value = tag.split(&name).nth(1)?.split('"').next()?;
            Some(value.to_owned())
        });
        tags.collect()
    }

    /// Returns the bytes of the users' journal as text.
    pub(super) fn journal(&self) -> String {
        let bytes = std::fs::read(self.folder.join("journal")).expect("a change was made");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Overwrites the users' journal with text, so that it can no longer be read.
    pub(super) fn break_journal(&self) {
        let journal = self.folder.join("journal");
        std::fs::write(journal, "This is not a journal of users.").expect("a change was made");
    }

    pub(super) fn api(&self, method: &str, target: &str, authorization: Option<&str>) -> String {
        self.api_with(method, target, (authorization, None))
    }

    /// Returns the response to a request of the JSON API in the session with this token.
    pub(super) fn api_in(&self, method: &str, target: &str, session: Option<&str>) -> String {
        self.api_with(method, target, (None, session))
    }

    fn api_with(
        &self,
        method: &str,
        target: &str,
        credentials: (Option<&str>, Option<&str>),
    ) -> String {
        match self.api_answer(method, target, credentials) {
            Response::Document { status, body, .. } => format!("{status} {body}"),
            other => panic!("no document: {other:?}"),
        }
    }

    /// Returns the response to a request of the JSON API without a login.
    pub(super) fn api_file(&self, method: &str, target: &str) -> Response {
        self.api_answer(method, target, (None, None))
    }

    /// Returns the response to a request of the JSON API with an Authorization field, or in the
    /// session with a token.
    pub(super) fn api_answer(
        &self,
        method: &str,
        target: &str,
        (authorization, session): (Option<&str>, Option<&str>),
    ) -> Response {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.server.api(&ApiRequest {
            method,
            path,
            query: target.contains('?').then_some(query),
            params: Params::parse(query),
            authorization,
            session,
            videos: &["mp4"],
            now_ms: NOW_MS,
        })
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The folder exists only if a change was made.
        if self.is_first && self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).expect("it was made");
        }
    }
}

fn index_of(library: Vec<Entry>) -> Arc<Index> {
    let index = Catalog::open(build(library, &Splits::default()).into()).expect("an index");
    Arc::new(index)
}

/// Returns the ids of the artist Björk, of the album Über, and of its first song.
pub(super) fn ids(scene: &Scene) -> [String; 3] {
    let id = |query: &str, what: &str| scene.all(query, what).remove(0);
    [
        id("search2?query=bjork", "artist.id"),
        id("search2?query=uber", "album.id"),
        id("search2?query=erstes", "song.id"),
    ]
}

pub(super) fn music(number: u64, path: &str, fields: &[(Field, &str)]) -> Entry {
    let mut tags = Tags::default();
    fields
        .iter()
        .for_each(|(field, value)| tags.push(*field, value));
    let media = Media {
        container: Container::Flac,
        audio: Audio {
            codec: Codec::Flac,
            duration_ms: 61_000 * number,
            exact: true,
            sample_rate_hz: 44_100,
            channels: 2,
            bits: 16,
            bitrate_bps: 900_000,
        },
        tags,
        pictures: vec![Picture {
            kind: PictureKind::FRONT,
            mime: Mime::Jpeg,
            stored: Stored::Plain,
            offset: 1234,
            bytes: 300_000,
            skip: 0,
        }],
        audio_hash: AudioHash(number),
        issues: match number {
            1 => vec!["a frame is cut off".into()],
            _ => Vec::new(),
        },
    };
    entry(number, path, Content::Music(Box::new(media)))
}

pub(super) fn entry(number: u64, path: &str, content: Content) -> Entry {
    let stat = Stat {
        device: 7,
        inode: number,
        size: 30_000_000 + number,
        mtime_ns: 1_000_000_000 * number as i64,
        born_ns: 0,
    };
    Entry {
        path: path.as_bytes().to_vec(),
        stat,
        content,
    }
}

fn listing() -> Listing {
    let listed = |target: &str| Listed {
        target: target.as_bytes().to_vec(),
        title: String::new(),
    };
    Listing {
        name: None,
        entries: ["../夜/夜.mp3", "gone.mp3", "../B/Über/1.flac"]
            .map(listed)
            .into(),
    }
}

fn library() -> Vec<Entry> {
    use Field::{
        Album, AlbumArtist, Artist, ArtistId, Artists, Bpm, Composer, Conductor, Date, Genre, Isrc,
        Label, Mixer, Mood, Performer, Producer, RecordingId, Title, TrackGain, TrackNumber,
        TrackPeak,
    };
    let metadata = PhotoMetadata {
        taken_local_s: Some(1_052_749_801),
        make: Some("Canon".to_owned()),
        lens: Some("EF 50mm".to_owned()),
        exposure: Exposure {
            time_ns: Some(4_000_000),
            f_number_e2: Some(180),
            iso: Some(400),
            focal_mm_e2: Some(5000),
        },
        offset_min: Some(120),
        places: vec![Place {
            sublocation: Some("Vesturbær".to_owned()),
            city: Some("Reykjavík".to_owned()),
            country: Some("Iceland".to_owned()),
            ..Place::default()
        }],
        ..PhotoMetadata::default()
    };
    let photo = Photo {
        width_px: 640,
        height_px: 480,
        metadata,
    };
    vec![
        music(
            1,
            "B/Über/2.flac",
            &[
                (Title, "Zweites Lied"),
                (Artist, "Björk"),
                (Album, "Über"),
                (TrackNumber, "2"),
                (Genre, "Pop"),
                (Date, "1997-09-22"),
            ],
        ),
        music(
            2,
            "B/Über/1.flac",
            &[
                (Title, "Erstes Lied"),
                (Artist, "Björk feat. Guest"),
                (Album, "Über"),
                (TrackNumber, "1"),
                (Artists, "Björk"),
                (Artists, "Guest"),
                (AlbumArtist, "Björk"),
                (Genre, "Pop; Rock"),
                (Date, "1997"),
                (Bpm, "120.4"),
                (Composer, "Guest"),
                (Producer, "Nobody Else"),
                (Performer, "Nobody Else (piano)"),
                (Performer, "björk (voice)"),
                (Mixer, "!!!"),
                (Conductor, "???"),
                (Isrc, "QM1"),
                (Label, "One <Little>"),
                (Mood, "Calm"),
                (RecordingId, "87c5dedd-371d-4a53-9f7f-80522fb7f3cb"),
                (TrackGain, "-7.25 dB"),
                (TrackPeak, "0.98"),
            ],
        ),
        music(
            3,
            "夜/夜.mp3",
            &[
                (Title, "夜"),
                (Artist, "The AC"),
                (Album, "Night"),
                (ArtistId, "66c662b6-6e2f-4930-8610-912e24c63ed1"),
            ],
        ),
        entry(4, "B/Über/cover.jpg", Content::Photo(Photo::default())),
        entry(5, "2003/a b.jpg", Content::Photo(photo)),
        entry(
            6,
            "broken.mp3",
            Content::Unreadable("no mpeg audio frame".to_owned()),
        ),
        entry(7, "Lists/Mix.m3u", Content::Listing(Box::new(listing()))),
    ]
}
