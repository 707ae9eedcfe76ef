//! Tests of the Subsonic endpoints, with a small library.

mod api;
mod derived;
mod files;
mod login;
mod named;
mod openapi;
mod page;
mod photos;
mod playlists;
mod renamed;
mod required;
mod scene;
mod sessions;
mod shares;
mod transcoding;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::store::Change;
use crate::{Limits, Response};
use scene::{Scene, ids};

fn check(scene: &Scene, request: &str, expected: Expect) {
    expected.assert_eq(&scene.ask(request));
}

#[test]
fn the_envelope_is_the_documented_one_in_every_form() {
    let scene = Scene::new("envelope");
    check(
        &scene,
        "ping.view",
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"/>"#]],
    );
    check(
        &scene,
        "ping?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true}}"#
        ]],
    );
    check(
        &scene,
        "ping?f=jsonp&callback=a.b_1",
        expect![[
            r#"/**/a.b_1({"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true}});"#
        ]],
    );
    check(
        &scene,
        "ping?f=jsonp&callback=alert(1)",
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="failed" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><error code="0" message="parameter callback is invalid"/></subsonic-response>"#]],
    );
    check(
        &scene,
        "ping?f=yaml",
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <subsonic-response xmlns="http://subsonic.org/restapi" status="failed" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><error code="0" message="parameter f is invalid"/></subsonic-response>"#]],
    );
    check(
        &scene,
        "getLicense?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"license":{"valid":true}}}"#
        ]],
    );
    check(
        &scene,
        "getSomething?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":70,"message":"this server has no such endpoint"}}}"#
        ]],
    );
    check(
        &scene,
        "getSong?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":10,"message":"required parameter id is missing"}}}"#
        ]],
    );
    check(
        &scene,
        "getSong?f=json&id=tr-0000000000000099",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":70,"message":"no such song"}}}"#
        ]],
    );
    check(
        &scene,
        "getOpenSubsonicExtensions?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"openSubsonicExtensions":[{"name":"apiKeyAuthentication","versions":[1]},{"name":"formPost","versions":[1]},{"name":"indexBasedQueue","versions":[1]},{"name":"playbackReport","versions":[1]},{"name":"songLyrics","versions":[1]},{"name":"transcodeOffset","versions":[1]},{"name":"transcoding","versions":[1]}]}}"#
        ]],
    );
}

#[test]
fn no_login_succeeds_before_a_user_exists() {
    let scene = Scene::empty("nobody");
    check(
        &scene,
        "ping?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":40,"message":"there are no users yet: on the server, run `pelton user add NAME`"}}}"#
        ]],
    );
    let open = scene.ask_as("getOpenSubsonicExtensions?f=json", "");
    assert!(open.contains("\"status\":\"ok\""), "{open}");
}

