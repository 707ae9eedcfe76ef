import type { ComponentChildren } from "preact";

import { type MessageKey, t } from "../i18n/messages.ts";
import { short } from "./format.ts";

/** Card with a title. */
export function Panel({ title, children }: { title: MessageKey; children: ComponentChildren }) {
  return (
    <section class="card ops-panel">
      <h2>{t(title)}</h2>
      {children}
    </section>
  );
}

/** List of names and values; those without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [string, string | number | null])[] }) {
  return (
    <dl class="ops-facts">
      {of.map(
        ([name, value]) =>
          value !== null && (
            <div>
              <dt class="dim">{name}</dt>
              <dd class="number">{typeof value === "number" ? short(value) : value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
