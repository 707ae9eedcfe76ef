import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { ApiError } from "../api.ts";
import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { addCommands } from "../keys.ts";
import { href, navigate } from "../router.ts";
import { session } from "../session.ts";
import { openShare } from "../share/open.ts";
import { IconButton } from "../ui/button.tsx";
import { originalOf } from "../ui/download.ts";
import { Icon } from "../ui/icon.tsx";
import { MenuButton, MenuHost } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { copyLinks, setFavourite } from "./actions.ts";
import { Compare } from "./compare.tsx";
import { detailsOf } from "./details.ts";
import { Info } from "./info.tsx";
import { neighbourOf, pictureOf } from "./neighbours.ts";
import { favourites } from "./selection.ts";
import { Slide } from "./slide.ts";
import type { Source } from "./source.ts";
import { Stage } from "./stage.ts";
import { labelOf, nameOf } from "./names.ts";
import { playgroundOf } from "./paths.ts";

interface Props {
  source: Source;
  id: string;
  go: (id: string) => void;
  close: () => void;
  /** Address of the thumbnail that the timeline shows of a picture, or empty. */
  thumbnailOf: (id: string) => string;
  rectOf: (id: string) => DOMRect | undefined;
  /** Called with the last picture and its month when the viewer has closed. */
  onLeave: (id: string, month: string) => void;
}

/** Returns whether the user prefers reduced motion. */
const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Time for which the slide show shows a picture, in milliseconds. */
const SLIDE_MS = 5000;