#[test]
fn music_is_browsed_by_tags_and_as_folders() {
    let scene = Scene::new("browse");
    check(
        &scene,
        "getMusicFolders?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"musicFolders":{"musicFolder":[{"id":1,"name":"Music"}]}}}"#
        ]],
    );
    check(
        &scene,
        "getArtists",
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><artists ignoredArticles="The El La Los Las Le Les Der Die Das"><index name="A"><artist id="ar-db9de296a7fd9400" name="The AC" coverArt="ar-db9de296a7fd9400" albumCount="1" musicBrainzId="66c662b6-6e2f-4930-8610-912e24c63ed1" sortName=""><roles>artist</roles><roles>albumartist</roles></artist></index><index name="B"><artist id="ar-6bc24f25fc255825" name="Björk" coverArt="ar-6bc24f25fc255825" albumCount="1" musicBrainzId="" sortName=""><roles>artist</roles><roles>albumartist</roles></artist></index></artists></subsonic-response>"#]],
    );
    check(
        &scene,
        "getIndexes",
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><indexes lastModified="3000" ignoredArticles="The El La Los Las Le Les Der Die Das"><index name="A"><artist id="ar-db9de296a7fd9400" name="The AC" coverArt="ar-db9de296a7fd9400"/></index><index name="B"><artist id="ar-6bc24f25fc255825" name="Björk" coverArt="ar-6bc24f25fc255825"/></index></indexes></subsonic-response>"#]],
    );
    check(
        &scene,
        "getGenres",
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><genres><genre songCount="2" albumCount="1">Pop</genre><genre songCount="1" albumCount="1">Rock</genre></genres></subsonic-response>"#]],
    );
    let [artist, album, song] = ids(&scene);
    check(
        &scene,
        &format!("getArtist?id={artist}"),
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><artist id="ar-6bc24f25fc255825" name="Björk" coverArt="ar-6bc24f25fc255825" albumCount="1" musicBrainzId="" sortName=""><roles>artist</roles><roles>albumartist</roles><album id="al-c75012c5b671ac4d" name="Über" artist="Björk" artistId="ar-6bc24f25fc255825" coverArt="al-c75012c5b671ac4d" songCount="2" duration="183" created="1970-01-01T00:00:02.000Z" year="1997" genre="Pop" playCount="0" sortName="" displayArtist="Björk" isCompilation="false" musicBrainzId="" version=""><recordLabels name="One &lt;Little&gt;"/><genres name="Pop"/><genres name="Rock"/><artists id="ar-6bc24f25fc255825" name="Björk"/><moods>Calm</moods><originalReleaseDate/><releaseDate year="1997"/></album></artist></subsonic-response>"#]],
    );
    check(
        &scene,
        &format!("getAlbum?f=json&id={album}"),
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"album":{"id":"al-c75012c5b671ac4d","name":"Über","artist":"Björk","artistId":"ar-6bc24f25fc255825","coverArt":"al-c75012c5b671ac4d","songCount":2,"duration":183,"created":"1970-01-01T00:00:02.000Z","year":1997,"genre":"Pop","playCount":0,"sortName":"","displayArtist":"Björk","isCompilation":false,"musicBrainzId":"","version":"","recordLabels":[{"name":"One <Little>"}],"genres":[{"name":"Pop"},{"name":"Rock"}],"artists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"releaseTypes":[],"moods":["Calm"],"originalReleaseDate":{},"releaseDate":{"year":1997},"discTitles":[],"song":[{"id":"tr-0000000000000002","parent":"al-c75012c5b671ac4d","isDir":false,"title":"Erstes Lied","album":"Über","artist":"Björk feat. Guest","track":1,"year":1997,"size":30000002,"contentType":"audio/flac","suffix":"flac","duration":122,"bitRate":900,"path":"B/Über/1.flac","created":"1970-01-01T00:00:02.000Z","genre":"Pop","coverArt":"tr-0000000000000002","isVideo":false,"type":"music","mediaType":"song","albumId":"al-c75012c5b671ac4d","artistId":"ar-6bc24f25fc255825","playCount":0,"bitDepth":16,"samplingRate":44100,"channelCount":2,"bpm":120,"sortName":"","musicBrainzId":"87c5dedd-371d-4a53-9f7f-80522fb7f3cb","explicitStatus":"","displayArtist":"Björk feat. Guest","displayAlbumArtist":"Björk","displayComposer":"Guest","isrc":["QM1"],"genres":[{"name":"Pop"},{"name":"Rock"}],"artists":[{"id":"ar-6bc24f25fc255825","name":"Björk"},{"id":"ar-69bc8516676d4673","name":"Guest"}],"albumArtists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"contributors":[{"role":"composer","artist":{"id":"ar-69bc8516676d4673","name":"Guest"}},{"role":"conductor","artist":{"id":"ar-1a0c56eb048ef455","name":"???"}},{"role":"performer","subRole":"piano","artist":{"id":"ar-5cb408083c60a8a4","name":"Nobody Else"}},{"role":"performer","subRole":"voice","artist":{"id":"ar-6bc24f25fc255825","name":"Björk"}},{"role":"producer","artist":{"id":"ar-5cb408083c60a8a4","name":"Nobody Else"}},{"role":"mixer","artist":{"id":"ar-48b4c8d8e16275b4","name":"!!!"}}],"moods":["Calm"],"groupings":[],"replayGain":{"trackGain":-7.25,"trackPeak":0.98}},{"id":"tr-0000000000000001","parent":"al-c75012c5b671ac4d","isDir":false,"title":"Zweites Lied","album":"Über","artist":"Björk","track":2,"year":1997,"size":30000001,"contentType":"audio/flac","suffix":"flac","duration":61,"bitRate":900,"path":"B/Über/2.flac","created":"1970-01-01T00:00:01.000Z","genre":"Pop","coverArt":"tr-0000000000000001","isVideo":false,"type":"music","mediaType":"song","albumId":"al-c75012c5b671ac4d","artistId":"ar-6bc24f25fc255825","playCount":0,"bitDepth":16,"samplingRate":44100,"channelCount":2,"bpm":0,"sortName":"","musicBrainzId":"","explicitStatus":"","displayArtist":"Björk","displayAlbumArtist":"Björk","displayComposer":"","isrc":[],"genres":[{"name":"Pop"}],"artists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"albumArtists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"contributors":[],"moods":[],"groupings":[],"replayGain":{}}]}}}"#
        ]],
    );
    check(
        &scene,
        &format!("getSong?id={song}"),
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><song id="tr-0000000000000002" parent="al-c75012c5b671ac4d" isDir="false" title="Erstes Lied" album="Über" artist="Björk feat. Guest" track="1" year="1997" size="30000002" contentType="audio/flac" suffix="flac" duration="122" bitRate="900" path="B/Über/1.flac" created="1970-01-01T00:00:02.000Z" genre="Pop" coverArt="tr-0000000000000002" isVideo="false" type="music" mediaType="song" albumId="al-c75012c5b671ac4d" artistId="ar-6bc24f25fc255825" playCount="0" bitDepth="16" samplingRate="44100" channelCount="2" bpm="120" sortName="" musicBrainzId="87c5dedd-371d-4a53-9f7f-80522fb7f3cb" explicitStatus="" displayArtist="Björk feat. Guest" displayAlbumArtist="Björk" displayComposer="Guest"><isrc>QM1</isrc><genres name="Pop"/><genres name="Rock"/><artists id="ar-6bc24f25fc255825" name="Björk"/><artists id="ar-69bc8516676d4673" name="Guest"/><albumArtists id="ar-6bc24f25fc255825" name="Björk"/><contributors role="composer"><artist id="ar-69bc8516676d4673" name="Guest"/></contributors><contributors role="conductor"><artist id="ar-1a0c56eb048ef455" name="???"/></contributors><contributors role="performer" subRole="piano"><artist id="ar-5cb408083c60a8a4" name="Nobody Else"/></contributors><contributors role="performer" subRole="voice"><artist id="ar-6bc24f25fc255825" name="Björk"/></contributors><contributors role="producer"><artist id="ar-5cb408083c60a8a4" name="Nobody Else"/></contributors><contributors role="mixer"><artist id="ar-48b4c8d8e16275b4" name="!!!"/></contributors><moods>Calm</moods><replayGain trackGain="-7.25" trackPeak="0.98"/></song></subsonic-response>"#]],
    );
    check(
        &scene,
        &format!("getMusicDirectory?id={artist}"),
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><directory id="ar-6bc24f25fc255825" name="Björk" coverArt="ar-6bc24f25fc255825"><child id="al-c75012c5b671ac4d" parent="ar-6bc24f25fc255825" isDir="true" title="Über" album="Über" artist="Björk" artistId="ar-6bc24f25fc255825" coverArt="al-c75012c5b671ac4d" songCount="2" duration="183" created="1970-01-01T00:00:02.000Z" year="1997" genre="Pop" playCount="0"/></directory></subsonic-response>"#]],
    );
    check(
        &scene,
        &format!("getMusicDirectory?f=json&id={album}"),
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"directory":{"id":"al-c75012c5b671ac4d","parent":"ar-6bc24f25fc255825","name":"Über","child":[{"id":"tr-0000000000000002","parent":"al-c75012c5b671ac4d","isDir":false,"title":"Erstes Lied","album":"Über","artist":"Björk feat. Guest","track":1,"year":1997,"size":30000002,"contentType":"audio/flac","suffix":"flac","duration":122,"bitRate":900,"path":"B/Über/1.flac","created":"1970-01-01T00:00:02.000Z","genre":"Pop","coverArt":"tr-0000000000000002","isVideo":false,"type":"music","mediaType":"song","albumId":"al-c75012c5b671ac4d","artistId":"ar-6bc24f25fc255825","playCount":0,"bitDepth":16,"samplingRate":44100,"channelCount":2,"bpm":120,"sortName":"","musicBrainzId":"87c5dedd-371d-4a53-9f7f-80522fb7f3cb","explicitStatus":"","displayArtist":"Björk feat. Guest","displayAlbumArtist":"Björk","displayComposer":"Guest","isrc":["QM1"],"genres":[{"name":"Pop"},{"name":"Rock"}],"artists":[{"id":"ar-6bc24f25fc255825","name":"Björk"},{"id":"ar-69bc8516676d4673","name":"Guest"}],"albumArtists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"contributors":[{"role":"composer","artist":{"id":"ar-69bc8516676d4673","name":"Guest"}},{"role":"conductor","artist":{"id":"ar-1a0c56eb048ef455","name":"???"}},{"role":"performer","subRole":"piano","artist":{"id":"ar-5cb408083c60a8a4","name":"Nobody Else"}},{"role":"performer","subRole":"voice","artist":{"id":"ar-6bc24f25fc255825","name":"Björk"}},{"role":"producer","artist":{"id":"ar-5cb408083c60a8a4","name":"Nobody Else"}},{"role":"mixer","artist":{"id":"ar-48b4c8d8e16275b4","name":"!!!"}}],"moods":["Calm"],"groupings":[],"replayGain":{"trackGain":-7.25,"trackPeak":0.98}},{"id":"tr-0000000000000001","parent":"al-c75012c5b671ac4d","isDir":false,"title":"Zweites Lied","album":"Über","artist":"Björk","track":2,"year":1997,"size":30000001,"contentType":"audio/flac","suffix":"flac","duration":61,"bitRate":900,"path":"B/Über/2.flac","created":"1970-01-01T00:00:01.000Z","genre":"Pop","coverArt":"tr-0000000000000001","isVideo":false,"type":"music","mediaType":"song","albumId":"al-c75012c5b671ac4d","artistId":"ar-6bc24f25fc255825","playCount":0,"bitDepth":16,"samplingRate":44100,"channelCount":2,"bpm":0,"sortName":"","musicBrainzId":"","explicitStatus":"","displayArtist":"Björk","displayAlbumArtist":"Björk","displayComposer":"","isrc":[],"genres":[{"name":"Pop"}],"artists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"albumArtists":[{"id":"ar-6bc24f25fc255825","name":"Björk"}],"contributors":[],"moods":[],"groupings":[],"replayGain":{}}]}}}"#
        ]],
    );
    check(
        &scene,
        &format!("getArtist?f=json&id={album}"),
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":70,"message":"no such artist"}}}"#
        ]],
    );
}

