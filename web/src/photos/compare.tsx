import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { url } from "../base.ts";
import { bytes, number, t } from "../i18n/messages.ts";
import { IconButton } from "../ui/button.tsx";
import { originalOf } from "../ui/download.ts";
import { type ComparedPicture, type Comparison, compare, encoderOf, loadSent, meaningOf, savingOf } from "./comparison.ts";
import { formatName } from "./details.ts";
import type { Slide } from "./slide.ts";
import { type Size, fitted, rung } from "./zoom.ts";

/** Magnification of the close view. */
const CLOSE = 4;

/**
 * Original and the variant that this browser gets, one over the other, with a slider between them.
 * A click magnifies both around the pointer.
 */
export function Compare({ slide, close }: { slide: Slide; close: () => void }) {
  const root = useRef<HTMLDivElement>(null);
  const stage = useSignal<Size | null>(null);
  const sent = useSignal<string | null>(null);
  const result = useSignal<Comparison | null>(null);
  const error = useSignal<string | null>(null);
  const share = useSignal(50);
  const isClose = useSignal(false);
  const point = useSignal({ x: 50, y: 50 });
  const hasFallback = useSignal(false);
  const { id, file } = slide.picture;

  useEffect(() => {
    const element = root.current as HTMLElement;
    const observer = new ResizeObserver(() => (stage.value = { width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const fit = stage.value && fitted(slide.natural, stage.value);
  const width = fit ? rung(fit.width * devicePixelRatio * (isClose.value ? CLOSE : 1), slide.natural.width) : null;
  useEffect(() => {
    if (width === null) return;
    const abort = new AbortController();
    let address = "";
    const load = async () => {
      const picture = await loadSent(file, width, abort.signal);
      address = picture.address;
      if (abort.signal.aborted) return URL.revokeObjectURL(address);
      sent.value = address;
      result.value = null;
      result.value = await compare(id, width ? `w=${width}` : "", picture.accept, abort.signal);
    };
    error.value = null;
    load().catch((reason: unknown) => {
      if (!abort.signal.aborted) error.value = reason instanceof Error ? reason.message : "";
    });
    return () => {
      abort.abort();
      URL.revokeObjectURL(address);
    };
  }, [id, width]);

  const magnify = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    point.value = { x: (100 * (event.clientX - box.x)) / box.width, y: (100 * (event.clientY - box.y)) / box.height };
    isClose.value = !isClose.value;
  };
  const fallback = width === null ? undefined : `${url(file)}?format=png${width > 0 ? `&w=${width}` : ""}`;
  const original = hasFallback.value ? fallback : originalOf("pictures", id);
  const size = fit ? { width: `${fit.width}px`, height: `${fit.height}px` } : {};
  const transform = isClose.value ? { transform: `scale(${CLOSE})`, transformOrigin: `${point.value.x}% ${point.value.y}%` } : {};
  return (
    <div class="compare">
      <div class="compare-stage" ref={root}>
        <div class={isClose.value ? "compare-frame close" : "compare-frame"} style={size} onClick={magnify}>
          <img src={original} alt="" draggable={false} style={transform} onError={() => (hasFallback.value = true)} />
          {sent.value && (
            <span class="compare-sent" style={{ clipPath: `inset(0 0 0 ${share.value}%)` }}>
              <img src={sent.value} alt="" draggable={false} style={transform} />
            </span>
          )}
          <span class="compare-line" style={{ left: `${share.value}%` }} />
        </div>
        <input
          type="range"
          class="compare-slider"
          min="0"
          max="100"
          step="0.5"
          dir="ltr"
          value={share.value}
          aria-label={t("compare.slider")}
          style={fit ? { width: size.width } : {}}
          onInput={(event) => (share.value = Number(event.currentTarget.value))}
        />
      </div>
      <Facts result={result.value} error={error.value} close={close} />
    </div>
  );
}

/**
 * Formats, sizes and quality of both pictures. All lines have their room from the beginning, so
 * that the pictures above do not move when the comparison arrives.
 */
function Facts({ result, error, close }: { result: Comparison | null; error: string | null; close: () => void }) {
  const score = result?.ssimulacra2;
  const isComputing = !result && error === null;
  return (
    <div class="compare-facts" role="status" dir="auto">
      <div class="compare-figures">
        <dl>
          <Figure label={t("compare.original")} value={formatAndBytes(result?.original)}>
            {result ? pixelsOf(result.original) : UNKNOWN}
          </Figure>
          <Figure label={t("compare.sent")} value={formatAndBytes(result?.sent)}>
            {result ? [pixelsOf(result.sent), !result.isOriginal && savingOf(result)].filter(Boolean).join(" · ") : UNKNOWN}
          </Figure>
          <Figure
            isHidden={score === undefined && !isComputing}
            label={score === undefined ? t("compare.computing") : t(meaningOf(score))}
            title={t("compare.score.title")}
            value={t("compare.score", { score: score === undefined ? UNKNOWN : number(score, { maximumFractionDigits: 1 }) })}
          >
            {result && score !== undefined ? encoderOf(result.sent) : UNKNOWN}
          </Figure>
        </dl>
        <p>{error === null ? result && remarkOn(result) : `${t("compare.failed")}: ${error}`}</p>
      </div>
      <IconButton icon="close" label={t("compare.close")} onClick={close} />
    </div>
  );
}

/** Text in place of a figure that is not known yet. */
const UNKNOWN = "…";

function formatAndBytes(picture: ComparedPicture | undefined): string {
  return picture ? `${formatName(`image/${picture.format}`)} · ${bytes(picture.bytes)}` : UNKNOWN;
}

function pixelsOf({ width, height }: ComparedPicture): string {
  return `${width} × ${height}`;
}

/** Returns the sentences on what is unusual about a comparison. */
function remarkOn({ isOriginal, ssimulacra2, sent }: Comparison): string {
  if (isOriginal) return t("compare.same");
  const remarks = [ssimulacra2 === undefined && t("compare.tooLarge"), sent.isProvisional && t("compare.provisional")];
  return remarks.filter(Boolean).join(". ");
}

interface FigureProps {
  label: string;
  value: string;
  title?: string;
  isHidden?: boolean;
  children: string;
}

function Figure({ label, value, title, isHidden, children }: FigureProps) {
  return (
    <div {...(title ? { title } : {})} {...(isHidden ? { class: "hidden" } : {})}>
      <dt>{label}</dt>
      <dd>
        <bdi>{value}</bdi>
        <small>
          <bdi>{children}</bdi>
        </small>
      </dd>
    </div>
  );
}