/** Viewer of single pictures over the timeline. */
export function Viewer({ source, id, go, close, thumbnailOf, rectOf, onLeave }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const stage = useRef<Stage | null>(null);
  const slides = useRef(new Map<string, Slide>());
  const around = useRef<{ previous: string | null; next: string | null }>({ previous: null, next: null });
  const present = useSignal<Slide | null>(null);
  /** Counter of changes of the slides, which are not signals themselves. */
  const version = useSignal(0);
  const error = useSignal<unknown>(null);
  const hasInfo = useSignal(false);
  const isPlaying = useSignal(false);
  const isBare = useSignal(false);
  const isMoving = useSignal(false);
  const isComparing = useSignal(false);
  const turn = (by: -1 | 1) => {
    const target = by > 0 ? around.current.next : around.current.previous;
    if (target) go(target);
    else isPlaying.value = false;
  };
  const motion = present.value?.details?.motion;
  const latest = useRef({ turn, close, motion });
  latest.current = { turn, close, motion };

  useEffect(() => {
    const made = new Stage(surface.current as HTMLElement, {
      turn: (by) => latest.current.turn(by),
      close: () => latest.current.close(),
      tap: () => {
        // A slide show hides the bar, so that a finger has no other way to end it.
        if (isPlaying.value) isPlaying.value = false;
        else isBare.value = !isBare.value;
      },
      zoomed: () => (version.value += 1),
      hold: () => (isMoving.value = Boolean(latest.current.motion) && !isStill()),
      release: () => (isMoving.value = false),
    });
    stage.current = made;
    root.current?.focus({ preventScroll: true });
    const others = document.querySelectorAll<HTMLElement>(".rail, .top, .skip, .player, .queue-panel");
    for (const other of others) other.inert = true;
    return () => {
      for (const other of others) other.inert = false;
      made.dispose();
      for (const slide of slides.current.values()) slide.dispose();
      const last = present.peek();
      if (last) onLeave(last.picture.id, last.picture.date.slice(0, 7));
      if (document.fullscreenElement) void document.exitFullscreen();
    };
  }, []);

  useEffect(() => {
    let isCurrent = true;
    const slideOf = (picture: Parameters<typeof labelOf>[0]) => {
      const slide =
        slides.current.get(picture.id) ??
        new Slide(picture, thumbnailOf(picture.id), detailsOf(picture.id, source.search()), () => (version.value += 1));
      slides.current.set(picture.id, slide);
      return slide;
    };
    const show = async () => {
      const picture = await pictureOf(source, id);
      if (!isCurrent) return;
      const isOpening = present.peek() === null;
      const middle = slideOf(picture);
      error.value = null;
      present.value = middle;
      around.current = { previous: null, next: null };
      stage.current?.show([null, middle, null]);
      const rect = isOpening ? rectOf(id) : undefined;
      if (rect) middle.growFrom(rect);
      const [previous, next] = await Promise.all([neighbourOf(source, id, -1), neighbourOf(source, id, 1)]);
      if (!isCurrent) return;
      around.current = { previous: previous?.id ?? null, next: next?.id ?? null };
      stage.current?.show([previous && slideOf(previous), middle, next && slideOf(next)]);
      version.value += 1;
      const kept = new Set([id, previous?.id, next?.id]);
      for (const [other, slide] of slides.current) {
        if (kept.has(other)) continue;
        slide.dispose();
        slides.current.delete(other);
      }
    };
    isMoving.value = false;
    isComparing.value = false;
    show().catch((reason: unknown) => {
      if (isCurrent) error.value = reason;
    });
    return () => {
      isCurrent = false;
    };
  }, [id, source]);

  useEffect(() => {
    if (!isPlaying.value) return;
    const timer = setTimeout(() => latest.current.turn(1), SLIDE_MS);
    return () => clearTimeout(timer);
  }, [isPlaying.value, id]);

  const isFavourite = favourites.value.has(id);
  const favour = () => void setFavourite([id], !isFavourite);
  const toggleSlides = () => (isPlaying.value = !isPlaying.value);
  const toggleComparison = () => (isComparing.value = !isComparing.value);
  const openPlayground = () => navigate("playground", { query: playgroundOf(id) });
  const full = () => void (document.fullscreenElement ? document.exitFullscreen() : root.current?.requestFullscreen?.());
  const save = useRef<HTMLAnchorElement>(null);
  useLayoutEffect(
    () =>
      addCommands({
        title: "viewer.label",
        commands: [
          { keys: ["Escape"], label: "viewer.close", run: () => (isComparing.value ? (isComparing.value = false) : latest.current.close()) },
          {
            keys: ["ArrowRight", "ArrowLeft"],
            label: "photos.keys.photo",
            run: (key) => latest.current.turn((key === "ArrowRight") === (document.dir !== "rtl") ? 1 : -1),
          },
          { keys: ["c"], label: "compare.open", run: toggleComparison },
          { keys: ["o"], label: "viewer.playground", run: openPlayground },
          { keys: ["i"], label: "viewer.info", run: () => (hasInfo.value = !hasInfo.value) },
          { keys: ["f"], label: "photos.favourite", run: favour },
          { keys: ["z"], label: "viewer.zoom", run: () => stage.current?.toggle({ x: 0, y: 0 }) },
          { keys: ["+", "="], label: "viewer.zoomIn", run: () => stage.current?.zoomBy(1.5) },
          { keys: ["-"], label: "viewer.zoomOut", run: () => stage.current?.zoomBy(1 / 1.5) },
          { keys: ["0"], label: "viewer.fit", run: () => stage.current?.zoomBy(0) },
          { keys: ["v"], label: "viewer.motion", run: () => (isMoving.value = Boolean(latest.current.motion) && !isMoving.value) },
          { keys: [" ", "s"], label: "viewer.play", run: toggleSlides },
          { keys: ["F"], label: "viewer.full", run: full },
          { keys: ["D"], label: "viewer.original", run: () => save.current?.click() },
        ],
      }),
    [id, isFavourite],
  );

  void version.value;
  const slide = present.value;
  const { previous, next } = around.current;
  return (
    <div
      ref={root}
      class={`viewer${isBare.value || isPlaying.value ? " bare" : ""}${hasInfo.value ? " with-info" : ""}`}
      role="dialog"
      aria-modal="true"
      aria-label={slide ? labelOf(slide.picture) : t("viewer.label")}
      tabIndex={-1}
    >
      <header class="viewer-bar">
        <IconButton icon="back" label={t("viewer.close")} onClick={close} />
        <span class="viewer-name">
          <bdi>{slide && nameOf(slide.picture)}</bdi>
        </span>
        <span class="wide">
          <IconButton
            icon={isPlaying.value ? "pause" : "play"}
            label={t(isPlaying.value ? "viewer.stop" : "viewer.play")}
            onClick={toggleSlides}
          />
          <IconButton icon="full" label={t("viewer.full")} onClick={full} />
          <a
            class="icon-button"
            href={href("playground", playgroundOf(id))}
            title={t("viewer.playground")}
            aria-label={t("viewer.playground")}
          >
            <Icon name="settings" />
          </a>
          <IconButton icon="compare" pressed={isComparing.value} label={t("compare.open")} onClick={toggleComparison} />
        </span>
        {session.value.name !== null && slide ? (
          <IconButton icon="link" label={t("photos.share")} onClick={() => void openShare({ item: id, name: nameOf(slide.picture) })} />
        ) : (
          <IconButton icon="link" label={t("photos.copyLink")} onClick={() => void copyLinks([id])} />
        )}
        {slide && (
          <a
            ref={save}
            class="icon-button"
            href={originalOf("pictures", slide.picture.id)}
            download
            title={t("viewer.original")}
            aria-label={t("viewer.original")}
          >
            <Icon name="download" />
          </a>
        )}
        <IconButton
          icon="heart"
          filled={isFavourite}
          pressed={isFavourite}
          label={t(isFavourite ? "photos.unfavourite" : "photos.favourite")}
          onClick={favour}
        />
        <IconButton icon="info" pressed={hasInfo.value} label={t("viewer.info")} onClick={() => (hasInfo.value = !hasInfo.value)} />
        <span class="narrow">
          <MenuButton
            label={t("viewer.more")}
            items={() => [
              { icon: "play", label: t("viewer.play"), run: toggleSlides },
              // iPhones show only videos in full screen.
              ...(document.fullscreenEnabled ? [{ icon: "full", label: t("viewer.full"), run: full } as const] : []),
              { icon: "compare", label: t("compare.open"), run: toggleComparison },
              { icon: "settings", label: t("viewer.playground"), run: openPlayground },
            ]}
          />
        </span>
      </header>
      <div class="viewer-main">
        <div ref={surface} class="stage" />
        {previous && <TurnButton isNext={false} onClick={() => turn(-1)} />}
        {next && <TurnButton isNext onClick={() => turn(1)} />}
        {slide && slide.error !== null && <Failed title={t("viewer.failed")} reason={slide.error} />}
        {error.value !== null && <Failed {...reasonOf(error.value)} />}
        {isComparing.value && slide && <Compare key={slide.picture.id} slide={slide} close={() => (isComparing.value = false)} />}
        {motion && !isMoving.value && (
          <button type="button" class="button motion" onClick={() => (isMoving.value = true)}>
            <Icon name="play" />
            {t("viewer.motion")}
          </button>
        )}
        {motion && isMoving.value && (
          <video
            class="motion-video"
            src={url(motion)}
            autoplay
            muted
            playsInline
            aria-label={t("viewer.motion")}
            onEnded={() => (isMoving.value = false)}
            onError={() => {
              isMoving.value = false;
              toast(t("viewer.videoFailed"));
            }}
          />
        )}
      </div>
      {hasInfo.value && slide && <Info slide={slide} />}
      <MenuHost />
    </div>
  );
}

function TurnButton({ isNext, onClick }: { isNext: boolean; onClick: () => void }) {
  return (
    <span class={`turn ${isNext ? "turn-next" : "turn-previous"}`}>
      <IconButton icon={isNext ? "forward" : "back"} label={t(isNext ? "viewer.next" : "viewer.previous")} onClick={onClick} />
    </span>
  );
}

function Failed({ title, reason }: { title: string; reason: string }) {
  return (
    <div class="viewer-failed" role="alert">
      <Icon name="warning" />
      <strong>{title}</strong>
      <p dir="auto">{reason}</p>
    </div>
  );
}

function reasonOf(error: unknown): { title: string; reason: string } {
  if (error instanceof ApiError && error.status === 404) return { title: t("viewer.gone"), reason: "" };
  if (error instanceof ApiError && error.status === 0) return { title: t("error.unreachable"), reason: "" };
  return { title: t("viewer.failed"), reason: error instanceof Error ? error.message : "" };
}
