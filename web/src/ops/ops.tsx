import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";

import type { AreaProps } from "../areas.ts";
import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Failure } from "../ui/message.tsx";
import { Findings, Panels } from "./panels.tsx";
import { RANGES, type Range, failure, follow, refresh, shown, shownRange, stale } from "./state.ts";
import { Tiles } from "./tiles.tsx";

/** View of the operator's dashboard. */
export default function Ops({ parts }: AreaProps) {
  useEffect(follow, []);
  const isCharts = parts[0] === "charts";
  const present = shown.value;
  return (
    <div class="view ops">
      <div class="view-head">
        <h1>{t("nav.ops")}</h1>
        <Freshness />
        <RangeChoice />
      </div>
      <nav class="tabs" aria-label={t("ops.views")}>
        <a href={href("ops")} aria-current={isCharts ? undefined : "page"}>
          {t("ops.overview")}
        </a>
        <a href={href("ops/charts")} aria-current={isCharts ? "page" : undefined}>
          {t("ops.charts")}
        </a>
      </nav>
      {!present && (failure.value ? <Failure error={failure.value} retry={refresh} /> : <Skeleton />)}
      {present && isCharts && <Charts />}
      {present && !isCharts && (
        <>
          <Findings of={present.findings} />
          <Tiles now={present.now} />
          <Panels shown={present} />
        </>
      )}
    </div>
  );
}

/** Age of the values shown, if they are not current. Its place is kept before the first response. */
function Freshness() {
  const seconds = stale.value;
  return (
    <span class={seconds === null ? "ops-live" : "ops-live ops-stale"} role="status" style={{ visibility: shown.value ? "" : "hidden" }}>
      {seconds === null ? t("ops.live") : t("ops.stale", { count: seconds })}
    </span>
  );
}

/** Choice of the range of time that all charts show. */
function RangeChoice() {
  return (
    <div class="ops-ranges" role="group" aria-label={t("ops.range")}>
      {(Object.keys(RANGES) as Range[]).map((range) => (
        <button type="button" aria-pressed={range === shownRange.value} onClick={() => (shownRange.value = range)}>
          {t(`ops.range.${range}`)}
        </button>
      ))}
    </div>
  );
}

/** Empty tiles before the first response. */
function Skeleton() {
  return (
    <div class="ops-tiles" aria-busy="true">
      {Array.from({ length: 6 }, () => (
        <div class="card ops-tile ops-skeleton" />
      ))}
    </div>
  );
}

/** Charts that can be zoomed, once their module is loaded. */
function Charts() {
  const view = useSignal<FunctionComponent | null>(null);
  const error = useSignal<unknown>(null);
  const load = () => {
    error.value = null;
    import("./charts.tsx").then(
      (module) => (view.value = module.default),
      (reason: unknown) => (error.value = reason),
    );
  };
  useEffect(load, []);
  if (error.value) return <Failure error={error.value} retry={load} />;
  const View = view.value;
  return View ? <View /> : <div class="loading" aria-busy="true" />;
}
