//! Table of all endpoints of the Subsonic API, by name.

use crate::call::{Call, Changes, Seen};
use crate::fault::{Fault, Lack};
use crate::response::Response;
use crate::write::Writer;
use crate::{
    accounts, bookmarks, browse, lists, marks, media, playlists, search, shares, system,
    transcoding,
};

/// Function that writes the document of a response.
pub(crate) type Read = fn(&Call<'_>, &Seen<'_>, &mut Writer) -> Result<(), Fault>;
/// Function that returns the changes that the request makes to the stored state.
pub(crate) type Decide = fn(&Call<'_>, &Seen<'_>) -> Changes;

/// Handler of an endpoint.
pub(crate) enum Handler {
    Read(Read),
    Change(Decide),
    ChangeAndRead(Decide, Read),
    Respond(fn(&Call<'_>, &Seen<'_>) -> Result<Response, Fault>),
    /// This server does not offer this endpoint of the protocol, and responds with an error.
    Lack(Lack),
}

/// Endpoint of the Subsonic API.
pub(crate) struct Endpoint {
    name: &'static str,
    pub(crate) handler: Handler,
    /// True if the endpoint needs no login.
    pub(crate) is_open: bool,
}

const fn row(name: &'static str, handler: Handler) -> Endpoint {
    Endpoint {
        name,
        handler,
        is_open: false,
    }
}

