import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import { type MessageKey, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, useIsOpen } from "../ui/dialog.tsx";
import { toast } from "../ui/toast.tsx";
import { refresh } from "./state.ts";

/** Request that changes the server, and that the operator confirms. */
export interface Action {
  readonly method: "POST" | "DELETE";
  /** Target below `/-/api`. */
  readonly target: string;
  readonly title: MessageKey;
  readonly text: MessageKey;
  /** Parameter that names a file or folder; without it, the request concerns the whole library. */
  readonly path?: { readonly parameter: string; readonly label: MessageKey };
  readonly isDanger?: boolean;
  /** Returns the sentence that reports success. */
  readonly done?: (response: unknown) => string;
}

/** Returns the folder in which a typed path is, or an empty text for the library. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1).replace(/^\/+|\/+$/g, "");
}

/** Returns the query of a request for a file or folder, or an empty string for the whole library. */
export function pathQuery(parameter: string, path: string): string {
  const trimmed = path.trim().replace(/^\/+|\/+$/g, "");
  return trimmed ? `?${parameter}=${encodeURIComponent(trimmed)}` : "";
}

/** Dialog that asks before it sends the request of an action. */
export function Confirm({ action, onClose }: { action: Action; onClose: () => void }) {
  const { method, target, title, text, path, isDanger, done } = action;
  const isSending = useSignal(false);
  const value = useSignal("");
  const error = useSignal("");
  const folders = useSignal<readonly string[]>([]);
  const ids = useId();
  const isOpen = useIsOpen();
  const parent = path ? folderOf(value.value) : null;
  useEffect(() => {
    if (parent === null) return;
    const abort = new AbortController();
    api<{ folders: { path: string }[] }>(`/folders?path=${encodeURIComponent(parent)}`, { signal: abort.signal }).then(
      (found) => (folders.value = found.folders.map((it) => it.path)),
      // Without suggestions, a path can still be typed.
      () => abort.signal.aborted || (folders.value = []),
    );
    return () => abort.abort();
  }, [parent]);
  const send = async () => {
    isSending.value = true;
    try {
      const response = await api(target + (path ? pathQuery(path.parameter, value.value) : ""), { method });
      toast(done?.(response) ?? t("ops.accepted.toast"));
      if (isOpen()) onClose();
    } catch (reason) {
      const isUnreachable = reason instanceof ApiError && reason.status === 0;
      error.value = isUnreachable ? t("error.unreachable") : t("ops.refused.toast", { reason: reason instanceof Error ? reason.message : "" });
      isSending.value = false;
    }
    refresh();
  };
  return (
    <Dialog title={t(title)} onClose={onClose}>
      <form
        class="ops-form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <p>{t(text)}</p>
        {path && (
          <label class="field">
            <span>{t(path.label)}</span>
            <input
              dir="auto"
              autocomplete="off"
              list={`${ids}-folders`}
              placeholder={t("ops.path.all")}
              aria-describedby={`${ids}-error`}
              value={value.value}
              aria-invalid={error.value !== ""}
              onInput={(event) => {
                value.value = event.currentTarget.value;
                error.value = "";
              }}
            />
            <datalist id={`${ids}-folders`}>
              {folders.value.map((it) => (
                <option value={it} />
              ))}
            </datalist>
          </label>
        )}
        <p class="field-error" id={`${ids}-error`} role="alert">
          {error.value}
        </p>
        <div class="ops-actions">
          <Button onClick={onClose}>{t("ops.keep")}</Button>
          <Button submit primary={!isDanger} danger={isDanger ?? false} disabled={isSending.value}>
            {t(title)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
