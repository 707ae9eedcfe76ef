/** Placeholder of a cover. */
export interface Placeholder {
  /** Dominant colour as `#rrggbb`. */
  readonly colour: string;
}

/** Album, as in docs/api.md. */
export interface Album {
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly artistIds: readonly string[];
  /** Year, year and month, or date. */
  readonly date?: string;
  readonly trackCount: number;
  readonly durationSeconds: number;
  readonly compilation: boolean;
  readonly genres: readonly string[];
  /** Target of the cover, if there is one. */
  readonly cover?: string;
  readonly placeholder?: Placeholder;
  readonly plays: number;
}

/** Artist, as in docs/api.md. */
export interface Artist {
  readonly id: string;
  readonly name: string;
  readonly sortName: string;
  readonly albumCount: number;
  readonly trackCount: number;
  /** Target of the cover, if there is one. */
  readonly cover?: string;
  readonly placeholder?: Placeholder;
}

/** ReplayGain in the tags of a track: gains in dB, and peaks where 1 is full scale. */
export interface ReplayGain {
  readonly trackGain?: number;
  readonly albumGain?: number;
  readonly trackPeak?: number;
  readonly albumPeak?: number;
}

/** Part of a track that the queue keeps. */
export interface Track {
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly artistIds: readonly string[];
  readonly albumId?: string;
  readonly album?: string;
  readonly durationMs: number;
  /** Target of the file on this server. */
  readonly file: string;
  /** Target of the cover, if there is one. */
  readonly cover?: string;
  /** Mean of the users' ratings. */
  readonly rating?: number;
  readonly replayGain?: ReplayGain;
}

/** Person whom a track's tags name beside its artists. */
export interface Contributor {
  readonly role: string;
  readonly name: string;
  readonly part?: string;
  readonly artistId?: string;
}

/** Track, as in docs/api.md. */
export interface FullTrack extends Track {
  readonly disc: number;
  readonly number: number;
  readonly kbps: number;
  readonly contributors: readonly Contributor[];
  readonly plays: number;
}

/** Album with its tracks. */
export interface FullAlbum extends Album {
  readonly tracks: readonly FullTrack[];
}

/** Artist with the artist's albums. */
export interface FullArtist extends Artist {
  readonly albums: readonly Album[];
}

/** Genre, year or composer. */
export interface Group {
  /** Name of a genre or a composer. */
  readonly name?: string;
  readonly year?: number;
  readonly tracks: number;
  readonly albums: number;
}

/** Playlist, as in docs/api.md. */
export interface Playlist {
  readonly id: string;
  readonly name: string;
  readonly kind: "user" | "file";
  /** Name of the user whose playlist it is. Guests do not get it. */
  readonly owner?: string;
  /** True if the user of the page may change the playlist. */
  readonly changeable: boolean;
  /** Time of the last change. */
  readonly changed: string;
  readonly trackCount: number;
  readonly durationMs: number;
  readonly missingCount: number;
}

/** Playlist with its tracks, and the entries that are not tracks. */
export interface FullPlaylist extends Playlist {
  readonly tracks: readonly FullTrack[];
  readonly missing: readonly string[];
}

/** Page of a list. */
export interface Page<T> {
  readonly total: number;
  readonly offset: number;
  readonly items: readonly T[];
}
