import { type MessageKey, bytes, number, t } from "../i18n/messages.ts";
import { Icon } from "../ui/icon.tsx";
import type { Budget, Finding, LogEntry, OpsDocument, Present } from "./document.ts";
import { percent, span } from "./format.ts";
import { Facts, Panel } from "./panel.tsx";
import { ScanPanel } from "./scan.tsx";

/** Panels of the overview below the tiles. */
export function Panels({ shown }: { shown: OpsDocument }) {
  const { now } = shown;
  return (
    <>
      <div class="ops-panels">
        <Panel title="ops.budgets">
          {now.budgets.map((budget) => (
            <Bar budget={budget} />
          ))}
        </Panel>
        <ScanPanel scan={now.scan} />
        <Conversions now={now} />
        <Cells now={now} />
        <Connections now={now} />
        <Server now={now} />
      </div>
      <Log entries={shown.log} />
    </>
  );
}

/** Use of a limited resource as a bar. */
function Bar({ budget: { name, unit, used, limit, setting } }: { budget: Budget }) {
  const format = unit === "bytes" ? bytes : (value: number) => number(value);
  const label = t(`ops.budget.${name}` as MessageKey);
  const share = limit > 0 ? used / limit : 0;
  return (
    <div class="ops-bar">
      <div>
        <span>{label}</span>
        <span class="number dim" title={setting ?? undefined}>
          {t("ops.of", { used: format(used), limit: format(limit) })}
        </span>
      </div>
      <meter aria-label={label} min={0} max={1} value={share} low={0.75} high={0.9} optimum={0}>
        {percent(share)}
      </meter>
    </div>
  );
}

function Conversions({ now: { conversions, transcodes, variants } }: { now: Present }) {
  const failures = Object.entries(conversions.failures).filter(([, count]) => count > 0);
  return (
    <Panel title="ops.conversions">
      <Facts
        of={[
          [t("ops.done"), conversions.done],
          [t("ops.running"), t("ops.of", { used: conversions.running, limit: conversions.concurrency })],
          [t("ops.waiting"), conversions.waiting],
          [t("ops.refused"), conversions.refused],
          [t("ops.quarantined"), conversions.quarantinedOriginals],
          [t("ops.transcoding"), transcodes.running + transcodes.waiting],
          [t("ops.cached"), variants.entries],
          [t("ops.evicted"), variants.evicted],
          [t("ops.cpu"), span(conversions.cpuSeconds)],
        ]}
      />
      <Reasons title="ops.failures" of={failures} />
    </Panel>
  );
}

/** Counts by reason. The metrics use the same names of reasons. */
function Reasons({ title, of }: { title: MessageKey; of: readonly (readonly [string, number])[] }) {
  if (of.length === 0) return <p class="dim">{t("ops.noFailures")}</p>;
  return (
    <>
      <h3>{t(title)}</h3>
      <Facts of={of.map(([reason, count]) => [reason.replaceAll("_", " "), count])} />
    </>
  );
}

function Cells({ now: { cells } }: { now: Present }) {
  const kills = Object.entries(cells.kills).filter(([, count]) => count > 0);
  return (
    <Panel title="ops.cells">
      <Facts
        of={[
          [t("ops.ready"), cells.ready],
          [t("ops.running"), cells.running],
          [t("ops.runs"), cells.runs],
          [t("ops.backend"), cells.backend],
          [t("ops.isolation"), cells.isolation],
          [t("ops.memoryPeak"), bytes(cells.memoryPeakBytes)],
          [t("ops.wipeLeaks"), cells.wipeLeaks],
        ]}
      />
      <Reasons title="ops.kills" of={kills} />
    </Panel>
  );
}

function Connections({ now: { connections, responses, store } }: { now: Present }) {
  const handshakes = connections.handshakesFull + connections.handshakesResumed;
  return (
    <Panel title="ops.connections">
      <Facts
        of={[
          [t("ops.open"), connections.open],
          [t("ops.accepted"), connections.accepted],
          [t("ops.shed"), connections.shed],
          [t("ops.timeouts"), connections.timeouts],
          ["HTTP/1.1", connections.http1],
          ["HTTP/2", connections.http2],
          [t("ops.handshakes"), handshakes || null],
          [t("ops.clientErrors"), responses.clientErrors],
          [t("ops.serverErrors"), responses.serverErrors],
          [t("ops.store"), store && t(store.isReachable ? "ops.store.reachable" : "ops.store.unreachable")],
        ]}
      />
    </Panel>
  );
}

function Server({ now }: { now: Present }) {
  return (
    <Panel title="ops.server">
      <Facts
        of={[
          ["Pelton", now.versions["pelton"] ?? null],
          [t("ops.kernel"), now.versions["kernel"] ?? null],
          [t("ops.uptime"), span(now.uptimeSeconds)],
          [t("ops.cpu"), span(now.process.cpuSeconds)],
          [t("ops.memory"), bytes(now.process.residentBytes)],
          [t("ops.responses"), now.responses.total],
          [t("ops.sent"), bytes(now.responses.bodyBytes)],
        ]}
      />
    </Panel>
  );
}

/** Problems that the operator can fix, the worst first. */
export function Findings({ of }: { of: readonly Finding[] }) {
  if (of.length === 0) {
    return (
      <p class="ops-healthy">
        <Icon name="check" />
        {t("ops.healthy")}
      </p>
    );
  }
  return (
    <ul class="ops-findings" aria-label={t("ops.findings")}>
      {of.map((finding) => (
        <li class={`card ops-${finding.severity}`}>
          <Icon name={finding.severity === "note" ? "info" : "warning"} />
          <div>
            <p>
              <span class="hidden">{t(`ops.${finding.severity}`)}: </span>
              <span dir="auto">{sentence(finding)}</span>
            </p>
            {finding.setting && (
              <p class="dim">
                {t("ops.setting")} <code>{finding.setting}</code>
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

/**
 * Returns the finding in the language of the page, or the server's English sentence if there is no
 * translation.
 */
function sentence({ id, text, detail }: Finding): string {
  const key = `ops.finding.${id}` as MessageKey;
  const values = typeof detail === "number" ? { count: detail, size: bytes(detail) } : { detail: detail ?? "" };
  const found = t(key, values);
  return found === key ? text : found;
}

/** Last warnings and errors of the log, the newest first. */
function Log({ entries }: { entries: readonly LogEntry[] }) {
  return (
    <Panel title="ops.log">
      {entries.length === 0 && <p class="dim">{t("ops.log.empty")}</p>}
      <ul class="ops-log" tabIndex={entries.length ? 0 : -1} aria-label={t("ops.log")}>
        {entries.map((entry) => (
          <li class={`ops-${entry.level}`}>
            <time class="dim number" dateTime={new Date(entry.timeMs).toISOString()}>
              {new Date(entry.timeMs).toLocaleTimeString(document.documentElement.lang)}
            </time>
            <b>{t(`ops.${entry.level}`)}</b>
            <span dir="auto">{entry.text}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
