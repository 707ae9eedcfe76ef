import { useSignal } from "@preact/signals";

import { number, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { type Action, Confirm } from "./confirm.tsx";
import type { Present } from "./document.ts";
import { short, span } from "./format.ts";
import { Facts, Panel } from "./panel.tsx";

const RESCAN: Action = { method: "POST", target: "/scan", title: "ops.rescan", text: "ops.rescan.text" };
const CANCEL: Action = { method: "DELETE", target: "/scan", title: "ops.cancelScan", text: "ops.cancelScan.text" };

/** Panel of the indexer of the library, with buttons that start and end a scan. */
export function ScanPanel({ scan, timeMs }: { scan: Present["scan"]; timeMs: number }) {
  const asked = useSignal<Action | null>(null);
  const { reading } = scan;
  const ended = scan.endedMs === null ? null : t("ops.ago", { span: span((timeMs - scan.endedMs) / 1000) });
  return (
    <Panel title="ops.scan">
      {reading && (
        <div class="ops-bar">
          <div>
            <span>{t("ops.of", { used: number(reading.done), limit: number(reading.of) })}</span>
            <span class="dim number">{t("ops.perSecond", { value: short(reading.perSecond) })}</span>
          </div>
          <progress aria-label={t("ops.scan")} value={reading.done} max={Math.max(1, reading.of)} />
        </div>
      )}
      <Facts
        of={[
          [t("ops.state"), t(scan.isScanning ? "ops.scanning" : "ops.idle")],
          [t("ops.left"), reading?.secondsLeft != null ? span(reading.secondsLeft) : null],
          [t("ops.files"), number(scan.files)],
          [t("ops.ended"), scan.isScanning ? null : ended],
          [t("ops.unreadable"), scan.unreadable],
          [t("ops.brokenTags"), scan.brokenTags],
        ]}
      />
      <div>
        {scan.isScanning ? (
          <Button icon="close" onClick={() => (asked.value = CANCEL)}>
            {t("ops.cancelScan")}
          </Button>
        ) : (
          <Button icon="refresh" onClick={() => (asked.value = RESCAN)}>
            {t("ops.rescan")}
          </Button>
        )}
      </div>
      {asked.value && <Confirm action={asked.value} onClose={() => (asked.value = null)} />}
    </Panel>
  );
}
