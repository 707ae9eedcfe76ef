import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import { language, t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/message.tsx";
import { agentName } from "./agent.ts";

/** Browser in which the user is logged in. */
interface Login {
  readonly id: string;
  readonly created: string;
  readonly used: string;
  readonly agent: string;
  readonly present: boolean;
}

/** Returns a date and its time to the minute, in the zone of the browser. */
function moment(iso: string): string {
  return new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/**
 * List of the browsers in which the user is logged in, each of which can be logged out.
 *
 * @param onSettled called when the list has loaded or failed to load
 */
export function Sessions({ onSettled }: { onSettled: () => void }) {
  const logins = useSignal<readonly Login[]>([]);
  const error = useSignal<unknown>(null);
  const load = (abort?: AbortSignal) => {
    error.value = null;
    api<{ items: readonly Login[] }>("/sessions", { signal: abort }).then(
      (list) => {
        logins.value = list.items;
        onSettled();
      },
      (reason: unknown) => {
        if (abort?.aborted) return;
        error.value = reason;
        onSettled();
      },
    );
  };
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal);
    return () => abort.abort();
  }, []);
  const end = async (id: string) => {
    try {
      await api(`/sessions/${id}`, { method: "DELETE" });
    } catch (reason) {
      // The status 404 means that the session has ended already, which is the desired result.
      if (!(reason instanceof ApiError && reason.status === 404)) error.value = reason;
    }
    if (error.value === null) load();
  };
  if (error.value) return <Failure error={error.value} retry={() => load()} />;
  return (
    <ul class="sessions" aria-label={t("settings.sessions")}>
      {logins.value.map((login) => (
        <li key={login.id}>
          <div>
            <bdi title={login.agent}>{agentName(login.agent)}</bdi>
            <p class="dim">{login.present ? t("settings.sessionPresent") : t("settings.sessionUsed", { time: moment(login.used) })}</p>
          </div>
          {!login.present && <Button onClick={() => void end(login.id)}>{t("settings.logOut")}</Button>}
        </li>
      ))}
    </ul>
  );
}
