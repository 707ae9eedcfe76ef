import { t } from "../i18n/messages.ts";

/** Returns a sentence for users about why a request failed. */
export function failureText(error: unknown): string {
  return error instanceof Error && error.message ? error.message : t("error.unreachable");
}
