import { useSignal } from "@preact/signals";

import { bytes, number, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { type Action, Confirm } from "./confirm.tsx";
import type { Prefetch, Present } from "./document.ts";
import { span } from "./format.ts";
import { Facts, Panel } from "./panel.tsx";

const PURGE: Action = {
  method: "DELETE",
  target: "/variants",
  title: "ops.purge",
  text: "ops.purge.text",
  path: { parameter: "path", label: "ops.path.any" },
  isDanger: true,
  done: (response) => {
    const purged = response as { entries: number; bytes: number };
    return t("ops.purge.done", { count: purged.entries, size: bytes(purged.bytes) });
  },
};
const PREFETCH: Action = {
  method: "POST",
  target: "/prefetch",
  title: "ops.prefetch",
  text: "ops.prefetch.text",
  path: { parameter: "folder", label: "ops.path.folder" },
};
const CANCEL: Action = { method: "DELETE", target: "/prefetch", title: "ops.cancelPrefetch", text: "ops.cancelPrefetch.text" };

/** Panel of the cache of variants, with buttons that purge it and that fill it. */
export function CachePanel({ now: { variants, store, prefetch }, timeMs }: { now: Present; timeMs: number }) {
  const asked = useSignal<Action | null>(null);
  return (
    <Panel title="ops.budget.variants">
      <Facts
        of={[
          [t("ops.cached"), variants.entries],
          [t("ops.evicted"), variants.evicted],
          [t("ops.purged"), variants.purged],
          [t("ops.store"), t(store ? (store.isReachable ? "ops.store.reachable" : "ops.store.unreachable") : "ops.store.none")],
        ]}
      />
      {prefetch && <Progress prefetch={prefetch} timeMs={timeMs} />}
      <div class="ops-buttons">
        {prefetch?.isRunning ? (
          <Button icon="close" disabled={prefetch.isCancelled} onClick={() => (asked.value = CANCEL)}>
            {t("ops.cancelPrefetch")}
          </Button>
        ) : (
          <Button icon="download" onClick={() => (asked.value = PREFETCH)}>
            {t("ops.prefetch")}
          </Button>
        )}
        <Button icon="trash" onClick={() => (asked.value = PURGE)}>
          {t("ops.purge")}
        </Button>
      </div>
      {asked.value && <Confirm action={asked.value} onClose={() => (asked.value = null)} />}
    </Panel>
  );
}

/** Progress of the running prefetch, or the result of the latest one. Both times are the server's. */
function Progress({ prefetch, timeMs }: { prefetch: Prefetch; timeMs: number }) {
  const { isRunning, isCancelled, folder, done, pictures, created, failed, secondsLeft, endedMs } = prefetch;
  const ended = endedMs === null ? "" : t("ops.ago", { span: span((timeMs - endedMs) / 1000) });
  const left = secondsLeft === null ? "" : t("ops.prefetch.left", { span: span(secondsLeft) });
  return (
    <div class="ops-bar">
      <div>
        <b dir="auto">{folder ?? t("ops.path.all")}</b>
        <span class="dim number">{isRunning ? left : isCancelled ? t("ops.prefetch.cancelled", { ago: ended }) : ended}</span>
      </div>
      {isRunning && <progress aria-label={t("ops.prefetch")} value={done} max={Math.max(1, pictures)} />}
      <div class="dim">
        <span>{t("ops.prefetch.done", { done: number(done), of: number(pictures) })}</span>
        <span class="number">{t("ops.prefetch.made", { count: created, size: bytes(prefetch.bytes) })}</span>
      </div>
      {failed > 0 && <p class="ops-stale">{t("ops.prefetch.failed", { count: failed })}</p>}
    </div>
  );
}
