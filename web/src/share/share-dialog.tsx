import "../shared.ts";

import { useSignal } from "@preact/signals";
import { render } from "preact";

import { api } from "../api.ts";
import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { copy } from "../ui/copy.ts";
import { Dialog } from "../ui/dialog.tsx";
import { failureText } from "../ui/failure.ts";
import { toast } from "../ui/toast.tsx";
import { createShareTarget, type Share, type Subject } from "./types.ts";

/** Days after which a link may expire. */
const DAYS = [1, 7, 30, 90, 365];

/** Shows the dialog above the page. */
export function show(subject: Subject): void {
  const host = document.createElement("div");
  document.body.append(host);
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(<ShareDialog subject={subject} onClose={close} />, host);
}

/** Moves the focus to the new link, because the button that had the focus is gone. */
function focusLink(field: HTMLInputElement | null): void {
  field?.focus();
}

function ShareDialog({ subject, onClose }: { subject: Subject; onClose: () => void }) {
  const days = useSignal(30);
  const description = useSignal("");
  const originals = useSignal(subject.hasOnlyVideos === true);
  const link = useSignal<string | null>(null);
  const error = useSignal("");
  const isSending = useSignal(false);
  const hasPhotos = subject.item === undefined || subject.item.startsWith("ph-");
  const create = async (event: Event) => {
    event.preventDefault();
    if (isSending.value) return;
    isSending.value = true;
    error.value = "";
    try {
      const choice = { days: days.value, description: description.value, originals: originals.value };
      const share = await api<Share>(createShareTarget(subject, choice), { method: "POST" });
      link.value = new URL(url(share.url), location.href).href;
    } catch (reason) {
      error.value = failureText(reason);
    } finally {
      isSending.value = false;
    }
  };
  const copyLink = async () => toast(t((await copy(link.value ?? "")) ? "share.copied" : "share.notCopied"));
  return (
    <Dialog title={t("share.title", { name: subject.name })} onClose={onClose}>
      <p class="dim">{t("share.what")}</p>
      {link.value === null ? (
        <form class="login" onSubmit={create}>
          <label class="field">
            <span>{t("share.expires")}</span>
            <select value={days.value} onChange={(event) => (days.value = Number(event.currentTarget.value))}>
              {DAYS.map((count) => (
                <option value={count}>{t("share.days", { count })}</option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>{t("share.description")}</span>
            <input type="text" dir="auto" value={description.value} onInput={(event) => (description.value = event.currentTarget.value)} />
          </label>
          {hasPhotos && (
            <label class="check">
              <input type="checkbox" checked={originals.value} onChange={(event) => (originals.value = event.currentTarget.checked)} />
              <span>{t("share.originals")}</span>
            </label>
          )}
          {error.value && <p role="alert">{error.value}</p>}
          <Button primary submit disabled={isSending.value}>
            {t("share.create")}
          </Button>
        </form>
      ) : (
        <>
          <label class="field">
            <span>{t("share.link")}</span>
            <input type="url" ref={focusLink} readOnly dir="ltr" value={link.value} onFocus={(event) => event.currentTarget.select()} />
          </label>
          <Button primary icon="link" onClick={() => void copyLink()}>
            {t("share.copy")}
          </Button>
        </>
      )}
    </Dialog>
  );
}