#[test]
fn everybody_who_took_part_is_named_and_only_artists_are_shown() {
    let scene = Scene::new("people");
    let [_, _, song] = ids(&scene);
    let song = scene.json(&format!("getSong?id={song}"));
    let people = song["song"]["contributors"].as_array().expect("a list");
    let described = people.iter().map(|person| {
        let artist = &person["artist"];
        let id = artist["id"].as_str().expect("text");
        assert_eq!(id.len(), "ar-".len() + 16, "{id}");
        let opened = scene.json(&format!("getArtist?id={id}"));
        let (error, roles) = (&opened["error"]["code"], &opened["artist"]["roles"]);
        format!(
            "{} {} {} {error} {roles}\n",
            person["role"], person["subRole"], artist["name"]
        )
    });
    expect![[r#"
        "composer" null "Guest" null ["artist","composer"]
        "conductor" null "???" null ["conductor"]
        "performer" "piano" "Nobody Else" 70 null
        "performer" "voice" "Björk" null ["artist","albumartist"]
        "producer" null "Nobody Else" 70 null
        "mixer" null "!!!" 70 null
    "#]]
    .assert_eq(&described.collect::<String>());
    // A person has the same id in all tracks. People have different ids even if their names contain
    // only characters that searches ignore.
    let artists = people.iter().map(|person| &person["artist"]);
    let mut artists: Vec<String> = artists.map(Value::to_string).collect();
    artists.sort();
    artists.dedup();
    assert_eq!(artists.len(), 5, "{artists:?}");
}

#[test]
fn a_search_for_nothing_pages_through_everything() {
    let scene = Scene::new("search");
    let titles = |request: &str| scene.all(request, "song.title");
    assert_eq!(
        titles("search3?query=lied"),
        ["Erstes Lied", "Zweites Lied"]
    );
    assert_eq!(titles("search3?query=LIED+zw*"), ["Zweites Lied"]);
    assert!(titles("search3?query=nothing").is_empty());
    let all = titles("search3?query=&songCount=500");
    assert_eq!(all.len(), 3);
    assert_eq!(titles("search3?query=%22%22&songCount=500"), all);
    let paged: Vec<String> = (0..4)
        .flat_map(|at| titles(&format!("search3?query=&songCount=1&songOffset={at}")))
        .collect();
    assert_eq!(paged, all);
    assert_eq!(titles("search2?query=&albumCount=0&artistCount=0"), all);
    // One trailing asterisk searches for a prefix; three asterisks search for a name that no song
    // has.
    assert_eq!(scene.all("search3?query=*", "song.id").len(), 3);
    assert_eq!(scene.all("search3?query=erst*", "song.id").len(), 1);
    assert_eq!(scene.all("search3?query=***", "song.id").len(), 0);
}

#[test]
fn lists_are_in_their_order() {
    let scene = Scene::new("lists");
    let albums = |request: &str| scene.all(&format!("getAlbumList2?{request}"), "album.name");
    assert_eq!(albums("type=alphabeticalByName"), ["Night", "Über"]);
    assert_eq!(albums("type=alphabeticalByArtist"), ["Über", "Night"]);
    assert_eq!(albums("type=newest"), ["Night", "Über"]);
    assert_eq!(albums("type=byYear&fromYear=1990&toYear=2000"), ["Über"]);
    assert_eq!(albums("type=byGenre&genre=rock"), ["Über"]);
    assert_eq!(albums("type=random").len(), 2);
    assert_eq!(albums("type=alphabeticalByName&size=1&offset=1"), ["Über"]);
    assert!(albums("type=frequent").is_empty());
    check(
        &scene,
        "getAlbumList2?f=json&type=odd",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":0,"message":"parameter type is invalid"}}}"#
        ]],
    );
    assert_eq!(scene.all("getRandomSongs?size=2", "song.title").len(), 2);
    assert_eq!(scene.all("getRandomSongs?genre=Pop", "song.title").len(), 2);
    assert_eq!(
        scene.all("getSongsByGenre?genre=rock", "song.title"),
        ["Erstes Lied"]
    );
    let [artist, _, song] = ids(&scene);
    assert_eq!(
        scene
            .all(&format!("getSimilarSongs2?id={artist}"), "song.title")
            .len(),
        2
    );
    assert_eq!(
        scene
            .all(&format!("getSimilarSongs?id={song}"), "song.title")
            .len(),
        2
    );
    assert_eq!(
        scene
            .all("getTopSongs?artist=Bj%C3%B6rk", "song.title")
            .len(),
        2
    );
}

