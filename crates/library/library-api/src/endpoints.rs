//! Table of all endpoints, by name.

use crate::answer::Answer;
use crate::call::{Call, Changes, Seen};
use crate::fault::{Fault, Lack};
use crate::write::Writer;
use crate::{
    accounts, bookmarks, browse, lists, marks, media, playlists, search, shares, system,
    transcoding,
};

/// Function that writes the response document.
pub(crate) type Read = fn(&Call<'_>, &Seen<'_>, &mut Writer) -> Result<(), Fault>;
/// Function that returns the changes that the request makes to the stored state.
pub(crate) type Decide = fn(&Call<'_>, &Seen<'_>) -> Changes;

/// Handler of an endpoint.
pub(crate) enum Does {
    Read(Read),
    Change(Decide),
    ChangeAndRead(Decide, Read),
    Give(fn(&Call<'_>, &Seen<'_>) -> Result<Answer, Fault>),
    /// Error for an endpoint of the protocol that this server does not offer.
    Lack(Lack),
}

/// Endpoint of the Subsonic API.
pub(crate) struct Endpoint {
    name: &'static str,
    pub(crate) does: Does,
    /// True if the endpoint needs no login.
    pub(crate) is_open: bool,
}

const fn row(name: &'static str, does: Does) -> Endpoint {
    Endpoint {
        name,
        does,
        is_open: false,
    }
}

const ENDPOINTS: &[Endpoint] = &[
    row("ping", Does::Read(system::ping)),
    row("getLicense", Does::Read(system::license)),
    Endpoint {
        name: "getOpenSubsonicExtensions",
        does: Does::Read(system::extensions),
        is_open: true,
    },
    row("getScanStatus", Does::Read(system::scan_status)),
    row("startScan", Does::Read(system::start_scan)),
    row("tokenInfo", Does::Read(system::token_info)),
    row("getMusicFolders", Does::Read(browse::music_folders)),
    row("getIndexes", Does::Read(browse::indexes)),
    row("getMusicDirectory", Does::Read(browse::music_directory)),
    row("getGenres", Does::Read(browse::genres)),
    row("getArtists", Does::Read(browse::artists)),
    row("getArtist", Does::Read(browse::artist)),
    row("getAlbum", Does::Read(browse::album)),
    row("getSong", Does::Read(browse::song)),
    row("getArtistInfo", Does::Read(browse::artist_info)),
    row("getArtistInfo2", Does::Read(browse::artist_info2)),
    row("getAlbumInfo", Does::Read(browse::album_info)),
    row("getAlbumInfo2", Does::Read(browse::album_info)),
    row("getVideos", Does::Read(browse::videos)),
    row("getAlbumList", Does::Read(lists::albums)),
    row("getAlbumList2", Does::Read(lists::albums2)),
    row("getRandomSongs", Does::Read(lists::random_songs)),
    row("getSongsByGenre", Does::Read(lists::songs_by_genre)),
    row("getSimilarSongs", Does::Read(lists::similar_songs)),
    row("getSimilarSongs2", Does::Read(lists::similar_songs2)),
    row("getTopSongs", Does::Read(lists::top_songs)),
    row("getNowPlaying", Does::Read(lists::now_playing)),
    row("getStarred", Does::Read(lists::starred)),
    row("getStarred2", Does::Read(lists::starred2)),
    row("search", Does::Read(search::search)),
    row("search2", Does::Read(search::search2)),
    row("search3", Does::Read(search::search3)),
    row("stream", Does::Give(transcoding::stream)),
    row("getTranscodeDecision", Does::Read(transcoding::decision)),
    row(
        "getTranscodeStream",
        Does::Give(transcoding::transcode_stream),
    ),
    row("download", Does::Give(media::download)),
    row("getCoverArt", Does::Give(media::cover_art)),
    row("getAvatar", Does::Give(accounts::avatar)),
    row("getLyrics", Does::Read(media::lyrics)),
    row("getLyricsBySongId", Does::Read(media::lyrics_by_song)),
    row("star", Does::Change(marks::star)),
    row("unstar", Does::Change(marks::unstar)),
    row("setRating", Does::Change(marks::set_rating)),
    row("scrobble", Does::Change(marks::scrobble)),
    row("reportPlayback", Does::Change(marks::report_playback)),
    row("getPlaylists", Does::Read(playlists::list)),
    row("getPlaylist", Does::Read(playlists::one)),
    row(
        "createPlaylist",
        Does::ChangeAndRead(playlists::create, playlists::made),
    ),
    row("updatePlaylist", Does::Change(playlists::update)),
    row("deletePlaylist", Does::Change(playlists::delete)),
    row("getShares", Does::Read(shares::list)),
    row(
        "createShare",
        Does::ChangeAndRead(shares::create, shares::made),
    ),
    row("updateShare", Does::Change(shares::update)),
    row("deleteShare", Does::Change(shares::delete)),
    row("getPlayQueue", Does::Read(bookmarks::queue)),
    row("savePlayQueue", Does::Change(bookmarks::save_queue)),
    row("getPlayQueueByIndex", Does::Read(bookmarks::queue_by_index)),
    row(
        "savePlayQueueByIndex",
        Does::Change(bookmarks::save_queue_by_index),
    ),
    row("getBookmarks", Does::Read(bookmarks::list)),
    row("createBookmark", Does::Change(bookmarks::create)),
    row("deleteBookmark", Does::Change(bookmarks::delete)),
    row("getInternetRadioStations", Does::Read(bookmarks::stations)),
    row(
        "createInternetRadioStation",
        Does::Change(bookmarks::create_station),
    ),
    row(
        "updateInternetRadioStation",
        Does::Change(bookmarks::update_station),
    ),
    row(
        "deleteInternetRadioStation",
        Does::Change(bookmarks::delete_station),
    ),
    row("getUser", Does::Read(accounts::user)),
    row("getUsers", Does::Read(accounts::users)),
    row("createUser", Does::Change(accounts::create)),
    row("updateUser", Does::Change(accounts::update)),
    row("deleteUser", Does::Change(accounts::delete)),
    row("changePassword", Does::Change(accounts::change_password)),
    row("getPodcasts", Does::Lack(Lack::Yet)),
    row("getNewestPodcasts", Does::Lack(Lack::Yet)),
    row("getPodcastEpisode", Does::Lack(Lack::Yet)),
    row("refreshPodcasts", Does::Lack(Lack::Yet)),
    row("createPodcastChannel", Does::Lack(Lack::Yet)),
    row("deletePodcastChannel", Does::Lack(Lack::Yet)),
    row("deletePodcastEpisode", Does::Lack(Lack::Yet)),
    row("downloadPodcastEpisode", Does::Lack(Lack::Yet)),
    row("jukeboxControl", Does::Lack(Lack::Yet)),
    // The next two endpoints belong to the extension sonicSimilarity, which is not implemented and
    // therefore not listed by `getOpenSubsonicExtensions`.
    row("getSonicSimilarTracks", Does::Lack(Lack::Yet)),
    row("findSonicPath", Does::Lack(Lack::Yet)),
    row("getChatMessages", Does::Lack(Lack::ForGood)),
    row("addChatMessage", Does::Lack(Lack::ForGood)),
    row("getVideoInfo", Does::Lack(Lack::ForGood)),
    row("getCaptions", Does::Lack(Lack::ForGood)),
    row("hls", Does::Lack(Lack::ForGood)),
];

/// Returns the endpoint of this name, if any.
pub(crate) fn find(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
}
