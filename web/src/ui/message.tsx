import type { ComponentChildren } from "preact";

import { ApiError } from "../api.ts";
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

/** Message about a failed request, with a button that tries again. */
export function Failure({ error, retry }: { error: unknown; retry: () => void }) {
  const isUnreachable = error instanceof ApiError && error.status === 0;
  const title = isUnreachable ? t("error.unreachable") : t("error.failed");
  return (
    <Message icon="warning" title={title}>
      {!isUnreachable && error instanceof Error && <p>{error.message}</p>}
      <Button icon="refresh" onClick={retry}>
        {t("error.retry")}
      </Button>
    </Message>
  );
}