#[test]
fn stars_ratings_and_plays_are_kept_by_user() {
    let scene = Scene::new("marks");
    let [artist, album, song] = ids(&scene);
    scene.ok(&format!("star?id={song}&albumId={album}&artistId={artist}"));
    scene.ok(&format!("setRating?id={song}&rating=4"));
    scene.ok(&format!("scrobble?id={song}&time=900000"));
    scene.ok(&format!(
        "scrobble?id={song}&id={song}&time=800000&time=87400000"
    ));
    scene.ok(&format!("scrobble?id={song}&submission=false&c=phone"));
    check(
        &scene,
        &format!("getSong?id={song}"),
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><song id="tr-0000000000000002" parent="al-c75012c5b671ac4d" isDir="false" title="Erstes Lied" album="Über" artist="Björk feat. Guest" track="1" year="1997" size="30000002" contentType="audio/flac" suffix="flac" duration="122" bitRate="900" path="B/Über/1.flac" created="1970-01-01T00:00:02.000Z" genre="Pop" coverArt="tr-0000000000000002" isVideo="false" type="music" mediaType="song" albumId="al-c75012c5b671ac4d" artistId="ar-6bc24f25fc255825" playCount="3" played="1970-01-01T00:16:40.000Z" userRating="4" starred="1970-01-01T00:16:40.000Z" bitDepth="16" samplingRate="44100" channelCount="2" bpm="120" sortName="" musicBrainzId="87c5dedd-371d-4a53-9f7f-80522fb7f3cb" explicitStatus="" displayArtist="Björk feat. Guest" displayAlbumArtist="Björk" displayComposer="Guest"><isrc>QM1</isrc><genres name="Pop"/><genres name="Rock"/><artists id="ar-6bc24f25fc255825" name="Björk"/><artists id="ar-69bc8516676d4673" name="Guest"/><albumArtists id="ar-6bc24f25fc255825" name="Björk"/><contributors role="composer"><artist id="ar-69bc8516676d4673" name="Guest"/></contributors><contributors role="conductor"><artist id="ar-1a0c56eb048ef455" name="???"/></contributors><contributors role="performer" subRole="piano"><artist id="ar-5cb408083c60a8a4" name="Nobody Else"/></contributors><contributors role="performer" subRole="voice"><artist id="ar-6bc24f25fc255825" name="Björk"/></contributors><contributors role="producer"><artist id="ar-5cb408083c60a8a4" name="Nobody Else"/></contributors><contributors role="mixer"><artist id="ar-48b4c8d8e16275b4" name="!!!"/></contributors><moods>Calm</moods><replayGain trackGain="-7.25" trackPeak="0.98"/></song></subsonic-response>"#]],
    );
    assert_eq!(scene.all("getStarred2", "song.title"), ["Erstes Lied"]);
    assert_eq!(
        scene.all("getAlbumList2?type=starred", "album.name"),
        ["Über"]
    );
    assert_eq!(
        scene.all("getAlbumList2?type=frequent", "album.name"),
        ["Über"]
    );
    assert_eq!(scene.all("getNowPlaying", "entry.playerName"), ["phone"]);
    // Another user sees no stars, ratings or plays of the first user.
    let other = scene.ask_as(&format!("getSong?id={song}"), "u=bob&p=secret");
    assert!(
        other.contains("playCount=\"0\"") && !other.contains("starred"),
        "{other}"
    );
    // Another server with the same data directory reads all stars, ratings and plays.
    let again = scene.again();
    assert_eq!(
        again.ask(&format!("getSong?id={song}")),
        scene.ask(&format!("getSong?id={song}"))
    );
    scene.ok(&format!("unstar?id={song}"));
    scene.ok(&format!("setRating?id={song}&rating=0"));
    assert!(scene.all("getStarred2", "song.title").is_empty());
    check(
        &scene,
        &format!("setRating?f=json&id={song}&rating=6"),
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":0,"message":"parameter rating is invalid"}}}"#
        ]],
    );
    check(
        &scene,
        "star?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":10,"message":"required parameter id is missing"}}}"#
        ]],
    );
    // Timestamps before 1970, timestamps more than a day in the future, and text are refused.
    for time in ["-1", "87400001", "soon"] {
        let refused = scene.ask(&format!("scrobble?id={song}&time={time}"));
        assert!(refused.contains("code=\"0\""), "{time}: {refused}");
    }
    check(
        &scene,
        "scrobble?f=json&id=tr-0000000000000099",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":70,"message":"no such song"}}}"#
        ]],
    );
}

