import { type Signal } from "@preact/signals";

import { oneOf, stored } from "../settings.ts";
import type { ReplayGain } from "./types.ts";

/** Gains that the player can apply. */
export const GAIN_MODES = ["off", "track", "album"] as const;
export type GainMode = (typeof GAIN_MODES)[number];

/** Qualities of the music: the file as it is, or Opus with at most this bit rate in kbit/s. */
export const QUALITIES = ["original", "192", "128", "96", "64"] as const;
export type Quality = (typeof QUALITIES)[number];

export const gainMode: Signal<GainMode> = stored("music.gain", "off", oneOf(GAIN_MODES));
export const quality: Signal<Quality> = stored("music.quality", "original", oneOf(QUALITIES));

/**
 * Returns the factor for the amplitude of a track. If one of the two gains is missing, the other
 * one is used. The peak limits the factor, so that the track is not clipped.
 */
export function gainFactor(gain: ReplayGain | undefined, mode: GainMode): number {
  if (!gain || mode === "off") return 1;
  const ofTrack = { db: gain.trackGain, peak: gain.trackPeak };
  const ofAlbum = { db: gain.albumGain, peak: gain.albumPeak };
  const [first, second] = mode === "track" ? [ofTrack, ofAlbum] : [ofAlbum, ofTrack];
  const { db, peak } = first.db === undefined ? second : first;
  if (db === undefined || !Number.isFinite(db)) return 1;
  const factor = 10 ** (db / 20);
  return peak !== undefined && peak > 0 ? Math.min(factor, 1 / peak) : factor;
}

/**
 * Returns the volume of an element, from 0 to 1, for a track with a gain. A positive
 * gain has no effect beyond full volume.
 *
 * @param loudness from 0 to 1, as the user sets it
 */
export function volumeFor(loudness: number, gain: ReplayGain | undefined, mode: GainMode): number {
  return Math.min(1, loudness ** 2 * gainFactor(gain, mode));
}

/**
 * Returns the URL path from which the player loads `track` at the quality `wanted`.
 *
 * @param isPlayable whether the browser can play the file of the track
 * @param isOpusPlayable whether the browser can play Opus
 */
export function targetOf(track: { readonly id: string; readonly file: string }, wanted: Quality, isPlayable: boolean, isOpusPlayable: boolean): string {
  if (!isOpusPlayable || (isPlayable && wanted === "original")) return track.file;
  const format = isPlayable ? "" : "format=opus&";
  return `/-/api/tracks/${track.id}/stream?${format}bitrate=${wanted === "original" ? 192 : wanted}`;
}
