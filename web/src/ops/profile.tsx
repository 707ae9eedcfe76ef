import "../shared.ts";

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, request } from "../api.ts";
import { url } from "../base.ts";
import { type MessageKey, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Flame } from "./flame.tsx";
import { percent, span } from "./format.ts";
import { Facts, Panel } from "./panel.tsx";
import { type Frame, hottest, unfold } from "./stacks.ts";

/** Durations that can be chosen, in seconds. Longer ones may exceed the time limit of a proxy. */
const SECONDS = [5, 10, 30] as const;
/** Processes that can be chosen, by the parameter `of`. */
const PROCESSES = ["all", "server", "workers"] as const;
/** Formats of downloads, with the names of the files. */
const FILES = { pprof: "pelton.pb.gz", folded: "pelton.folded", svg: "pelton.svg" };
/** Number of functions in the list of those that ran most. */
const HOTTEST = 10;
const TARGET = "/-/profile";

interface Profile {
  readonly root: Frame;
  readonly beginMs: number;
  readonly seconds: number;
  /** Samples that the kernel dropped. */
  readonly lost: number;
  /** Processes that the kernel refused to sample. */
  readonly refused: number;
}

/** Last profile; `null` before the first, `undefined` before the server has responded. */
const last = signal<Profile | null | undefined>(undefined);
const failure = signal<unknown>(null);
/** Recording that is in progress: its begin as the time of this page, and its duration. */
const recording = signal<{ readonly startMs: number; readonly seconds: number } | null>(null);

/** Gets a profile as folded stacks. A profile that fails leaves the last one as it is. */
async function load(target: string): Promise<void> {
  failure.value = null;
  try {
    const response = await request(target);
    const value = (name: string) => Number(response.headers.get(`pelton-profile-${name}`));
    const text = await response.text();
    last.value =
      response.status === 204
        ? null
        : { root: unfold(text), beginMs: value("begin-ms"), seconds: value("seconds"), lost: value("lost"), refused: value("refused") };
  } catch (error) {
    failure.value = error;
    last.value ??= null;
  }
}

async function record(seconds: number, of: string): Promise<void> {
  recording.value = { startMs: Date.now(), seconds };
  await load(`${TARGET}?format=folded&seconds=${seconds}&of=${of}`);
  recording.value = null;
}

/** View that records CPU profiles and shows the last one. */
export default function ProfileView() {
  useEffect(() => {
    if (!recording.value) void load(`${TARGET}/last?format=folded`);
  }, []);
  const profile = last.value;
  return (
    <>
      <Recorder />
      {failure.value !== null && <Refusal error={failure.value} />}
      {profile === undefined && <div class="loading" aria-busy="true" />}
      {profile === null && <p class="dim">{t("ops.profile.none")}</p>}
      {profile && <Shown profile={profile} key={profile.beginMs} />}
    </>
  );
}

/** Choices of a recording, and its progress, whose place is kept so that the graph below does not move. */
function Recorder() {
  const seconds = useSignal<number>(SECONDS[1]);
  const of = useSignal<string>(PROCESSES[0]);
  const now = useSignal(0);
  const present = recording.value;
  const length = present?.seconds ?? seconds.value;
  useEffect(() => {
    if (!present) return;
    const tick = () => (now.value = (Date.now() - present.startMs) / 1000);
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [present]);
  return (
    <Panel title="ops.profile.record">
      <p class="dim">{t("ops.profile.note")}</p>
      <form
        class="ops-record"
        onSubmit={(event) => {
          event.preventDefault();
          void record(seconds.value, of.value);
        }}
      >
        <label class="field">
          <span>{t("ops.profile.seconds")}</span>
          <select value={seconds.value} onChange={(event) => (seconds.value = Number(event.currentTarget.value))}>
            {SECONDS.map((it) => (
              <option value={it}>{span(it)}</option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>{t("ops.profile.of")}</span>
          <select value={of.value} onChange={(event) => (of.value = event.currentTarget.value)}>
            {PROCESSES.map((it) => (
              <option value={it}>{t(`ops.profile.${it}`)}</option>
            ))}
          </select>
        </label>
        <Button submit primary disabled={present !== null}>
          {t("ops.profile.record")}
        </Button>
        <div class="ops-bar" style={{ visibility: present ? "" : "hidden" }}>
          <progress aria-label={t("ops.profile.record")} max={length} value={Math.min(now.value, length)} />
          <span class="dim number">{t("ops.prefetch.left", { span: span(Math.ceil(length - now.value)) })}</span>
        </div>
      </form>
    </Panel>
  );
}

/** Sentences about a profile that was refused, and what to do. */
function Refusal({ error }: { error: unknown }) {
  const { status, retryAfter, advice } = error instanceof ApiError ? error : { status: -1, retryAfter: 0, advice: [] };
  const keys: Readonly<Record<number, MessageKey>> = {
    0: "error.unreachable",
    401: "ops.profile.admins",
    403: "ops.profile.admins",
    409: "ops.profile.busy",
    503: "ops.profile.refused",
  };
  return (
    <div class="card ops-refusal" role="alert">
      <p>{t(keys[status] ?? "error.failed", { span: span(retryAfter ?? 1) })}</p>
      {advice.map((sentence) => (
        <p class="dim" dir="auto">
          {sentence}
        </p>
      ))}
    </div>
  );
}

/** Flame graph of a profile, its hottest functions, and downloads. */
function Shown({ profile: { root, beginMs, seconds, lost, refused } }: { profile: Profile }) {
  const caption = [
    t("ops.profile.samples", { count: root.count }),
    span(seconds),
    new Date(beginMs).toLocaleString(document.documentElement.lang),
    lost > 0 && t("ops.profile.lost", { count: lost }),
    refused > 0 && t("ops.profile.unsampled", { count: refused }),
  ];
  return (
    <>
      <Panel title="ops.profile.graph">
        <p class="dim number">{caption.filter(Boolean).join(" · ")}</p>
        {root.count > 0 && <Flame root={root} />}
        <div class="ops-buttons">
          {Object.entries(FILES).map(([format, name]) => (
            <a class="button" href={url(`${TARGET}/last?format=${format}`)} download={name}>
              {name}
            </a>
          ))}
        </div>
      </Panel>
      <Panel title="ops.profile.hot">
        <Facts of={hottest(root, HOTTEST).map(([name, samples]) => [name, percent(samples / root.count)] as const)} />
      </Panel>
    </>
  );
}
