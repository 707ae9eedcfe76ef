import { useEffect, useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { IconButton } from "../ui/button.tsx";
import { Buttons, Seek, Volume } from "./controls.tsx";
import { Cover } from "./cover.tsx";
import { Heart } from "./favourites.tsx";
import { startOf, useLoaded } from "./load.ts";
import { LyricsButton } from "./lyrics-button.tsx";
import { present } from "./player.ts";
import { QueueList } from "./queue-list.tsx";
import { SoundChoice } from "./sound-choice.tsx";
import { Stars } from "./stars.tsx";
import { tintStyle } from "./tint.ts";
import { ArtistLink } from "./track-row.tsx";
import type { Album } from "./types.ts";

/** Present track on the whole screen, with the queue where there is room. */
export function NowPlaying({ onClose, showQueue, showLyrics }: { onClose: () => void; showQueue: () => void; showLyrics: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const track = present.value?.track;
  const { value: album } = useLoaded<Album>(track?.albumId ? startOf(`/albums/${track.albumId}`) : null);
  if (!track) return null;
  // Closes the dialog after a click on a link, whose view opens behind the dialog.
  const closeOnLink = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest("a")) onClose();
  };
  return (
    <dialog ref={dialog} class="now" style={tintStyle(album.value?.placeholder)} aria-label={t("music.nowPlaying")} onClose={onClose} onClick={closeOnLink}>
      <header>
        <IconButton icon="close" label={t("close")} onClick={onClose} />
        <a class="dim" dir="auto" href={href(`music/albums/${track.albumId}`)}>
          {track.album}
        </a>
        <span class="now-queue">
          <IconButton icon="queue" label={t("music.queue")} onClick={showQueue} />
        </span>
      </header>
      <div class="now-main">
        <Cover cover={track.cover} placeholder={album.value?.placeholder} sizes="(max-width: 720px) 86vw, 60vh" />
        <div class="now-text">
          <h2 dir="auto">{track.title}</h2>
          <p>
            <ArtistLink track={track} />
          </p>
          <div class="player-more">
            <Stars track={track} />
            <Heart id={track.id} />
            <LyricsButton onClick={showLyrics} />
          </div>
        </div>
        <Seek />
        <Buttons />
        <Volume />
        <SoundChoice />
      </div>
      <aside class="scrolls" aria-label={t("music.queue")}>
        <QueueList scroller=".scrolls" />
      </aside>
    </dialog>
  );
}
