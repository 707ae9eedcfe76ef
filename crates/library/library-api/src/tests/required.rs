//! Members that the protocol's specification requires in each response. Each table lists names of
//! members and the types of their values.

use serde_json::Value;

use super::scene::{Scene, ids};

const CHILD: &[(&str, &str)] = &[
    ("id", "text"),
    ("isDir", "flag"),
    ("title", "text"),
    ("duration", "number"),
    ("size", "number"),
    ("suffix", "text"),
    ("contentType", "text"),
    ("isVideo", "flag"),
    ("mediaType", "text"),
    ("albumId", "text"),
    ("artistId", "text"),
    ("created", "text"),
    ("bitDepth", "number"),
    ("samplingRate", "number"),
    ("channelCount", "number"),
    ("bpm", "number"),
    ("sortName", "text"),
    ("musicBrainzId", "text"),
    ("isrc", "list"),
    ("genres", "list"),
    ("artists", "list"),
    ("displayArtist", "text"),
    ("albumArtists", "list"),
    ("displayAlbumArtist", "text"),
    ("contributors", "list"),
    ("displayComposer", "text"),
    ("moods", "list"),
    ("replayGain", "object"),
    ("explicitStatus", "text"),
];
const ALBUM: &[(&str, &str)] = &[
    ("id", "text"),
    ("name", "text"),
    ("songCount", "number"),
    ("duration", "number"),
    ("created", "text"),
    ("artist", "text"),
    ("artistId", "text"),
    ("genres", "list"),
    ("artists", "list"),
    ("recordLabels", "list"),
    ("releaseTypes", "list"),
    ("moods", "list"),
    ("discTitles", "list"),
    ("isCompilation", "flag"),
    ("originalReleaseDate", "object"),
    ("releaseDate", "object"),
    ("sortName", "text"),
    ("version", "text"),
];
const ARTIST: &[(&str, &str)] = &[
    ("id", "text"),
    ("name", "text"),
    ("albumCount", "number"),
    ("sortName", "text"),
    ("roles", "list"),
];
const PLAYLIST: &[(&str, &str)] = &[
    ("id", "text"),
    ("name", "text"),
    ("songCount", "number"),
    ("duration", "number"),
    ("created", "text"),
    ("changed", "text"),
    ("owner", "text"),
    ("public", "flag"),
];
const NAMED: &[(&str, &str)] = &[("id", "text"), ("name", "text")];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "flag",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Asserts that every object at `path` has these members. A `*` in the path stands for all items of
/// a list.
fn check(scene: &Scene, request: &str, path: &str, members: &[(&str, &str)]) {
    let response = scene.json(request);
    assert_eq!(response["status"], "ok", "{request}: {response}");
    let mut found = vec![&response];
    for step in path.split('/') {
        found = match step {
            "*" => found
                .iter()
                .flat_map(|it| it.as_array().expect("a list"))
                .collect(),
            name => found.iter().map(|it| &it[name]).collect(),
        };
    }
    assert!(
        !found.is_empty(),
        "{request}: nothing at {path} in {response}"
    );
    for thing in found {
        for (name, expected) in members {
            assert_eq!(
                kind(&thing[*name]),
                *expected,
                "{request}: {name} at {path} in {thing}"
            );
        }
    }
}

