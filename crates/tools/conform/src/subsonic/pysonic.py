"""Drives a server by py-sonic, and by plain requests where it is silent: browsing, search, marks, playlists, files.

Arguments: the server's port, a user who may change everything, the password. Prints what fails, and how much was checked.
"""

import hashlib
import http.client
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

import libsonic

PORT, USER, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]
failed = []
checks = 0


def check(what, holds):
    global checks
    checks += 1
    if not holds:
        failed.append(what)
        print("differs:", what)


def ask(name, method="GET", fields=None, raw=False, **parameters):
    """Status, fields and body of one request over a connection of its own."""
    salt = "c19b2d"
    token = hashlib.md5((PASSWORD + salt).encode()).hexdigest()
    known = {"u": USER, "t": token, "s": salt, "v": "1.16.1", "c": "conform"}
    query = urllib.parse.urlencode({**known, **parameters}, doseq=True)
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    if method == "POST":
        form = {"content-type": "application/x-www-form-urlencoded"}
        connection.request("POST", f"/rest/{name}", query, {**form, **(fields or {})})
    else:
        connection.request(method, f"/rest/{name}?{query}", headers=fields or {})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), body


def same(element, value, path, name=""):
    """Whether an element of XML says what JSON says."""
    if isinstance(value, str) and not element.attrib:
        check(f"{path}: {element.text!r} is {value!r}", (element.text or "") == value)
        return
    if not isinstance(value, dict):
        check(f"{path}: {element.text} is {value}", element.text == str(value))
        return
    members = dict(value)
    text = members.pop("value", None)
    if text is not None:
        check(f"{path}: text", (element.text or "") == text)
    for key, attribute in element.attrib.items():
        if key == "xmlns":
            continue
        plain = members.pop(key, None)
        said = str(plain).lower() if isinstance(plain, bool) else str(plain)
        check(f"{path}@{key}: {attribute!r} is {said!r}", attribute == said)
    for key, inner in members.items():
        tag = "{http://subsonic.org/restapi}" + key
        found = element.findall(tag)
        items = inner if isinstance(inner, list) else [inner]
        check(f"{path}/{key}: {len(found)} of {len(items)}", len(found) == len(items))
        for one, item in zip(found, items):
            same(one, item, f"{path}/{key}")


def parity(name, **parameters):
    xml = ElementTree.fromstring(ask(name, **parameters)[2])
    plain = json.loads(ask(name, f="json", **parameters)[2])["subsonic-response"]
    check(f"{name}: ok", plain["status"] == "ok")
    same(xml, plain, name)
    return plain


def browse(client):
    check("ping", client.ping())
    check("getLicense", client.getLicense()["license"]["valid"])
    folders = client.getMusicFolders()["musicFolders"]["musicFolder"]
    check("getMusicFolders", len(folders) == 1)
    artists = client.getArtists()["artists"]["index"]
    artist = artists[0]["artist"][0]
    albums = client.getArtist(artist["id"])["artist"]["album"]
    check("getArtist: albums", len(albums) == artist["albumCount"])
    album = client.getAlbum(albums[0]["id"])["album"]
    check("getAlbum: songs", len(album["song"]) == album["songCount"])
    song = client.getSong(album["song"][0]["id"])["song"]
    check("getSong", song == album["song"][0])
    client.getIndexes()
    folder = client.getMusicDirectory(albums[0]["id"])["directory"]
    check("getMusicDirectory", [it["id"] for it in folder["child"]] == [it["id"] for it in album["song"]])
    for kind in ["random", "newest", "highest", "frequent", "recent", "starred", "alphabeticalByName", "alphabeticalByArtist"]:
        client.getAlbumList(kind)
        client.getAlbumList2(kind, size=50)
    genres = client.getGenres()["genres"]["genre"]
    in_genre = client.getSongsByGenre(genres[0]["value"])["songsByGenre"]["song"]
    check("getSongsByGenre", all(genres[0]["value"] in [g["name"] for g in it["genres"]] for it in in_genre))
    check("getRandomSongs", len(client.getRandomSongs(size=7)["randomSongs"]["song"]) == 7)
    found = client.search3(song["title"], songCount=500)["searchResult3"]["song"]
    check("search3 finds by title", song["id"] in [it["id"] for it in found])
    found = client.search2(album["name"], albumCount=500)["searchResult2"]["album"]
    check("search2 finds by album", album["id"] in [it["id"] for it in found])
    client.getScanStatus()
    return album, song


def sync(client):
    """As Symfonium does: everything, in pages, by an empty query."""
    ids, offset = [], 0
    while True:
        page = client.search3("", artistCount=0, albumCount=0, songCount=500, songOffset=offset)
        page = page["searchResult3"]["song"]
        ids += [it["id"] for it in page]
        offset += 500
        if len(page) < 500:
            break
    check("a sync finds each song once", len(ids) == len(set(ids)))
    plain = http.client.HTTPConnection("127.0.0.1", PORT)
    plain.request("GET", "/-/api/statistics")
    check("a sync finds every song", json.load(plain.getresponse())["tracks"] == len(ids))


