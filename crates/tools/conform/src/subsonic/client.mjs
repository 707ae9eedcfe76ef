// Drives a server by subsonic-api. Arguments: the server's port, a user, the password.
import { SubsonicAPI } from "subsonic-api";

const [port, username, password] = process.argv.slice(2);
let checks = 0;
let failed = 0;
const check = (what, holds) => {
  checks += 1;
  if (!holds) {
    failed += 1;
    console.log("differs:", what);
  }
};

const api = new SubsonicAPI({
  url: `http://127.0.0.1:${port}`,
  auth: { username, password },
});

const ping = await api.ping();
check("ping", ping.status === "ok" && ping.openSubsonic === true);
check("extensions", (await api.getOpenSubsonicExtensions()).openSubsonicExtensions.length > 0);
const { artists } = await api.getArtists();
const artist = artists.index[0].artist[0];
const { artist: whole } = await api.getArtist({ id: artist.id });
const { album } = await api.getAlbum({ id: whole.album[0].id });
check("getAlbum", album.song.length === album.songCount);
const song = album.song[0];
check("getSong", (await api.getSong({ id: song.id })).song.title === song.title);
const { albumList2 } = await api.getAlbumList2({ type: "alphabeticalByName", size: 20 });
const names = albumList2.album.map((it) => it.id);
check("getAlbumList2", new Set(names).size === names.length && names.length > 0);
const { searchResult3 } = await api.search3({ query: song.title, songCount: 500 });
check("search3", searchResult3.song.some((it) => it.id === song.id));
await api.star({ id: song.id });
const { starred2 } = await api.getStarred2();
check("star", starred2.song.some((it) => it.id === song.id && it.starred));
await api.unstar({ id: song.id });
check("unstar", !(await api.getStarred2()).starred2.song.some((it) => it.id === song.id));
await api.setRating({ id: song.id, rating: 3 });
check("setRating", (await api.getSong({ id: song.id })).song.userRating === 3);
await api.scrobble({ id: song.id });
const { playlist } = await api.createPlaylist({ name: "From JavaScript", songId: [song.id] });
check("createPlaylist", playlist.entry.length === 1);
await api.updatePlaylist({ playlistId: playlist.id, songIdToAdd: [song.id] });
check("updatePlaylist", (await api.getPlaylist({ id: playlist.id })).playlist.entry.length === 2);
await api.deletePlaylist({ id: playlist.id });
const stream = await api.stream({ id: song.id });
check("stream", (await stream.arrayBuffer()).byteLength === song.size);
if (album.coverArt) {
  const cover = await api.getCoverArt({ id: album.coverArt, size: 100 });
  check("getCoverArt", cover.headers.get("content-type").startsWith("image/"));
}
console.log(`${checks} checks, ${failed} differ`);
process.exit(failed === 0 ? 0 : 1);
