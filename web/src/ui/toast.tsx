import { signal } from "@preact/signals";

import { t } from "../i18n/messages.ts";
import { Button, IconButton } from "./button.tsx";

/** Message that disappears after a while, with at most one action. */
interface Toast {
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

/** Time that a message is shown, in milliseconds. */
const SHOWN_MS = 6000;

const current = signal<Toast | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message instead of the present one. */
export function toast(text: string, action?: Toast["action"]): void {
  current.value = action ? { text, action } : { text };
  clearTimeout(timer);
  timer = setTimeout(dismiss, SHOWN_MS);
}

function dismiss(): void {
  current.value = null;
}

/** Region of the page in which messages appear, and that screen readers announce. */
export function ToastRegion() {
  const shown = current.value;
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown && (
        <div class="toast">
          <span>{shown.text}</span>
          {shown.action && (
            <Button
              onClick={() => {
                shown.action?.run();
                dismiss();
              }}
            >
              {shown.action.label}
            </Button>
          )}
          <IconButton icon="close" label={t("close")} onClick={dismiss} />
        </div>
      )}
    </div>
  );
}