#[test]
fn playlists_are_made_changed_and_shared() {
    let scene = Scene::new("playlists");
    let [_, album, song] = ids(&scene);
    scene.ok(&format!(
        "createPlaylist?name=A+%26+B&songId={song}&songId={song}"
    ));
    let list = scene.all("getPlaylists", "playlist.id").remove(0);
    assert!(list.starts_with("pl-"), "{list}");
    let titles = || scene.all(&format!("getPlaylist?id={list}"), "entry.title");
    assert_eq!(titles(), ["Erstes Lied", "Erstes Lied"]);
    scene.ok(&format!(
        "updatePlaylist?playlistId={list}&songIndexToRemove=0&songIdToAdd={album}&comment=c"
    ));
    assert_eq!(titles(), ["Erstes Lied", "Erstes Lied", "Zweites Lied"]);
    scene.ok(&format!("createPlaylist?playlistId={list}&songId={song}"));
    assert_eq!(titles(), ["Erstes Lied"]);
    let as_bob = |request: &str| scene.ask_as(request, "u=bob&p=secret");
    let hidden = as_bob(&format!("getPlaylist?id={list}"));
    assert!(hidden.contains("code=\"70\""), "{hidden}");
    scene.ok(&format!("updatePlaylist?playlistId={list}&public=true"));
    assert!(as_bob(&format!("getPlaylist?id={list}")).contains("Erstes Lied"));
    let refused = as_bob(&format!("deletePlaylist?id={list}"));
    assert!(refused.contains("code=\"50\""), "{refused}");
    check(
        &scene,
        "createPlaylist?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":10,"message":"required parameter name is missing"}}}"#
        ]],
    );
    assert!(scene.ask("getPlaylist").contains("code=\"10\""));
    assert!(
        scene
            .ask("getPlaylist?playlistId=x")
            .contains("code=\"10\"")
    );
    scene.ok(&format!("deletePlaylist?id={list}"));
    let left = scene.all("getPlaylists", "playlist.id");
    assert!(left.iter().all(|id| id.starts_with("pf-")), "{left:?}");
}

#[test]
fn an_admin_sees_the_playlists_of_a_user() {
    let scene = Scene::new("of-user");
    let as_bob = |request: &str| scene.ask_as(request, "u=bob&p=secret");
    as_bob("createPlaylist?name=Bob's");
    scene.ok("createPlaylist?name=Ann's");
    scene.ok("createPlaylist?name=Shared");
    let list = scene.all("getPlaylists", "playlist.id").into_iter();
    let shared = list.zip(scene.all("getPlaylists", "playlist.name"));
    let (shared, _) = shared
        .into_iter()
        .find(|(_, name)| name == "Shared")
        .expect("it was made");
    scene.ok(&format!("updatePlaylist?playlistId={shared}&public=true"));
    let names = |request: &str| {
        let mut names = scene.all(request, "playlist.name");
        names.sort();
        names
    };
    assert_eq!(names("getPlaylists"), ["Ann's", "Mix", "Shared"]);
    assert_eq!(names("getPlaylists?username=ann"), names("getPlaylists"));
    assert_eq!(names("getPlaylists?username="), names("getPlaylists"));
    assert_eq!(
        names("getPlaylists?username=bob"),
        ["Bob's", "Mix", "Shared"]
    );
    assert!(
        scene
            .ask("getPlaylists?username=eve")
            .contains("code=\"70\"")
    );
    let list = scene
        .all("getPlaylists?username=bob", "playlist.id")
        .into_iter();
    let list = list.zip(scene.all("getPlaylists?username=bob", "playlist.name"));
    let (bobs, _) = list
        .into_iter()
        .find(|(_, name)| name == "Bob's")
        .expect("it was made");
    assert!(
        scene
            .ask(&format!("getPlaylist?id={bobs}"))
            .contains("Bob's")
    );
    let refused = scene.ask(&format!("deletePlaylist?id={bobs}"));
    assert!(refused.contains("code=\"50\""), "{refused}");
    assert!(as_bob("getPlaylists?username=bob").contains("Bob's"));
    // The error does not reveal whether a user exists.
    for other in ["ann", "eve"] {
        let refused = as_bob(&format!("getPlaylists?username={other}"));
        assert!(refused.contains("code=\"50\""), "{refused}");
    }
}

#[test]
fn playlists_in_files_are_shown_to_all_and_cannot_be_changed() {
    let scene = Scene::new("listings");
    let list = scene.all("getPlaylists", "playlist.id").remove(0);
    let titles = scene.all(&format!("getPlaylist?id={list}"), "entry.title");
    assert_eq!(titles, ["夜", "Erstes Lied"]);
    check(
        &scene,
        "getPlaylists?f=json",
        expect![[
            r#"{"subsonic-response":{"status":"ok","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"playlists":{"playlist":[{"id":"pf-411f854cbbae90f9","name":"Mix","comment":"Lists/Mix.m3u","owner":"","public":true,"readonly":true,"songCount":2,"duration":305,"created":"1970-01-01T00:00:07.000Z","changed":"1970-01-01T00:00:07.000Z","coverArt":"pf-411f854cbbae90f9"}]}}}"#
        ]],
    );
    let as_bob = scene.ask_as("getPlaylists", "u=bob&p=secret");
    assert!(as_bob.contains(&list), "{as_bob}");
    let cover = scene.respond(&format!("getCoverArt?id={list}&size=9"), "u=ann&p=sesame");
    let Response::File { target, .. } = cover else {
        panic!("a picture");
    };
    assert!(target.starts_with("/cover/Track("), "{target}");
    for change in [
        "deletePlaylist?id=",
        "updatePlaylist?name=x&playlistId=",
        "createPlaylist?playlistId=",
    ] {
        let refused = scene.ask(&format!("{change}{list}"));
        assert!(refused.contains("code=\"50\""), "{change}: {refused}");
    }
    let unknown = scene.ask("deletePlaylist?id=pf-0000000000000001");
    assert!(unknown.contains("code=\"70\""), "{unknown}");
    let star = scene.ask(&format!("star?id={list}"));
    assert!(star.contains("code=\"70\""), "{star}");
}

