import "../shared.ts";

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { ApiError, api } from "../api.ts";
import type { AreaProps } from "../areas.ts";
import { url } from "../base.ts";
import { loadMessages, t } from "../i18n/messages.ts";
import { type Comparison, compare } from "../photos/comparison.ts";
import type { Details } from "../photos/details.ts";
import { href, navigate } from "../router.ts";
import { Icon } from "../ui/icon.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { Controls } from "./controls.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Matrix } from "./matrix.tsx";
import { Picker } from "./picker.tsx";
import { type Problem, reasonOf } from "./problem.ts";
import { type Parameter, type Recipe, pageQuery, queryOf, recipeOf, withQuery } from "./recipe.ts";
import { Figures } from "./figures.tsx";
import { Snippets } from "./snippet-list.tsx";
import { Region } from "./region.tsx";
import { type Variant, loadVariant } from "./variant.ts";

/** Pause in changes after which a variant is requested, in milliseconds. */
const PAUSE_MS = 250;
/** Width of the first variant if the address names no picture. */
const FIRST_WIDTH = "960";

/** Area that builds the URL of a picture. The page URL stores the picture and all parameters. */
export default function Playground({ query }: AreaProps) {
  const id = query.get("picture") ?? "";
  const details = useSignal<Details | null>(null);
  const error = useSignal<unknown>(null);
  const running = useRef<AbortController | null>(null);
  const load = () => {
    error.value = null;
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    const find = async () => {
      if (id) {
        details.value = await api<Details>(`/pictures/${encodeURIComponent(id)}`, { signal: abort.signal });
        return;
      }
      const { items } = await api<{ items: Details[] }>("/pictures?limit=1", { signal: abort.signal });
      const [newest] = items;
      if (newest) choose(newest.id, { ...recipeOf(query), w: query.get("w") ?? FIRST_WIDTH });
      else error.value = new ApiError(404, "");
    };
    find().catch((reason: unknown) => {
      if (!abort.signal.aborted) error.value = reason;
    });
  };
  useEffect(() => {
    load();
    return () => running.current?.abort();
  }, [id]);
  const shown = details.value;
  return (
    <div class="view playground">
      <div class="view-head">
        <h1>{t("nav.playground")}</h1>
      </div>
      <Picker chosen={id} choose={(next) => choose(next, recipeOf(query))} />
      {isMissing(error.value) && <Message icon="photos" title={t(id ? "play.gone" : "photos.empty")} />}
      {error.value !== null && !isMissing(error.value) && <Failure error={error.value} retry={load} />}
      {error.value === null && !shown && <div class="loading" aria-busy="true" />}
      {error.value === null && shown && <Bench key={shown.id} picture={shown} query={query} isChosen={shown.id === id} />}
    </div>
  );
}

/** Returns whether an error says that there is no such picture. */
function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Shows a picture in the playground. */
function choose(id: string, recipe: Recipe): void {
  navigate("playground", { replace: true, query: pageQuery(id, recipe) });
}

interface BenchProps {
  readonly picture: Details;
  readonly query: URLSearchParams;
  /** False while the page URL names another picture that is still loading. */
  readonly isChosen: boolean;
}

/** Controls, result and snippets for one picture. */
function Bench({ picture, query, isChosen }: BenchProps) {
  const recipe = useSignal(recipeOf(query));
  const variant = useSignal<Variant | null>(null);
  const comparison = useSignal<Comparison | null>(null);
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(true);
  const isScoring = useSignal(false);
  const isScoreFailed = useSignal(false);
  const isFirst = useRef(true);
  const shownQuery = queryOf(recipe.value);

  // Back navigation and links change the page URL without the controls; take the recipe from the URL then.
  const inAddress = queryOf(recipeOf(query));
  const lastAddress = useRef(inAddress);
  if (lastAddress.current !== inAddress) {
    lastAddress.current = inAddress;
    if (inAddress !== queryOf(recipe.peek())) recipe.value = recipeOf(query);
  }

  useEffect(() => {
    if (!isChosen) return;
    const abort = new AbortController();
    const { signal } = abort;
    const run = async () => {
      lastAddress.current = shownQuery;
      choose(picture.id, recipe.peek());
      const made = await loadVariant(picture.file, recipe.peek(), signal);
      if (variant.peek()) URL.revokeObjectURL(variant.peek()?.address ?? "");
      variant.value = made;
      problem.value = null;
      comparison.value = null;
      isBusy.value = false;
      isScoring.value = true;
      isScoreFailed.value = false;
      // A variant without a score is still shown.
      const result = await loadMessages("photos").then(() => compare(picture.id, shownQuery, made.accept, signal)).catch(() => null);
      if (signal.aborted) return;
      comparison.value = result;
      isScoreFailed.value = result === null;
      isScoring.value = false;
    };
    isBusy.value = true;
    isScoring.value = false;
    const timer = setTimeout(
      () =>
        run().catch((reason: unknown) => {
          if (signal.aborted) return;
          problem.value = reasonOf(reason);
          isBusy.value = false;
        }),
      isFirst.current ? 0 : PAUSE_MS,
    );
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [shownQuery, isChosen]);
  useEffect(() => () => URL.revokeObjectURL(variant.peek()?.address ?? ""), []);

  const address = new URL(url(picture.file), location.href).href;
  const full = withQuery(address, shownQuery);
  const natural = { width: picture.width, height: picture.height };
  const shown = variant.value;
  const change = (name: Parameter, value: string) => (recipe.value = { ...recipe.peek(), [name]: value });
  return (
    <div class="play-bench" inert={!isChosen}>
      <div class="play-url">
        <input readOnly dir="ltr" value={full} aria-label="URL" onFocus={(event) => event.currentTarget.select()} />
        <CopyButton text={full} label={t("play.copyUrl")} />
      </div>
      <div class="play-top">
        <figure class="play-result" aria-busy={isBusy.value}>
          <div class="play-frame">
            {shown?.size && (
              <img key={shown.address} src={shown.address} alt={picture.name} width={shown.size.width} height={shown.size.height} />
            )}
            {shown && !shown.size && <p>{t("play.undecodable")}</p>}
          </div>
          <figcaption>
            <Figures
              picture={picture}
              variant={shown}
              comparison={comparison.value}
              isScoring={isScoring.value}
              isScoreFailed={isScoreFailed.value}
              isBusy={isBusy.value}
            />
            <p class="field-error" role="alert">
              {problem.value && problem.value.parameter === null && problem.value.sentence}
            </p>
          </figcaption>
        </figure>
        <div class="play-side">
          <Controls recipe={recipe.value} problem={problem.value} change={change} />
          <a class="button" href={href(`photos/${encodeURIComponent(picture.id)}`)}>
            <Icon name="photos" />
            {t("play.view")}
          </a>
        </div>
      </div>
      {natural.width > 0 && <Region file={picture.file} natural={natural} recipe={recipe.value} change={change} />}
      <Matrix file={picture.file} recipe={recipe.value} choose={(format, q) => (recipe.value = { ...recipe.peek(), format, q })} />
      {shown && natural.width > 0 && <Snippets subject={{ file: picture.file, address, natural }} variant={shown} />}
    </div>
  );
}
