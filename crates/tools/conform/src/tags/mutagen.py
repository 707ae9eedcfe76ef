"""Reads paths from stdin, each ended by a zero byte; prints what mutagen finds in each file, a line of JSON a file."""

import base64
import json
import os
import sys

import mutagen
from mutagen.flac import FLAC, Picture
from mutagen.id3 import ID3
from mutagen.mp4 import MP4

ID3_TEXTS = {
    "TIT2": "title", "TPE1": "artist", "TALB": "album", "TPE2": "albumartist", "TRCK": "tracknumber",
    "TPOS": "discnumber", "TDRC": "date", "TCOM": "composer", "TCMP": "compilation",
}
USER_TEXTS = {
    "artists": "artists", "musicbrainz album id": "musicbrainz_albumid",
    "musicbrainz artist id": "musicbrainz_artistid",
    "musicbrainz release track id": "musicbrainz_releasetrackid",
    "replaygain_track_gain": "replaygain_track_gain",
}
MP4_TEXTS = {
    "\xa9nam": "title", "\xa9ART": "artist", "\xa9alb": "album", "aART": "albumartist", "\xa9day": "date",
    "\xa9gen": "genre", "\xa9wrt": "composer", "\xa9lyr": "lyrics",
}


def id3(tags, fields):
    cover = None
    for frame in tags.values():
        name = frame.FrameID
        if name in ID3_TEXTS:
            fields[ID3_TEXTS[name]] = [str(text) for text in frame.text]
        elif name == "TCON":
            fields["genre"] = list(frame.genres)
        elif name == "TXXX" and frame.desc.lower() in USER_TEXTS:
            fields[USER_TEXTS[frame.desc.lower()]] = list(frame.text)
        elif name == "USLT":
            fields["lyrics"] = [frame.text]
        elif name == "APIC":
            cover = len(frame.data)
    return cover


def mp4(tags, fields):
    for key, values in tags.items():
        if key in MP4_TEXTS:
            fields[MP4_TEXTS[key]] = list(values)
        elif key in ("trkn", "disk"):
            name = "tracknumber" if key == "trkn" else "discnumber"
            fields[name] = [str(number) for number, _ in values]
        elif key == "cpil":
            fields["compilation"] = [str(int(values))]
        elif key.startswith("----:"):
            name = USER_TEXTS.get(key.rsplit(":", 1)[1].lower())
            if name:
                fields[name] = [bytes(value).decode() for value in values]
    covers = tags.get("covr", [])
    return len(covers[0]) if covers else None


def comments(tags, fields):
    cover = None
    for key, value in tags:
        if key.lower() == "metadata_block_picture":
            cover = len(Picture(base64.b64decode(value)).data)
        else:
            fields.setdefault(key.lower(), []).append(value)
    return cover


def say(path):
    file = mutagen.File(path)
    if file is None:
        return {"error": "no format"}
    fields, cover = {}, None
    if file.tags is not None:
        if isinstance(file, MP4):
            cover = mp4(file.tags, fields)
        elif isinstance(file.tags, ID3):
            cover = id3(file.tags, fields)
        else:
            cover = comments(file.tags, fields)
    if isinstance(file, FLAC) and file.pictures:
        cover = len(file.pictures[0].data)
    return {
        "duration_ms": file.info.length * 1000,
        "sample_rate_hz": getattr(file.info, "sample_rate", 0),
        "channels": file.info.channels,
        "fields": fields,
        "cover_bytes": cover,
    }


for path in sys.stdin.buffer.read().split(b"\0")[:-1]:
    try:
        said = say(os.fsdecode(path))
    except Exception as error:
        said = {"error": type(error).__name__}
    print(json.dumps(said))