#[test]
fn every_answer_has_what_is_required() {
    let scene = Scene::new("required");
    let [artist, album, song] = ids(&scene);
    scene.ok(&format!("createPlaylist?name=a&songId={song}"));
    scene.ok(&format!("star?id={song}&id={album}&id={artist}"));
    scene.ok(&format!("scrobble?id={song}&submission=false"));
    scene.ok(&format!("savePlayQueue?id={song}&current={song}"));
    scene.ok(&format!("createBookmark?id={song}&position=1"));
    let list = scene.all("getPlaylists", "playlist.id").remove(0);
    let scan = &[
        ("scanning", "flag"),
        ("count", "number"),
        ("lastScan", "text"),
    ];
    let folder = &[("id", "number"), ("name", "text")];
    let extension = &[("name", "text"), ("versions", "list")];
    let genre = &[
        ("value", "text"),
        ("songCount", "number"),
        ("albumCount", "number"),
    ];
    let index = &[("name", "text"), ("artist", "list")];
    let user = &[
        ("username", "text"),
        ("adminRole", "flag"),
        ("folder", "list"),
    ];
    let queue = &[
        ("position", "number"),
        ("username", "text"),
        ("changed", "text"),
        ("changedBy", "text"),
    ];
    let playing = &[
        ("username", "text"),
        ("minutesAgo", "number"),
        ("playerId", "number"),
    ];
    let bookmark = &[
        ("position", "number"),
        ("username", "text"),
        ("created", "text"),
        ("changed", "text"),
    ];
    let directory = &[("id", "text"), ("isDir", "flag"), ("title", "text")];
    type Keys = &'static [(&'static str, &'static str)];
    let rows: &[(&str, &str, Keys)] = &[
        ("getLicense", "license", &[("valid", "flag")]),
        (
            "getOpenSubsonicExtensions",
            "openSubsonicExtensions/*",
            extension,
        ),
        ("getScanStatus", "scanStatus", scan),
        ("startScan", "scanStatus", scan),
        ("getMusicFolders", "musicFolders/musicFolder/*", folder),
        (
            "getIndexes",
            "indexes",
            &[("lastModified", "number"), ("ignoredArticles", "text")],
        ),
        ("getIndexes", "indexes/index/*/artist/*", NAMED),
        ("getArtists", "artists", &[("ignoredArticles", "text")]),
        ("getArtists", "artists/index/*", index),
        ("getArtists", "artists/index/*/artist/*", ARTIST),
        ("getGenres", "genres/genre/*", genre),
        ("getArtist?id=ARTIST", "artist", ARTIST),
        ("getArtist?id=ARTIST", "artist/album/*", ALBUM),
        ("getAlbum?id=ALBUM", "album", ALBUM),
        ("getAlbum?id=ALBUM", "album/song/*", CHILD),
        ("getSong?id=SONG", "song", CHILD),
        ("getMusicDirectory?id=ARTIST", "directory", NAMED),
        (
            "getMusicDirectory?id=ARTIST",
            "directory/child/*",
            directory,
        ),
        ("getMusicDirectory?id=ALBUM", "directory/child/*", CHILD),
        ("getAlbumList?type=newest", "albumList/album/*", directory),
        ("getAlbumList2?type=newest", "albumList2/album/*", ALBUM),
        ("getRandomSongs", "randomSongs/song/*", CHILD),
        ("getSongsByGenre?genre=Pop", "songsByGenre/song/*", CHILD),
        ("getSimilarSongs?id=SONG", "similarSongs/song/*", CHILD),
        ("getSimilarSongs2?id=ARTIST", "similarSongs2/song/*", CHILD),
        ("getTopSongs?artist=bjork", "topSongs/song/*", CHILD),
        ("getArtistInfo?id=ARTIST", "artistInfo", &[]),
        ("getArtistInfo2?id=ARTIST", "artistInfo2", &[]),
        ("getAlbumInfo2?id=ALBUM", "albumInfo", &[]),
        ("search2?query=", "searchResult2/album/*", directory),
        ("search2?query=", "searchResult2/song/*", CHILD),
        ("search3?query=", "searchResult3/artist/*", ARTIST),
        ("search3?query=", "searchResult3/album/*", ALBUM),
        ("search3?query=", "searchResult3/song/*", CHILD),
        ("getStarred", "starred/song/*", CHILD),
        ("getStarred", "starred/album/*", directory),
        ("getStarred2", "starred2/album/*", ALBUM),
        ("getStarred2", "starred2/artist/*", ARTIST),
        ("getNowPlaying", "nowPlaying/entry/*", CHILD),
        ("getNowPlaying", "nowPlaying/entry/*", playing),
        ("getPlaylists", "playlists/playlist/*", PLAYLIST),
        ("getPlaylist?id=LIST", "playlist", PLAYLIST),
        ("getPlaylist?id=LIST", "playlist/entry/*", CHILD),
        ("getPlayQueue", "playQueue", queue),
        ("getPlayQueue", "playQueue/entry/*", CHILD),
        (
            "getPlayQueueByIndex",
            "playQueueByIndex",
            &[("currentIndex", "number")],
        ),
        ("getBookmarks", "bookmarks/bookmark/*", bookmark),
        ("getBookmarks", "bookmarks/bookmark/*/entry", CHILD),
        (
            "getLyricsBySongId?id=SONG",
            "lyricsList/structuredLyrics/*",
            &[("lang", "text"), ("synced", "flag"), ("line", "list")],
        ),
        ("getUser?username=ann", "user", user),
        ("getUsers", "users/user/*", user),
    ];
    for (request, path, members) in rows {
        let request = request
            .replace("ARTIST", &artist)
            .replace("ALBUM", &album)
            .replace("SONG", &song)
            .replace("LIST", &list);
        check(&scene, &request, path, members);
    }
}

#[test]
fn an_answer_without_anything_in_it_has_what_is_required_too() {
    let scene = Scene::new("nothing");
    let queue = &[
        ("username", "text"),
        ("changed", "text"),
        ("changedBy", "text"),
        ("entry", "list"),
    ];
    check(&scene, "getPlayQueue", "playQueue", queue);
    check(&scene, "getPlayQueueByIndex", "playQueueByIndex", queue);
    check(
        &scene,
        "getLyrics?title=none",
        "lyrics",
        &[("value", "text")],
    );
}