#[test]
fn queues_bookmarks_and_stations_are_kept() {
    let scene = Scene::new("queues");
    let [_, _, song] = ids(&scene);
    let second = scene
        .all("search3?query=zweites", "song.id")
        .pop()
        .expect("it is there");
    scene.ok(&format!(
        "savePlayQueue?id={song}&id={second}&current={second}&position=5000&c=phone"
    ));
    assert_eq!(
        scene.all("getPlayQueue", "entry.title"),
        ["Erstes Lied", "Zweites Lied"]
    );
    assert_eq!(
        scene.all("getPlayQueue", "playQueue.current"),
        std::slice::from_ref(&second)
    );
    assert!(
        scene
            .ask("getPlayQueueByIndex")
            .contains("currentIndex=\"1\"")
    );
    check(
        &scene,
        &format!("savePlayQueue?f=json&id={song}&current={second}"),
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":0,"message":"parameter current is invalid"}}}"#
        ]],
    );
    check(
        &scene,
        &format!("savePlayQueueByIndex?f=json&id={song}&currentIndex=1"),
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":0,"message":"parameter currentIndex is invalid"}}}"#
        ]],
    );
    scene.ok(&format!(
        "savePlayQueueByIndex?id={song}&id={song}&currentIndex=1"
    ));
    assert!(
        scene
            .ask("getPlayQueueByIndex")
            .contains("currentIndex=\"1\"")
    );
    scene.ok("savePlayQueue");
    assert!(scene.all("getPlayQueue", "entry.title").is_empty());
    scene.ok(&format!(
        "createBookmark?id={song}&position=1234&comment=here"
    ));
    assert_eq!(scene.all("getBookmarks", "bookmark.comment"), ["here"]);
    let refused = scene.ask(&format!("createBookmark?id={song}&position=-1"));
    assert!(refused.contains("code=\"0\""), "{refused}");
    let refused = scene.ask(&format!("savePlayQueue?id={song}&position=-1"));
    assert!(refused.contains("code=\"0\""), "{refused}");
    scene.ok(&format!("deleteBookmark?id={song}"));
    assert!(scene.all("getBookmarks", "bookmark.comment").is_empty());
    scene.ok("createInternetRadioStation?name=R&streamUrl=http://r/");
    let station = scene
        .all("getInternetRadioStations", "internetRadioStation.id")
        .remove(0);
    check(
        &scene,
        "createInternetRadioStation?f=json&name=R&streamUrl=file:///",
        expect![[
            r#"{"subsonic-response":{"status":"failed","version":"1.16.1","type":"pelton","serverVersion":"0.1.0","openSubsonic":true,"error":{"code":0,"message":"parameter streamUrl is invalid"}}}"#
        ]],
    );
    scene.ok(&format!(
        "updateInternetRadioStation?id={station}&name=S&streamUrl=https://s/"
    ));
    assert_eq!(
        scene.all("getInternetRadioStations", "internetRadioStation.name"),
        ["S"]
    );
    scene.ok(&format!("deleteInternetRadioStation?id={station}"));
}

#[test]
fn files_covers_and_lyrics_are_found() {
    let scene = Scene::new("files");
    let [artist, album, song] = ids(&scene);
    let file = |request: &str| match scene.respond(request, "u=ann&p=sesame") {
        Response::File {
            target,
            disposition,
        } => format!("{target} {disposition:?}"),
        Response::Document { body, .. } => body,
        other => panic!("{request} is no file: {other:?}"),
    };
    assert_eq!(
        file(&format!("stream?id={song}")),
        "/B/%C3%9Cber/1.flac None"
    );
    assert_eq!(
        file(&format!("download?id={song}")),
        "/B/%C3%9Cber/1.flac Some(\"attachment; filename*=UTF-8''1.flac\")"
    );
    assert_eq!(
        file(&format!("getCoverArt?id={album}")),
        "/cover/Album(1)? None"
    );
    assert_eq!(
        file(&format!("getCoverArt?id={artist}&size=99999")),
        "/cover/Artist(1)?w=4096&h=4096&fit=inside None"
    );
    assert!(file("stream?id=tr-0000000000000099").contains("code=\"70\""));
    check(
        &scene,
        &format!("getLyricsBySongId?id={song}"),
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><lyricsList><structuredLyrics lang="und" synced="true" offset="-80" displayArtist="Björk feat. Guest" displayTitle="Erstes Lied"><line start="1500">Erste &lt;Zeile&gt;</line><line start="62003">zweite</line></structuredLyrics><structuredLyrics lang="und" synced="false" displayArtist="Björk feat. Guest" displayTitle="Erstes Lied"><line>First line</line></structuredLyrics></lyricsList></subsonic-response>"#]],
    );
    check(
        &scene,
        "getLyrics?title=erstes+lied&artist=bjork",
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><lyrics artist="Björk feat. Guest" title="Erstes Lied">Erste &lt;Zeile&gt;&#10;zweite</lyrics></subsonic-response>"#]],
    );
    check(
        &scene,
        "getLyrics?title=other",
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><lyrics></lyrics></subsonic-response>"#]],
    );
}

