import { language, t } from "../i18n/messages.ts";
import type { Share } from "./types.ts";

/** Returns the text that stands for a share in a list. */
export function shareTitle({ description, name, kind }: Share): string {
  return description || name || t(`share.kind.${kind}`);
}

/** Returns the facts about a share in one line. Of other users' shares it names the owner. */
export function describeShare({ kind, name, owner, expires, expired, visits }: Share, user: string | null): string {
  const day = (iso: string) => new Intl.DateTimeFormat(language.value, { dateStyle: "medium" }).format(new Date(iso));
  const end = expires === null ? t("share.forever") : t("share.until", { time: day(expires) });
  const facts = [expired ? t("share.expired") : end, t("share.visits", { count: visits })];
  if (name === null && kind !== "tracks") facts.unshift(t("share.gone"));
  if (owner !== user) facts.unshift(t("share.owner", { owner }));
  return [t(`share.kind.${kind}`), ...facts].join(" · ");
}