const ENDPOINTS: &[Endpoint] = &[
    row("ping", Handler::Read(system::ping)),
    row("getLicense", Handler::Read(system::license)),
    Endpoint {
        name: "getOpenSubsonicExtensions",
        handler: Handler::Read(system::extensions),
        is_open: true,
    },
    row("getScanStatus", Handler::Read(system::scan_status)),
    row("startScan", Handler::Read(system::start_scan)),
    row("tokenInfo", Handler::Read(system::token_info)),
    row("getMusicFolders", Handler::Read(browse::music_folders)),
    row("getIndexes", Handler::Read(browse::indexes)),
    row("getMusicDirectory", Handler::Read(browse::music_directory)),
    row("getGenres", Handler::Read(browse::genres)),
    row("getArtists", Handler::Read(browse::artists)),
    row("getArtist", Handler::Read(browse::artist)),
    row("getAlbum", Handler::Read(browse::album)),
    row("getSong", Handler::Read(browse::song)),
    row("getArtistInfo", Handler::Read(browse::artist_info)),
    row("getArtistInfo2", Handler::Read(browse::artist_info2)),
    row("getAlbumInfo", Handler::Read(browse::album_info)),
    row("getAlbumInfo2", Handler::Read(browse::album_info)),
    row("getVideos", Handler::Read(browse::videos)),
    row("getAlbumList", Handler::Read(lists::albums)),
    row("getAlbumList2", Handler::Read(lists::albums2)),
    row("getRandomSongs", Handler::Read(lists::random_songs)),
    row("getSongsByGenre", Handler::Read(lists::songs_by_genre)),
    row("getSimilarSongs", Handler::Read(lists::similar_songs)),
    row("getSimilarSongs2", Handler::Read(lists::similar_songs2)),
    row("getTopSongs", Handler::Read(lists::top_songs)),
    row("getNowPlaying", Handler::Read(lists::now_playing)),
    row("getStarred", Handler::Read(lists::starred)),
    row("getStarred2", Handler::Read(lists::starred2)),
    row("search", Handler::Read(search::search)),
    row("search2", Handler::Read(search::search2)),
    row("search3", Handler::Read(search::search3)),
    row("stream", Handler::Respond(transcoding::stream)),
    row("getTranscodeDecision", Handler::Read(transcoding::decision)),
    row(
        "getTranscodeStream",
        Handler::Respond(transcoding::transcode_stream),
    ),
    row("download", Handler::Respond(media::download)),
    row("getCoverArt", Handler::Respond(media::cover_art)),
    row("getAvatar", Handler::Respond(accounts::avatar)),
    row("getLyrics", Handler::Read(media::lyrics)),
    row("getLyricsBySongId", Handler::Read(media::lyrics_by_song)),
    row("star", Handler::Change(marks::star)),
    row("unstar", Handler::Change(marks::unstar)),
    row("setRating", Handler::Change(marks::set_rating)),
    row("scrobble", Handler::Change(marks::scrobble)),
    row("reportPlayback", Handler::Change(marks::report_playback)),
    row("getPlaylists", Handler::Read(playlists::list)),
    row("getPlaylist", Handler::Read(playlists::one)),
    row(
        "createPlaylist",
        Handler::ChangeAndRead(playlists::create, playlists::made),
    ),
    row("updatePlaylist", Handler::Change(playlists::update)),
    row("deletePlaylist", Handler::Change(playlists::delete)),
    row("getShares", Handler::Read(shares::list)),
    row(
        "createShare",
        Handler::ChangeAndRead(shares::create, shares::made),
    ),
    row("updateShare", Handler::Change(shares::update)),
    row("deleteShare", Handler::Change(shares::delete)),
    row("getPlayQueue", Handler::Read(bookmarks::queue)),
    row("savePlayQueue", Handler::Change(bookmarks::save_queue)),
    row(
        "getPlayQueueByIndex",
        Handler::Read(bookmarks::queue_by_index),
    ),
    row(
        "savePlayQueueByIndex",
        Handler::Change(bookmarks::save_queue_by_index),
    ),
    row("getBookmarks", Handler::Read(bookmarks::list)),
    row("createBookmark", Handler::Change(bookmarks::create)),
    row("deleteBookmark", Handler::Change(bookmarks::delete)),
    row(
        "getInternetRadioStations",
        Handler::Read(bookmarks::stations),
    ),
    row(
        "createInternetRadioStation",
        Handler::Change(bookmarks::create_station),
    ),
    row(
        "updateInternetRadioStation",
        Handler::Change(bookmarks::update_station),
    ),
    row(
        "deleteInternetRadioStation",
        Handler::Change(bookmarks::delete_station),
    ),
    row("getUser", Handler::Read(accounts::user)),
    row("getUsers", Handler::Read(accounts::users)),
    row("createUser", Handler::Change(accounts::create)),
    row("updateUser", Handler::Change(accounts::update)),
    row("deleteUser", Handler::Change(accounts::delete)),
    row("changePassword", Handler::Change(accounts::change_password)),
    row("getPodcasts", Handler::Lack(Lack::NotYet)),
    row("getNewestPodcasts", Handler::Lack(Lack::NotYet)),
    row("getPodcastEpisode", Handler::Lack(Lack::NotYet)),
    row("refreshPodcasts", Handler::Lack(Lack::NotYet)),
    row("createPodcastChannel", Handler::Lack(Lack::NotYet)),
    row("deletePodcastChannel", Handler::Lack(Lack::NotYet)),
    row("deletePodcastEpisode", Handler::Lack(Lack::NotYet)),
    row("downloadPodcastEpisode", Handler::Lack(Lack::NotYet)),
    row("jukeboxControl", Handler::Lack(Lack::NotYet)),
    // The next two endpoints belong to the extension sonicSimilarity, which is not implemented and
    // therefore not listed by `getOpenSubsonicExtensions`.
    row("getSonicSimilarTracks", Handler::Lack(Lack::NotYet)),
    row("findSonicPath", Handler::Lack(Lack::NotYet)),
    row("getChatMessages", Handler::Lack(Lack::Never)),
    row("addChatMessage", Handler::Lack(Lack::Never)),
    row("getVideoInfo", Handler::Lack(Lack::Never)),
    row("getCaptions", Handler::Lack(Lack::Never)),
    row("hls", Handler::Lack(Lack::Never)),
];

/// Returns the endpoint of this name, if any.
pub(crate) fn find(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
}