#[test]
fn users_are_administered_by_those_who_may() {
    let scene = Scene::new("users");
    let as_bob = |request: &str| scene.ask_as(request, "u=bob&p=secret");
    check(
        &scene,
        "getUser?username=ann",
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <subsonic-response xmlns="http://subsonic.org/restapi" status="ok" version="1.16.1" type="pelton" serverVersion="0.1.0" openSubsonic="true"><user username="ann" scrobblingEnabled="true" adminRole="true" settingsRole="true" downloadRole="true" uploadRole="false" playlistRole="true" coverArtRole="false" commentRole="false" podcastRole="false" streamRole="true" jukeboxRole="false" shareRole="true" videoConversionRole="false"><folder>1</folder></user></subsonic-response>"#]],
    );
    assert!(as_bob("getUser?username=ann").contains("code=\"50\""));
    assert!(as_bob("getUsers").contains("code=\"50\""));
    assert!(as_bob("createUser?username=eve&password=x").contains("code=\"50\""));
    scene.ok("createUser?username=eve&password=enc:78&email=e@e");
    assert!(scene.ask_as("ping", "u=eve&p=x").contains("\"ok\""));
    scene.ok("changePassword?username=eve&password=y");
    assert!(scene.ask_as("ping", "u=eve&p=x").contains("code=\"40\""));
    scene.ok("deleteUser?username=eve");
    assert!(scene.ask_as("ping", "u=eve&p=y").contains("code=\"40\""));
    assert!(scene.ask("deleteUser?username=ann").contains("code=\"50\""));
    let key = scene.store().add_key("bob", "phone", 1).expect("a key");
    assert!(
        scene
            .ask_as("tokenInfo", &format!("apiKey={key}"))
            .contains("\"bob\"")
    );
    scene
        .store()
        .remove_key("bob", "phone")
        .expect("it was there");
    assert!(
        scene
            .ask_as("ping", &format!("apiKey={key}"))
            .contains("code=\"44\"")
    );
}

#[test]
fn who_guesses_passwords_has_to_wait() {
    let scene = Scene::new("guess");
    let status = |who: &str| match scene.respond("ping", who) {
        Response::Document { status, body, .. } => (status, body.contains("code=\"40\"")),
        other => panic!("no document: {other:?}"),
    };
    for _ in 0..10 {
        assert_eq!(status("u=ann&p=wrong"), (200, true));
    }
    assert_eq!(status("u=ann&p=sesame"), (429, true));
    assert_eq!(status("u=bob&p=secret"), (200, false));
}

#[test]
fn a_users_picture_is_theirs_alone_and_goes_with_them() {
    let scene = Scene::new("avatar");
    scene.give_avatar(scene.store().avatar("bob").expect("a user"));
    let target = |request: &str| match scene.respond(request, "u=ann&p=sesame") {
        Response::File { target, .. } => target,
        Response::Document { body, .. } => body,
        other => panic!("{other:?}"),
    };
    let given = target("getAvatar?username=bob");
    assert!(given.starts_with("/avatar/"), "{given}");
    assert!(given.ends_with("?w=320&h=320&fit=inside"), "{given}");
    assert!(target("getAvatar?username=ann").contains("code=\"70\""));
    assert!(target("getAvatar?username=cid").contains("code=\"70\""));
    assert!(target("getAvatar").contains("code=\"10\""));
    scene.ok("deleteUser?username=bob");
    scene.ok("createUser?username=bob&password=other");
    assert!(target("getAvatar?username=bob").contains("code=\"70\""));
}

#[test]
fn names_of_users_are_the_same_in_any_case() {
    let scene = Scene::new("case");
    for who in [
        "u=ANN&p=sesame",
        "u=Ann&t=26719a1196d2a940705a59634eb18eab&s=c19b2d",
    ] {
        assert!(
            scene.ask_as("tokenInfo", who).contains("username=\"ann\""),
            "{who}"
        );
    }
    scene.ok("getUser?username=BOB");
    assert!(
        scene
            .ask("createUser?username=Bob&password=x")
            .contains("code=\"0\"")
    );
    // Failed logins count for the user, whatever the case of the name.
    for name in ["bob", "BOB", "Bob", "bOb", "boB"].repeat(2) {
        scene.ask_as("ping", &format!("u={name}&p=wrong"));
    }
    let Response::Document { status, .. } = scene.respond("ping", "u=bOB&p=secret") else {
        panic!("no document");
    };
    assert_eq!(status, 429);
    // If the names of two users differ only in case, a request must spell the name exactly.
    let change = |name: &str| Change::User {
        name: name.to_owned(),
        password: String::new(),
        admin: false,
        at_ms: 1,
    };
    let changes = ["Cid", "cid"].map(change).into();
    let changed = scene.store().change(|_| Ok::<_, ()>(changes));
    changed.expect("the disk takes it").expect("no objection");
    scene.ok("getUser?username=cid");
    assert!(scene.ask("getUser?username=CID").contains("code=\"70\""));
}

#[test]
fn what_an_admin_takes_from_a_user_is_gone() {
    let scene = Scene::new("roles");
    let [.., song] = ids(&scene);
    scene.ok("createUser?username=cid&password=x&downloadRole=false&streamRole=true");
    let as_cid = |request: &str| match scene.respond(request, "u=cid&p=x") {
        Response::Document { body, .. } => match body.contains("code=\"50\"") {
            true => "refused",
            false => "answered",
        },
        _ => "given",
    };
    let roles = || {
        let user = scene.json("getUser?username=cid")["user"].clone();
        ["downloadRole", "streamRole", "playlistRole", "settingsRole"]
            .map(|role| user[role].as_bool().expect("a flag"))
    };
    assert_eq!(roles(), [false, true, true, true]);
    assert_eq!(as_cid(&format!("download?id={song}")), "refused");
    assert_eq!(as_cid(&format!("stream?id={song}")), "given");
    scene.ok("updateUser?username=cid&downloadRole=true&streamRole=false&playlistRole=false&settingsRole=false&shareRole=false");
    assert_eq!(roles(), [true, false, false, false]);
    assert_eq!(as_cid(&format!("download?id={song}")), "given");
    for request in [
        format!("stream?id={song}"),
        format!("createPlaylist?name=a&songId={song}"),
        format!("createShare?id={song}"),
        "changePassword?username=cid&password=y".to_owned(),
    ] {
        assert_eq!(as_cid(&request), "refused", "{request}");
    }
    // Another server with the same data directory reads the roles.
    let again = scene.again();
    assert!(
        again
            .ask("getUser?username=cid")
            .contains("streamRole=\"false\"")
    );
}

