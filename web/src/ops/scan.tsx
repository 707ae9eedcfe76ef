import { useSignal } from "@preact/signals";

import { api } from "../api.ts";
import { type MessageKey, number, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { toast } from "../ui/toast.tsx";
import type { Present } from "./document.ts";
import { short, span } from "./format.ts";
import { Facts, Panel } from "./panel.tsx";
import { refresh } from "./state.ts";

/** Request that changes the server, and that the operator confirms. */
interface Action {
  readonly method: "POST" | "DELETE";
  readonly title: MessageKey;
  readonly text: MessageKey;
}

const RESCAN: Action = { method: "POST", title: "ops.rescan", text: "ops.rescan.text" };
const CANCEL: Action = { method: "DELETE", title: "ops.cancelScan", text: "ops.cancelScan.text" };

/** Panel of the indexer of the library, with buttons that start and end a scan. */
export function ScanPanel({ scan }: { scan: Present["scan"] }) {
  const asked = useSignal<Action | null>(null);
  const { reading } = scan;
  const ended = scan.endedMs === null ? null : t("ops.ago", { span: span((Date.now() - scan.endedMs) / 1000) });
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

/** Dialog that asks before it sends the request of an action. */
function Confirm({ action, onClose }: { action: Action; onClose: () => void }) {
  const isSending = useSignal(false);
  const send = async () => {
    isSending.value = true;
    try {
      await api("/scan", { method: action.method });
      toast(t("ops.accepted.toast"));
    } catch (error) {
      toast(t("ops.refused.toast", { reason: error instanceof Error ? error.message : "" }));
    }
    refresh();
    onClose();
  };
  return (
    <Dialog title={t(action.title)} onClose={onClose}>
      <p>{t(action.text)}</p>
      <div class="ops-actions">
        <Button onClick={onClose}>{t("ops.keep")}</Button>
        <Button primary disabled={isSending.value} onClick={() => void send()}>
          {t(action.title)}
        </Button>
      </div>
    </Dialog>
  );
}