def marks(client, album, song):
    client.star([song["id"]], [album["id"]], [album["artistId"]])
    starred = client.getStarred2()["starred2"]
    check("star", [it["id"] for it in starred["song"]] == [song["id"]])
    check("star an album", [it["id"] for it in starred["album"]] == [album["id"]])
    client.unstar([song["id"]], [album["id"]], [album["artistId"]])
    check("unstar", client.getStarred()["starred"]["song"] == [])
    client.setRating(song["id"], 4)
    check("setRating", client.getSong(song["id"])["song"]["userRating"] == 4)
    before = client.getSong(song["id"])["song"]["playCount"]
    client.scrobble(song["id"])
    check("scrobble", client.getSong(song["id"])["song"]["playCount"] == before + 1)
    client.scrobble(song["id"], submission=False)
    check("getNowPlaying", client.getNowPlaying()["nowPlaying"]["entry"][0]["id"] == song["id"])
    client.createPlaylist(name="Conform", songIds=[song["id"]])
    lists = client.getPlaylists()["playlists"]["playlist"]
    made = [it for it in lists if it["name"] == "Conform"][-1]
    client.updatePlaylist(made["id"], songIdsToAdd=[it["id"] for it in album["song"]], comment="ours")
    entries = client.getPlaylist(made["id"])["playlist"]["entry"]
    check("updatePlaylist", len(entries) == 1 + len(album["song"]))
    client.deletePlaylist(made["id"])
    client.savePlayQueue([song["id"]], song["id"], 1500)
    check("savePlayQueue", client.getPlayQueue()["playQueue"]["position"] == 1500)
    client.createBookmark(song["id"], 2500, "here")
    check("createBookmark", client.getBookmarks()["bookmarks"]["bookmark"][0]["position"] == 2500)
    client.deleteBookmark(song["id"])
    check("getUser", client.getUser(USER)["user"]["adminRole"])
    client.createUser("second", "pass", "s@example.org")
    check("getUsers", "second" in [it["username"] for it in client.getUsers()["users"]["user"]])
    client.deleteUser("second")


def files(client, song):
    """Ranges of music, as players seek in it."""
    whole = client.download(song["id"]).read()
    check("download: size", len(whole) == song["size"])
    check("stream", client.stream(song["id"]).read() == whole)
    status, fields, body = ask("stream", id=song["id"])
    etag = fields["etag"]
    check("stream: 200", (status, body == whole, fields["accept-ranges"]) == (200, True, "bytes"))
    check("stream: type", fields["content-type"] == song["contentType"])
    status, fields, body = ask("stream", "HEAD", id=song["id"])
    check("HEAD", (status, body, int(fields["content-length"])) == (200, b"", len(whole)))
    size = len(whole)
    cases = [
        ("bytes=0-99", 206, whole[:100]),
        ("bytes=100-", 206, whole[100:]),
        ("bytes=-1", 206, whole[-1:]),
        (f"bytes={size - 1}-{size + 99}", 206, whole[-1:]),
        (f"bytes={size}-", 416, None),
        ("bytes=5-4", 200, whole),
        ("items=0-1", 200, whole),
    ]
    for name, expected, part in cases:
        status, fields, body = ask("stream", fields={"range": name}, id=song["id"])
        check(f"range {name}: {status}", status == expected and part in (None, body))
        if expected == 206:
            check(f"range {name}: length", int(fields["content-length"]) == len(part))
            check(f"range {name}: total", fields["content-range"].endswith(f"/{size}"))
    for validator, expected in [(etag, 206), ('"other"', 200), ("W/" + etag, 200)]:
        given = {"range": "bytes=0-9", "if-range": validator}
        status = ask("stream", fields=given, id=song["id"])[0]
        check(f"if-range {validator}: {status}", status == expected)
    check("if-none-match", ask("stream", fields={"if-none-match": etag}, id=song["id"])[0] == 304)
    check("if-match", ask("stream", fields={"if-match": '"other"'}, id=song["id"])[0] == 412)


def covers(client, album):
    if "coverArt" not in album:
        return
    status, fields, body = ask("getCoverArt", id=album["coverArt"], size=64)
    check(f"getCoverArt: {fields['content-type']}", status == 200 and fields["content-type"].startswith("image/"))
    small = len(body)
    check("getCoverArt: size", small <= len(ask("getCoverArt", id=album["coverArt"])[2]))


def forms(song):
    check("form POST", b'status="ok"' in ask("getSong", "POST", id=song["id"])[2])
    check(".view", b'status="ok"' in ask("getSong.view", id=song["id"])[2])
    check("jsonp", ask("ping", f="jsonp", callback="cb")[2].startswith(b"/**/cb({"))
    check("OPTIONS", ask("ping", "OPTIONS")[0] == 204)
    check("PUT", ask("ping", "PUT")[0] == 405)
    check("unknown", b'code="70"' in ask("getNothing")[2])
    check("missing", b'code="10"' in ask("getSong")[2])
    check("wrong", b'code="40"' in ask("ping", t="0" * 32)[2])
    check("two ways in", b'code="43"' in ask("ping", apiKey="x")[2])


def main():
    client = libsonic.Connection("http://127.0.0.1", USER, PASSWORD, port=PORT, apiVersion="1.16.1")
    album, song = browse(client)
    sync(client)
    marks(client, album, song)
    files(client, song)
    covers(client, album)
    forms(song)
    ids = {"artist": album["artistId"], "album": album["id"], "song": song["id"]}
    for name, parameters in [
        ("getArtists", {}),
        ("getIndexes", {}),
        ("getGenres", {}),
        ("getArtist", {"id": ids["artist"]}),
        ("getAlbum", {"id": ids["album"]}),
        ("getSong", {"id": ids["song"]}),
        ("getMusicDirectory", {"id": ids["artist"]}),
        ("getMusicDirectory", {"id": ids["album"]}),
        ("getAlbumList", {"type": "newest"}),
        ("getAlbumList2", {"type": "newest"}),
        ("search2", {"query": "", "songCount": 50}),
        ("search3", {"query": "", "songCount": 50}),
        ("getUsers", {}),
        ("getPlayQueue", {}),
        ("getOpenSubsonicExtensions", {}),
        ("getScanStatus", {}),
    ]:
        parity(name, **parameters)
    print(f"{checks} checks, {len(failed)} differ")
    sys.exit(1 if failed else 0)


main()
