import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, useIsOpen } from "../ui/dialog.tsx";
import { failureText } from "../ui/failure.ts";
import { Failure } from "../ui/message.tsx";
import { describeShare, shareTitle } from "./describe.ts";
import type { Share } from "./types.ts";

/** Maximum number of links in one response. */
const PAGE_SIZE = 500;

/** Returns all links that the user may see. */
async function allShares(signal?: AbortSignal): Promise<readonly Share[]> {
  const shares: Share[] = [];
  for (;;) {
    const { items, total } = await api<{ items: readonly Share[]; total: number }>(`/shares?offset=${shares.length}&limit=${PAGE_SIZE}`, { signal });
    shares.push(...items);
    if (items.length === 0 || shares.length >= total) return shares;
  }
}

/** List of share links, each of which can be revoked: the user's own, or all links for an admin. */
export function ShareList() {
  const shares = useSignal<readonly Share[] | null>(null);
  const error = useSignal<unknown>(null);
  const toRevoke = useSignal<Share | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const load = async (abort?: AbortSignal) => {
    error.value = null;
    try {
      shares.value = await allShares(abort);
    } catch (reason) {
      if (!abort?.aborted) error.value = reason;
    }
  };
  useEffect(() => {
    const abort = new AbortController();
    void load(abort.signal);
    return () => abort.abort();
  }, []);
  const onRevoked = async () => {
    await load();
    // The button that opened the dialog is gone.
    box.current?.focus();
  };
  if (error.value) return <Failure error={error.value} retry={() => void load()} />;
  return (
    <div ref={box} tabIndex={-1} aria-busy={shares.value === null}>
      {shares.value?.length === 0 && <p class="dim">{t("share.none")}</p>}
      {shares.value && shares.value.length > 0 && (
        <ul class="sessions" aria-label={t("share.list")}>
          {shares.value.map((share) => (
            <li key={share.id}>
              <div>
                <a href={url(share.url)} target="_blank" rel="noreferrer">
                  <bdi>{shareTitle(share)}</bdi>
                </a>
                <p class="dim">{describeShare(share, session.value.name)}</p>
              </div>
              <Button onClick={() => (toRevoke.value = share)}>{t("share.revoke")}</Button>
            </li>
          ))}
        </ul>
      )}
      {toRevoke.value && <RevokeDialog share={toRevoke.value} onClose={() => (toRevoke.value = null)} onRevoked={() => void onRevoked()} />}
    </div>
  );
}

interface RevokeDialogProps {
  share: Share;
  onClose: () => void;
  onRevoked: () => void;
}

/** Dialog that asks before a link is revoked. */
function RevokeDialog({ share, onClose, onRevoked }: RevokeDialogProps) {
  const isSending = useSignal(false);
  const error = useSignal("");
  const isOpen = useIsOpen();
  const send = async () => {
    isSending.value = true;
    try {
      await api(`/shares/${share.id}`, { method: "DELETE" });
    } catch (reason) {
      // The status 404 means that the share has been revoked already, which is the desired result.
      if (!(reason instanceof ApiError && reason.status === 404)) {
        error.value = failureText(reason);
        isSending.value = false;
        return;
      }
    }
    if (isOpen()) onClose();
    onRevoked();
  };
  return (
    <Dialog title={t("share.revokeQuestion", { name: shareTitle(share) })} onClose={onClose}>
      <p class="dim">{describeShare(share, session.value.name)}</p>
      <p>{t("share.revokeText")}</p>
      <p class="field-error" role="alert">{error.value}</p>
      <div class="actions">
        <Button onClick={onClose}>{t("share.cancel")}</Button>
        <Button danger disabled={isSending.value} onClick={() => void send()}>
          {t("share.revoke")}
        </Button>
      </div>
    </Dialog>
  );
}