#[test]
fn numbers_may_have_decimals_and_a_size_may_be_none() {
    let scene = Scene::new("numbers");
    let [_, album, song] = ids(&scene);
    let target = |request: &str| match scene.respond(request, "u=ann&p=sesame") {
        Response::File { target, .. } => target,
        other => panic!("{request}: {other:?}"),
    };
    assert!(target(&format!("getCoverArt?id={album}&size=0")).ends_with('?'));
    assert!(target(&format!("getCoverArt?id={album}&size=300.0")).contains("w=300&"));
    target(&format!("stream?id={song}&maxBitRate=0.0"));
    scene.ok("getAlbumList2?type=newest&size=10.0&offset=0.5");
    for wrong in ["1.x", ".", "-1.0", "1e3"] {
        let response = scene.ask(&format!("getAlbumList2?type=newest&size={wrong}"));
        assert!(response.contains("code=\"0\""), "{wrong}: {response}");
    }
}

#[test]
fn the_first_search_finds_songs() {
    let scene = Scene::new("search1");
    let titles = |request: &str| scene.all(request, "match.title");
    assert_eq!(
        titles("search?artist=bjork&title=zweites"),
        ["Zweites Lied"]
    );
    assert_eq!(titles("search?any=lied").len(), 2);
    assert_eq!(titles("search?any=lied&count=1&offset=1").len(), 1);
    assert!(titles("search?any=lied&newerThan=99999999999").is_empty());
    assert_eq!(
        scene.all("search?any=lied", "searchResult.totalHits"),
        ["2"]
    );
}

#[test]
fn what_is_not_offered_says_so_by_its_status() {
    let scene = Scene::new("lacks");
    for (name, expected) in [
        ("getPodcasts", 501),
        ("jukeboxControl", 501),
        ("getSonicSimilarTracks", 501),
        ("getChatMessages", 410),
        ("hls", 410),
    ] {
        let Response::Document { status, body, .. } = scene.respond(name, "u=ann&p=sesame") else {
            panic!("{name} is no document");
        };
        assert_eq!(status, expected, "{name}");
        assert!(body.contains("status=\"failed\""), "{name}: {body}");
    }
}

#[test]
fn one_user_leaves_room_for_others() {
    let limits = Limits {
        kept_max: 2,
        user_bytes_max: 4_000,
        user_players_max: 2,
        players_max: 3,
        ..Limits::default()
    };
    let scene = Scene::limited("room", limits);
    for name in ["ann", "bob"] {
        let added = scene.store().add_user(name, "sesame", false, 1);
        added.expect("a user");
    }
    let [_, album, song] = ids(&scene);
    let is_ok = |request: &str, who: &str| {
        let response = scene.ask_as(request, &format!("u={who}&p=sesame"));
        response.contains("status=\"ok\"")
    };
    let make = |who| is_ok(&format!("createPlaylist?name=a&songId={song}"), who);
    assert_eq!([make("ann"), make("ann"), make("ann")], [true, true, false]);
    assert!(make("bob"), "the count is a user's own");
    let many = format!("&songId={album}").repeat(200);
    let fill = |who| is_ok(&format!("createPlaylist?name=b{many}"), who);
    assert!(!fill("bob"), "400 tracks take more than 4,000 bytes");
    // At the limit on a user's players, a new player replaces the oldest player of the same user.
    for (who, player) in [("bob", "x"), ("ann", "1"), ("ann", "2"), ("ann", "3")] {
        let played = format!("scrobble?id={song}&submission=false&c={player}");
        assert!(is_ok(&played, who));
    }
    let mut players = scene.all("getNowPlaying", "entry.playerName");
    players.sort();
    assert_eq!(players.len(), 3, "{players:?}");
    assert!(players.contains(&"x".to_owned()), "{players:?}");
}

#[test]
fn an_album_named_again_and_again_is_gathered_no_further_than_may_be_kept() {
    let limits = Limits {
        tracks_max: 5,
        ..Limits::default()
    };
    let scene = Scene::limited("again", limits);
    let added = scene.store().add_user("ann", "sesame", false, 1);
    added.expect("a user");
    let [_, album, _] = ids(&scene);
    let make = |times: usize| {
        let many = format!("&songId={album}").repeat(times);
        scene.ask(&format!("createPlaylist?name=a{many}"))
    };
    assert!(make(2).contains("status=\"ok\""));
    assert!(make(3).contains("parameter songId is invalid"));
}

#[test]
fn albums_artists_and_playlists_are_downloaded_as_one_file() {
    let scene = Scene::new("archive");
    let [artist, album, song] = ids(&scene);
    let given = |request: &str| match scene.respond(request, "u=ann&p=sesame") {
        Response::Archive { files, disposition } => {
            let files = files
                .into_iter()
                .map(|(path, name)| format!("{path} {name}"));
            (files.collect::<Vec<_>>(), disposition)
        }
        other => panic!("{request}: {other:?}"),
    };
    let files = ["/B/%C3%9Cber/1.flac 1.flac", "/B/%C3%9Cber/2.flac 2.flac"];
    let (album_files, disposition) = given(&format!("download?id={album}"));
    assert_eq!(album_files, files);
    assert_eq!(disposition, "attachment; filename*=UTF-8''%C3%9Cber.zip");
    assert_eq!(given(&format!("download?id={artist}")).0, files);
    let other = scene.all("search2?query=夜", "song.id").remove(0);
    let made = format!("createPlaylist?name=a/b&songId={song}&songId={other}");
    let list = scene.all(&made, "playlist.id").remove(0);
    let (files, disposition) = given(&format!("download?id={list}"));
    assert_eq!(
        files,
        [
            "/B/%C3%9Cber/1.flac 1 1.flac",
            "/%E5%A4%9C/%E5%A4%9C.mp3 2 夜.mp3"
        ]
    );
    assert!(disposition.ends_with("''a_b.zip"), "{disposition}");
    assert!(
        scene
            .ask("download?id=al-0000000000000000")
            .contains("code=\"70\"")
    );
}
