import { effect } from "@preact/signals";

import { url } from "../base.ts";
import { isPlaying, length, next, position, present, previous, seek, toggle } from "./player.ts";

/**
 * Tells the operating system which track plays, and handles its media keys. As "seekbackward" and
 * "seekforward" have no handlers, iPhones show the keys for the previous and the next track.
 */
export function startMediaSession(): () => void {
  const session = navigator.mediaSession;
  if (!session) return () => undefined;
  session.setActionHandler("play", () => !isPlaying.value && toggle());
  session.setActionHandler("pause", () => isPlaying.value && toggle());
  session.setActionHandler("previoustrack", previous);
  session.setActionHandler("nexttrack", next);
  session.setActionHandler("seekto", ({ seekTime }) => seek(seekTime ?? 0));
  const stopTrack = effect(() => {
    const track = present.value?.track;
    const src = track?.cover && new URL(url(`${track.cover}?w=600`), location.href).href;
    session.metadata = track
      ? new MediaMetadata({ title: track.title, artist: track.artist, album: track.album ?? "", artwork: src ? [{ src, sizes: "600x600" }] : [] })
      : null;
  });
  const stopState = effect(() => {
    session.playbackState = !present.value ? "none" : isPlaying.value ? "playing" : "paused";
    const duration = length.value;
    if (present.value && duration > 0) session.setPositionState({ duration, position: Math.min(position.value, duration) });
  });
  return () => {
    stopTrack();
    stopState();
  };
}
