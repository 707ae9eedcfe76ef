import { type MessageKey, bytes, number, t } from "../i18n/messages.ts";
import { Icon } from "../ui/icon.tsx";
import { CachePanel } from "./cache.tsx";
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
        <ScanPanel scan={now.scan} timeMs={shown.timeMs} />
        <CachePanel now={now} timeMs={shown.timeMs} />
        <Errors now={now} />
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

function Conversions({ now: { conversions, transcodes } }: { now: Present }) {
  return (
    <Panel title="ops.conversions">
      <Facts
        of={[
          [t("ops.done"), conversions.done],
          [t("ops.running"), t("ops.of", { used: conversions.running - conversions.improvementsRunning, limit: conversions.concurrency })],
          [t("ops.background"), t("ops.of", { used: conversions.improvementsRunning, limit: conversions.concurrency })],
          [t("ops.waiting"), conversions.waiting],
          [t("ops.refused"), conversions.refused],
          [t("ops.quarantined"), conversions.quarantinedOriginals],
          [t("ops.transcoding"), transcodes.running + transcodes.waiting],
          [t("ops.cpu"), span(conversions.cpuSeconds)],
        ]}
      />
    </Panel>
  );
}

/**
 * Counts of errors since the server started. Cancelled jobs are not counted. Failure reasons are
 * named as in the metrics.
 */
function Errors({ now: { responses, conversions, cells, connections, variants, store } }: { now: Present }) {
  const word = (prefix: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).filter(([reason]) => reason !== "cancelled").map(([reason, count]) => [`${prefix}: ${reason.replaceAll("_", " ")}`, count] as const);
  const all: (readonly [string, number])[] = [
    [t("ops.clientErrors"), responses.clientErrors],
    [t("ops.serverErrors"), responses.serverErrors],
    [t("ops.unknownHosts"), responses.unknownHosts],
    ...word(t("ops.conversions"), conversions.failures),
    [t("ops.refused.conversions"), conversions.refused],
    ...word(t("ops.cells"), cells.kills),
    [t("ops.wipeLeaks"), cells.wipeLeaks],
    [t("ops.writeErrors"), variants.writeErrors],
    [t("ops.shed.connections"), connections.shed],
    [t("ops.timeouts"), connections.timeouts],
    [t("ops.handshakesFailed"), connections.handshakesFailed],
    [t("ops.store"), store?.errors ?? 0],
  ];
  const found = all.filter(([, count]) => count > 0);
  return (
    <Panel title="ops.errors">
      {found.length === 0 && <p class="dim">{t("ops.log.empty")}</p>}
      <Facts of={found.toSorted((a, b) => b[1] - a[1])} />
    </Panel>
  );
}

function Cells({ now: { cells } }: { now: Present }) {
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
        ]}
      />
    </Panel>
  );
}

function Connections({ now: { connections } }: { now: Present }) {
  const handshakes = connections.handshakesFull + connections.handshakesResumed;
  return (
    <Panel title="ops.connections">
      <Facts
        of={[
          [t("ops.open"), connections.open],
          [t("ops.accepted"), connections.accepted],
          ["HTTP/1.1", connections.http1],
          ["HTTP/2", connections.http2],
          [t("ops.handshakes"), handshakes || null],
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
