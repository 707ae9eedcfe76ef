import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { percent } from "./format.ts";
import { type Frame, boxes, neighbour } from "./stacks.ts";

/** Height of a row, in CSS pixels. */
const ROW = 22;
/** Least width of a rectangle, as a share of the graph: about two pixels on a wide screen. */
const WIDTH_MIN = 0.0015;

/** Flame graph of a profile: callees are below their caller, and as wide as their share of samples. */
export function Flame({ root }: { root: Frame }) {
  const shown = useSignal(root);
  const selected = useSignal<Frame | null>(null);
  const drawn = useMemo(() => boxes(shown.value, WIDTH_MIN), [shown.value]);
  const rows = drawn.reduce((most, box) => Math.max(most, box.depth + 1), 0);
  // A second click on a function enlarges it.
  const choose = (frame: Frame) => {
    if (selected.value === frame) shown.value = frame;
    selected.value = frame;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const present = selected.value ?? root;
    const next = event.key === "Enter" ? present : neighbour(present, event.key);
    if (!next) return;
    event.preventDefault();
    if (event.key === "Enter") shown.value = next;
    selected.value = next;
  };
  const present = selected.value;
  return (
    <>
      <div class="flame-bar">
        <p aria-live="polite">{present?.caller ? <Share of={present} root={root} /> : t("ops.profile.help")}</p>
        <Button disabled={shown.value === root} onClick={() => (shown.value = root)}>
          {t("ops.profile.whole")}
        </Button>
      </div>
      <div class="flame" dir="ltr" role="application" tabIndex={0} aria-label={t("ops.profile.graph")} onKeyDown={onKeyDown}>
        <div style={{ blockSize: `${rows * ROW}px` }}>
          {drawn.map(({ frame, depth, left, width }) => (
            <div
              class={frame === present ? "selected" : undefined}
              style={{ left: `${left * 100}%`, inlineSize: `${width * 100}%`, insetBlockStart: `${depth * ROW}px`, background: colourOf(frame.name) }}
              title={frame.name}
              onClick={() => choose(frame)}
            >
              {width > 0.02 && frame.name}
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

/** Name of a function with its share of all samples, and of those in which it ran itself. */
function Share({ of, root }: { of: Frame; root: Frame }) {
  return (
    <>
      <code dir="ltr">{of.name}</code>{" "}
      <b class="number">{t("ops.profile.share", { share: percent(of.count / root.count), own: percent(of.own / root.count) })}</b>
    </>
  );
}

/** Returns the colour of a function, which is the same in all profiles. Names in brackets are no functions. */
function colourOf(name: string): string {
  if (name.startsWith("[")) return "#b9c2c2";
  let hash = 7;
  for (const character of name) hash = (Math.imul(hash, 31) ^ (character.codePointAt(0) ?? 0)) >>> 0;
  return `hsl(${15 + (hash % 40)} 80% ${64 + ((hash >>> 6) % 14)}%)`;
}
