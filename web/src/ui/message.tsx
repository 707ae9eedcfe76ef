import type { ComponentChildren } from "preact";

import { useEffect } from "preact/hooks";

import { recoveries } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

/** Text in the middle of an area that has nothing else to show. */
export function Message({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="message">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Calls `retry` when requests that failed may succeed, while the component is shown. */
export function useRecovery(retry: () => void): void {
  useEffect(() => {
    const before = recoveries.value;
    return recoveries.subscribe((now) => now !== before && retry());
  });
}

/**
 * Message about a failed request, which is repeated by a button, after a login, and once the server
 * responds again. Without an error, or with one without a message, there was no response.
 */
export function Failure({ error, retry }: { error?: unknown; retry: () => void }) {
  useRecovery(retry);
  const reason = error instanceof Error && error.message;
  return (
    <Message icon="warning" title={t(reason ? "error.failed" : "error.unreachable")}>
      {reason && <p>{reason}</p>}
      <Button icon="refresh" onClick={retry}>
        {t("error.retry")}
      </Button>
    </Message>
  );
}
