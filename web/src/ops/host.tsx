import "../shared.ts";

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Failure } from "../ui/message.tsx";

/** Outcomes of a check, the worst first, with the colours of their dots as tokens of app.css. */
const STANDINGS = {
  problem: "--danger",
  gain: "--warn",
  tradeoff: "--accent",
  unknown: "--text-dim",
  fine: "",
  notApplicable: "--text-dim",
} as const;
type Standing = keyof typeof STANDINGS;

/** Property of the host or of the server, with its judgement (docs/doctor.md). All texts are English. */
interface Check {
  readonly id: string;
  readonly title: string;
  readonly standing: Standing;
  readonly isFinding: boolean;
  readonly state: string;
  readonly evidence: readonly { readonly source: string; readonly value: string }[];
  readonly gain: string;
  readonly responseSizes: string;
  readonly risk: string;
  readonly change: string;
  readonly undo: string;
}

interface Report {
  readonly counts: Readonly<Record<Standing, number>>;
  /** All rows, the worst first. */
  readonly checks: readonly Check[];
}

const report = signal<Report | null>(null);
const failure = signal<unknown>(null);
const isReading = signal(false);

async function read(): Promise<void> {
  if (isReading.value) return;
  isReading.value = true;
  failure.value = null;
  try {
    report.value = await api<Report>("/doctor");
  } catch (error) {
    failure.value = error;
  }
  isReading.value = false;
}

/** View of the doctor's findings about the host. The report is read when the view opens. */
export default function HostView() {
  useEffect(() => void read(), []);
  const shown = report.value;
  if (failure.value) return <Failure error={failure.value} retry={read} />;
  if (!shown) return <div class="loading" aria-busy="true" />;
  const standings = (Object.keys(STANDINGS) as Standing[]).filter((it) => shown.counts[it] > 0);
  return (
    <>
      <div class="host-head">
        <p class="dim">{t("ops.host.note")}</p>
        <Button icon="refresh" disabled={isReading.value} onClick={() => void read()}>
          {t("ops.host.again")}
        </Button>
      </div>
      <ul class="ops-legend">
        {standings.map((it) => (
          <li>
            <Count standing={it} of={shown} />
          </li>
        ))}
      </ul>
      {standings.map((standing) => (
        <section class="host-group">
          <h2>
            <Count standing={standing} of={shown} />
          </h2>
          {shown.checks
            .filter((check) => check.standing === standing)
            .map((check) => (
              <Row check={check} key={check.id} />
            ))}
        </section>
      ))}
    </>
  );
}

/** Name of an outcome with the number of its rows. */
function Count({ standing, of }: { standing: Standing; of: Report }) {
  return (
    <>
      <i class={`ops-key ops-key${STANDINGS[standing]}`} />
      {t(`ops.host.${standing}`)} <b class="number">{of.counts[standing]}</b>
    </>
  );
}

/** Row of the report. Findings are open. */
function Row({ check }: { check: Check }) {
  return (
    <details class="card" lang="en" dir="ltr" open={check.isFinding}>
      <summary>
        <span>{check.title}</span> <code class="dim">{check.id}</code>
      </summary>
      <p>{check.state}</p>
      <dl>
        <dt>{t("ops.host.evidence")}</dt>
        {check.evidence.map(({ source, value }) => (
          <dd>
            <code>{source}</code> {value}
          </dd>
        ))}
        <dt>{t("ops.host.expected")}</dt>
        <dd>
          {check.gain} ({check.responseSizes})
        </dd>
        <dt>{t("ops.host.risk")}</dt>
        <dd>{check.risk}</dd>
        <Command title={t("ops.host.change")} text={check.change} />
        <Command title={t("ops.host.undo")} text={check.undo} />
      </dl>
    </details>
  );
}

/** Command, or key of the settings, with a button that copies it. */
function Command({ title, text }: { title: string; text: string }) {
  return (
    <>
      <dt>{title}</dt>
      <dd class="host-command">
        <code>{text}</code>
        <CopyButton text={text} label={t("ops.copy", { name: title })} />
      </dd>
    </>
  );
}
