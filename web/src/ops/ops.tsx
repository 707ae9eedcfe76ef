import "../shared.ts";

import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";

import type { AreaProps } from "../areas.ts";
import { type MessageKey, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Failure } from "../ui/message.tsx";
import { Findings, Panels } from "./panels.tsx";
import { RANGES, type Range, failure, follow, refresh, shown, shownRange, stale } from "./state.ts";
import { Tiles } from "./tiles.tsx";

/** View of the dashboard that has a tab and, except for the overview, a module of its own. */
interface View {
  readonly path: string;
  readonly label: MessageKey;
  readonly load?: () => Promise<{ default: FunctionComponent }>;
  /** True if the view does not show the state that is polled. */
  readonly isAlone?: boolean;
}

const VIEWS: readonly [View, ...View[]] = [
  { path: "ops", label: "ops.overview" },
  { path: "ops/charts", label: "ops.charts", load: () => import("./charts.tsx") },
  { path: "ops/host", label: "ops.host", load: () => import("./host.tsx"), isAlone: true },
  { path: "ops/profile", label: "ops.profile", load: () => import("./profile.tsx"), isAlone: true },
];

/** View of the operator's dashboard. */
export default function Ops({ parts }: AreaProps) {
  useEffect(follow, []);
  const view = VIEWS.find((it) => it.path === `ops/${parts[0]}`) ?? VIEWS[0];
  const present = shown.value;
  return (
    <div class="view ops">
      <div class="view-head">
        <h1>{t("nav.ops")}</h1>
        {!view.isAlone && <Freshness />}
        {!view.isAlone && <RangeChoice />}
      </div>
      <nav class="tabs" aria-label={t("ops.views")}>
        {VIEWS.map((it) => (
          <a href={href(it.path)} aria-current={it === view ? "page" : undefined}>
            {t(it.label)}
          </a>
        ))}
      </nav>
      {!present && !view.isAlone && (failure.value ? <Failure error={failure.value} retry={refresh} /> : <Skeleton />)}
      {view.load && (present || view.isAlone) && <Later load={view.load} key={view.path} />}
      {present && !view.load && (
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

/** View with a module of its own, once the module is loaded. */
function Later({ load: of }: { load: NonNullable<View["load"]> }) {
  const view = useSignal<FunctionComponent | null>(null);
  const error = useSignal<unknown>(null);
  const load = () => {
    error.value = null;
    of().then(
      (module) => (view.value = module.default),
      (reason: unknown) => (error.value = reason),
    );
  };
  useEffect(load, []);
  if (error.value) return <Failure error={error.value} retry={load} />;
  const View = view.value;
  return View ? <View /> : <div class="loading" aria-busy="true" />;
}
