import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import { url } from "../base.ts";
import { language, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/message.tsx";
import type { Share } from "./types.ts";

/** List of the links that the user shares, each of which can be revoked. */
export function ShareList() {
  const shares = useSignal<readonly Share[] | null>(null);
  const error = useSignal<unknown>(null);
  const load = (abort?: AbortSignal) => {
    error.value = null;
    api<{ items: readonly Share[] }>("/shares?limit=500", { signal: abort }).then(
      (list) => (shares.value = list.items),
      (reason: unknown) => {
        if (!abort?.aborted) error.value = reason;
      },
    );
  };
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal);
    return () => abort.abort();
  }, []);
  const revoke = async (id: string) => {
    try {
      await api(`/shares/${id}`, { method: "DELETE" });
    } catch (reason) {
      // The status 404 means that the share has been revoked already, which is the desired result.
      if (!(reason instanceof ApiError && reason.status === 404)) error.value = reason;
    }
    if (error.value === null) load();
  };
  if (error.value) return <Failure error={error.value} retry={() => load()} />;
  if (shares.value?.length === 0) return <p class="dim">{t("share.none")}</p>;
  return (
    <ul class="sessions" aria-label={t("share.list")}>
      {shares.value?.map((share) => (
        <li key={share.id}>
          <div>
            <a href={url(share.url)} target="_blank" rel="noreferrer">
              <bdi>{share.description || share.name || share.kind}</bdi>
            </a>
            <p class="dim">{facts(share)}</p>
          </div>
          <Button onClick={() => void revoke(share.id)}>{t("share.revoke")}</Button>
        </li>
      ))}
    </ul>
  );
}

function facts({ kind, name, expires, expired, visits }: Share): string {
  const day = (iso: string) => new Intl.DateTimeFormat(language.value, { dateStyle: "medium" }).format(new Date(iso));
  const end = expires === null ? t("share.forever") : t("share.until", { time: day(expires) });
  const gone = name === null && kind !== "tracks" ? [t("share.gone")] : [];
  return [...gone, expired ? t("share.expired") : end, t("share.visits", { count: visits })].join(" · ");
}
