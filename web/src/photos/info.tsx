import type { ComponentChildren } from "preact";

import { bytes, number, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { namesOf, placeOf, settings, sizeOf, takenAt } from "./details.ts";
import type { Slide } from "./slide.ts";
import { nameOf } from "./names.ts";
import { folderPath, playgroundOf } from "./paths.ts";

/** Panel with everything that is known about a picture, and what was sent to this browser. */
export function Info({ slide }: { slide: Slide }) {
  const { details, served } = slide;
  return (
    <aside class="info" aria-label={t("viewer.info")}>
      <h2>{t("viewer.info")}</h2>
      <dl>
        {details?.taken && <Row label={t("viewer.taken")}>{takenAt(details.taken)}</Row>}
        <Row label={t("viewer.file")}>
          <bdi>{details?.name ?? nameOf(slide.picture)}</bdi>
        </Row>
        {details && (
          <Row label={t("viewer.folder")}>
            <a href={href(folderPath(details.folder))}>
              <bdi>{details.folder || t("folders.root")}</bdi>
            </a>
          </Row>
        )}
        {details?.camera && (
          <Row label={t("viewer.camera")}>
            <bdi>{details.camera}</bdi>
          </Row>
        )}
        {details?.lens && (
          <Row label={t("viewer.lens")}>
            <bdi>{details.lens}</bdi>
          </Row>
        )}
        {details && settings(details) && (
          <Row label={t("viewer.exposure")}>
            <bdi>{settings(details)}</bdi>
          </Row>
        )}
        {details && <Row label={t("viewer.size")}>{sizeOf(details)}</Row>}
        {details && (details.places?.[0] || details.latitude !== undefined) && (
          <Row label={t("viewer.place")}>
            {details.places?.map((place) => (
              <p>
                <bdi>{namesOf(place)}</bdi>
              </p>
            ))}
            {details.latitude !== undefined && details.longitude !== undefined && (
              <bdi>{placeOf(details.latitude, details.longitude)}</bdi>
            )}
            {details.altitude !== undefined && <small>{t("viewer.altitude", { metres: Math.round(details.altitude) })}</small>}
          </Row>
        )}
        {served && details && (
          <Row label={t("viewer.served")}>
            <bdi>{served.format}</bdi> · <bdi>{bytes(served.bytes)}</bdi>
            <small>{savedOf(served.bytes, details.bytes)}</small>
          </Row>
        )}
      </dl>
      {details && (
        <p>
          <a href={href("playground", playgroundOf(details.id))}>{t("viewer.playground")}</a>
        </p>
      )}
    </aside>
  );
}

function savedOf(sent: number, original: number): string {
  if (sent >= original) return t("viewer.asIs");
  return t("viewer.saved", { percent: number(1 - sent / original, { style: "percent", maximumFractionDigits: 0 }) });
}

function Row({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
