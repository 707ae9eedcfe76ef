import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { bytes, number, t } from "../i18n/messages.ts";
import { formatName } from "../photos/details.ts";
import { Button } from "../ui/button.tsx";
import { reasonOf } from "./problem.ts";
import { type Recipe, queryOf } from "./recipe.ts";
import { bytesOf } from "./variant.ts";

const FORMATS = ["avif", "webp", "jpeg"] as const;
const QUALITIES = ["40", "60", "75", "85", "95"] as const;
/** Number of variants that are requested at once. */
const AT_ONCE = 2;

interface Props {
  readonly file: string;
  readonly recipe: Recipe;
  readonly choose: (format: string, q: string) => void;
}

/** Table of the bytes of each format at several qualities, which are requested on demand. */
export function Matrix({ file, recipe, choose }: Props) {
  const sizes = useSignal<ReadonlyMap<string, number | Error>>(new Map());
  const isRunning = useSignal(false);
  const abort = useRef<AbortController | null>(null);
  const others = queryOf({ ...recipe, format: "", q: "" });
  const stop = () => {
    abort.current?.abort();
    isRunning.value = false;
  };
  useEffect(() => {
    sizes.value = new Map();
    return stop;
  }, [others]);

  const measure = async () => {
    stop();
    const running = new AbortController();
    abort.current = running;
    isRunning.value = true;
    sizes.value = new Map();
    const waiting = FORMATS.flatMap((format) => QUALITIES.map((q) => ({ format, q })));
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const size = await bytesOf(file, { ...recipe, ...next }, running.signal).catch((reason: unknown) => new Error(reasonOf(reason).sentence));
        if (running.signal.aborted) return;
        sizes.value = new Map([...sizes.value, [`${next.format} ${next.q}`, size]]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (!running.signal.aborted) isRunning.value = false;
  };
  const most = Math.max(1, ...[...sizes.value.values()].map((size) => (typeof size === "number" ? size : 0)));
  return (
    <section class="play-matrix card">
      <header>
        <h2>{t("play.matrix")}</h2>
        <Button disabled={isRunning.value} onClick={() => void measure()}>
          {t(isRunning.value ? "play.measuring" : "play.measure")}
        </Button>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">{t("play.format")}</span>
            </th>
            {QUALITIES.map((q) => (
              <th scope="col" class="number">
                q {q}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {FORMATS.map((format) => (
            <tr>
              <th scope="row">{formatName(`image/${format}`)}</th>
              {QUALITIES.map((q) => {
                const size = sizes.value.get(`${format} ${q}`);
                const isFailed = size instanceof Error;
                const label = isFailed ? "!" : size ? short(size) : "–";
                const reason = isFailed ? size.message : undefined;
                const isChosen = recipe.format === format && recipe.q === q;
                return (
                  <td>
                    <button
                      type="button"
                      aria-pressed={isChosen}
                      title={reason}
                      aria-label={`${formatName(`image/${format}`)}, q ${q}: ${reason ?? label}`}
                      onClick={() => choose(format, q)}
                    >
                      {label}
                      <span style={{ inlineSize: `${(100 * (isFailed ? 0 : (size ?? 0))) / most}%` }} />
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Returns a number of bytes in at most seven characters: `0.9 kB` rather than `876 byte`. */
function short(size: number): string {
  return size < 1000 ? number(size / 1000, { style: "unit", unit: "kilobyte", unitDisplay: "short", maximumFractionDigits: 1 }) : bytes(size);
}
