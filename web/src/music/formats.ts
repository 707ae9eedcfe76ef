/** Types of audio files by their extensions. */
const TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  m4b: "audio/mp4",
  mp4: "audio/mp4",
  aac: "audio/aac",
  flac: "audio/flac",
  ogg: "audio/ogg",
  oga: "audio/ogg",
  opus: 'audio/ogg; codecs="opus"',
  wav: "audio/wav",
  webm: "audio/webm",
  aif: "audio/aiff",
  aiff: "audio/aiff",
  wma: "audio/x-ms-wma",
  wv: "audio/x-wavpack",
  ape: "audio/x-ape",
  dsf: "audio/x-dsf",
};

/** Returns the extension of a target of the server, in lower case. */
export function extensionOf(file: string): string {
  return /\.([a-z0-9]+)$/i.exec(file)?.[1]?.toLowerCase() ?? "";
}

/** Source that a media element could not play. */
export interface FailedSource {
  /** Status of a response for the source. */
  readonly status: number;
  /** True if the file itself is damaged, as the browser says. */
  readonly isDamaged: boolean;
  /** True if the source is the track as Opus, and not its file. */
  readonly isTranscoded: boolean;
  /** True if the browser can play the file. */
  readonly isFilePlayable: boolean;
}

/**
 * What the player does about a source that it could not play: `file` plays the file of the track
 * instead; all others skip the track, for this reason.
 */
type Reaction = "file" | "busy" | "missing" | "denied" | "failed" | "broken" | "format";

/** Returns what the player does about a source that it could not play. */
export function reactionTo({ status, isDamaged, isTranscoded, isFilePlayable }: FailedSource): Reaction {
  if (isTranscoded && isFilePlayable) return "file";
  if (status === 429 || status === 503) return "busy";
  if (status === 403) return "denied";
  if (status === 404 || status === 410) return "missing";
  if (status === 422) return "broken";
  if (status >= 400) return "failed";
  return isDamaged ? "broken" : "format";
}

/**
 * Returns whether a player may be able to play a file. Files of unknown types are tried.
 *
 * @param canPlayType method of a media element
 */
export function mayPlay(file: string, canPlayType: (type: string) => string): boolean {
  const type = TYPES[extensionOf(file)];
  return type === undefined || canPlayType(type) !== "";
}
