import { ApiError } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { type Parameter, problemOf } from "./recipe.ts";

/** Sentence of the server about a recipe that it refuses. */
export interface Problem {
  readonly parameter: Parameter | null;
  readonly sentence: string;
}

/** Returns why a variant could not be loaded. */
export function reasonOf(reason: unknown): Problem {
  if (!(reason instanceof ApiError)) return { parameter: null, sentence: t("error.failed") };
  return reason.status === 0 ? { parameter: null, sentence: t("error.unreachable") } : problemOf(reason.message || t("error.failed"));
}
