// Music of a small library: sine tones in three formats, with tags that journeys can look for.

import { execFile } from "node:child_process";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Album of the library. All its tracks have the artist and the year of the album. */
export interface Album {
  readonly artist: string;
  readonly title: string;
  readonly year: number;
  readonly genre: string;
  readonly extension: "flac" | "mp3" | "opus";
  readonly tracks: readonly string[];
}

/** Title of 4 kB with markup and a mark that reverses the direction of what follows (Unicode, UAX #9). */
export const HOSTILE = `\u202e<img src=x onerror="document.title='run'"> ${"very long title ".repeat(256)}`.trim();

export const ALBUMS: readonly Album[] = [
  { artist: "The Alternators", title: "Night", year: 1999, genre: "Rock", extension: "flac", tracks: ["Dusk", "Night", "Dawn"] },
  { artist: "Ōkami Trio", title: "雨の日", year: 2015, genre: "Jazz", extension: "mp3", tracks: ["雨", "Umbrella 🌂", "<b>Sun</b>", HOSTILE] },
  { artist: "فرقة النور", title: "صباح", year: 2021, genre: "Folk", extension: "opus", tracks: ["صباح", "مساء"] },
];

/** Lyrics of the first track of the first album; its other tracks have none. */
export const LYRICS = Array.from({ length: 36 }, (_, index) => ({ time: `00:0${(index / 5).toFixed(2)}`, text: `Lamp ${index + 1} is lit` }));

/** Composer of all tracks. */
export const COMPOSER = "Clara Ōta";

/** Length of a track in seconds. */
const TRACK_S = 8;

/** Writes the folder `music` of `library` with ffmpeg, if it is missing or has other contents. */
export async function writeMusic(library: string): Promise<void> {
  const folder = join(library, "music");
  const stamp = join(library, ".music.json");
  const contents = JSON.stringify([ALBUMS, LYRICS, COMPOSER, TRACK_S]);
  if ((await readFile(stamp, "utf8").catch(() => "")) === contents) return;
  const partial = join(library, ".music.partial");
  await rm(partial, { recursive: true, force: true });
  for (const album of ALBUMS) {
    const place = join(partial, album.artist, album.title);
    await mkdir(place, { recursive: true });
    for (const index of album.tracks.keys()) await writeTrack(album, index, place);
  }
  const [first] = ALBUMS;
  if (first) {
    const lines = LYRICS.map(({ time, text }) => `[${time}]${text}\n`);
    await writeFile(join(partial, first.artist, first.title, "1.lrc"), lines.join(""));
  }
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
  await writeFile(stamp, contents);
}

async function writeTrack(album: Album, index: number, place: string): Promise<void> {
  const tags = {
    title: album.tracks[index],
    artist: album.artist,
    album_artist: album.artist,
    album: album.title,
    date: album.year,
    genre: album.genre,
    composer: COMPOSER,
    track: `${index + 1}/${album.tracks.length}`,
  };
  const metadata = Object.entries(tags).flatMap(([name, value]) => ["-metadata", `${name}=${value}`]);
  const tone = `sine=frequency=${220 * (index + 2)}:duration=${TRACK_S}:sample_rate=48000`;
  const file = join(place, `${index + 1}.${album.extension}`);
  await promisify(execFile)("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", tone, "-ac", "2", ...metadata, file]);
}
