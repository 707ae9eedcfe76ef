import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { addCommands } from "../keys.ts";
import { navigate } from "../router.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { around } from "./videos.ts";

/** Video of a folder. */
export interface Video {
  /** Path of the file, relative to the server's root. */
  readonly file: string;
  readonly name: string;
}

interface Props {
  videos: readonly Video[];
  /** Name of the video that is shown. */
  name: string;
  /** Path of the folder's view. */
  path: string;
}

/** Leaves the arrow keys to the video, whose controls seek and set the volume with them. */
function keepArrows(event: KeyboardEvent): void {
  if (event.key.startsWith("Arrow")) event.stopPropagation();
}

/** Viewer of the videos of a folder, over the folder's view. */
export function VideoViewer({ videos, name, path }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const failed = useSignal("");
  const { video, previous, next } = around(videos, name);
  const show = (other: Video | undefined) => other && navigate(path, { query: { video: other.name }, replace: true });
  const close = () => navigate(path, { replace: true });
  const latest = useRef({ previous, next });
  latest.current = { previous, next };
  // Before the next paint, after which the view behind the viewer, which is inert, loses the focus.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    root.current?.focus({ preventScroll: true });
    const others = document.querySelectorAll<HTMLElement>(".rail, .top, .skip, .player, .queue-panel");
    for (const other of others) other.inert = true;
    const remove = addCommands({
      title: "viewer.label",
      commands: [
        { keys: ["Escape"], label: "viewer.close", run: close },
        {
          keys: ["ArrowRight", "ArrowLeft"],
          label: "viewer.keys.video",
          run: (key) => {
            const isNext = (key === "ArrowRight") === (document.dir !== "rtl");
            show(isNext ? latest.current.next : latest.current.previous);
          },
        },
      ],
    });
    return () => {
      remove();
      for (const other of others) other.inert = false;
      // The tile of the video can be focused only once the view behind the viewer is not inert.
      setTimeout(() => opener instanceof HTMLElement && opener.focus());
    };
  }, []);
  useEffect(() => {
    // The button or video that had the focus may be gone.
    if (document.activeElement === document.body) root.current?.focus({ preventScroll: true });
  }, [name]);
  const isFailed = !video || failed.value === name;
  return (
    <div ref={root} class="viewer" role="dialog" aria-modal="true" aria-label={name} tabIndex={-1}>
      <header class="viewer-bar">
        <IconButton icon="back" label={t("viewer.close")} onClick={close} />
        <span class="viewer-name">
          <bdi>{name}</bdi>
        </span>
        {previous && <IconButton icon="previous" label={t("viewer.previousVideo")} onClick={() => show(previous)} />}
        {next && <IconButton icon="next" label={t("viewer.nextVideo")} onClick={() => show(next)} />}
        {video && (
          <a class="icon-button" href={url(video.file)} download title={t("viewer.original")} aria-label={t("viewer.original")}>
            <Icon name="download" />
          </a>
        )}
      </header>
      <div class="viewer-main">
        {!isFailed && (
          <video
            key={name}
            class="video"
            src={url(video.file)}
            controls
            autoplay
            playsInline
            preload="metadata"
            aria-label={name}
            onKeyDown={keepArrows}
            onError={() => (failed.value = name)}
          />
        )}
        {isFailed && (
          <div class="viewer-failed" role="alert">
            <Icon name="warning" />
            <strong>{t(video ? "viewer.videoFailed" : "viewer.videoGone")}</strong>
          </div>
        )}
      </div>
    </div>
  );
}
