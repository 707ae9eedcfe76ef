import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";

/** Number of pictures that are offered. */
const OFFERED = 24;
/** Pause in typing after which a search starts, in milliseconds. */
const TYPING_MS = 200;

interface Offered {
  readonly id: string;
  readonly file: string;
  readonly name: string;
  readonly placeholder?: { readonly colour?: string };
}

/** Strip of the latest pictures, or of those that a search finds. */
export function Picker({ chosen, choose }: { chosen: string; choose: (id: string) => void }) {
  const text = useSignal("");
  const offered = useSignal<readonly Offered[] | null>(null);
  const failed = useSignal("");
  const q = text.value.trim();
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const load = async () => {
      const found = q
        ? (await api<{ pictures?: Offered[] }>(`/search?kinds=pictures&limit=${OFFERED}&q=${encodeURIComponent(q)}`, { signal })).pictures
        : (await api<{ items: Offered[] }>(`/pictures?limit=${OFFERED}`, { signal })).items;
      offered.value = found ?? [];
      failed.value = "";
    };
    const timer = setTimeout(
      () =>
        load().catch((reason: unknown) => {
          if (signal.aborted) return;
          offered.value = null;
          failed.value = (reason instanceof ApiError && reason.message) || t("error.unreachable");
        }),
      q ? TYPING_MS : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [q]);
  return (
    <section class="play-picker" aria-label={t("play.picture")}>
      <input
        type="search"
        class="input"
        value={text.value}
        placeholder={t("play.search")}
        aria-label={t("play.search")}
        autocomplete="off"
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <ul>
        {offered.value?.map((picture) => (
          <li key={picture.id}>
            <button
              type="button"
              title={picture.name}
              aria-label={picture.name}
              aria-pressed={picture.id === chosen}
              style={picture.placeholder?.colour ? { background: picture.placeholder.colour } : {}}
              onClick={() => choose(picture.id)}
            >
              <img src={`${url(picture.file)}?h=240`} alt="" loading="lazy" decoding="async" onError={(event) => (event.currentTarget.hidden = true)} />
            </button>
          </li>
        ))}
        {failed.value && (
          <li class="dim" role="alert">
            {failed.value}
          </li>
        )}
        {offered.value?.length === 0 && <li class="dim">{t("photos.noResults")}</li>}
      </ul>
    </section>
  );
}
