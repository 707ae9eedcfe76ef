import { bytes, number, t } from "../i18n/messages.ts";
import { type Comparison, encoderOf, meaningOf } from "../photos/comparison.ts";
import { type Details, formatName } from "../photos/details.ts";
import type { Variant } from "./variant.ts";

interface Props {
  readonly picture: Details;
  readonly variant: Variant | null;
  readonly comparison: Comparison | null;
  /** True while the score is computed. */
  readonly isScoring: boolean;
  readonly isScoreFailed: boolean;
  /** True while another variant is requested. */
  readonly isBusy: boolean;
}

/** Facts about the variant. The layout does not shift while they load. */
export function Figures({ picture, variant, comparison, isScoring, isScoreFailed, isBusy }: Props) {
  const score = comparison?.ssimulacra2;
  const ratio = variant && number(variant.bytes / picture.bytes, { style: "percent", maximumFractionDigits: 1 });
  return (
    <dl class={isBusy ? "play-figures dim" : "play-figures"}>
      <Figure label={t("play.type")} value={variant && formatName(variant.type)} more={variant?.type} />
      <Figure
        label={t("play.size")}
        value={variant?.size && `${variant.size.width} × ${variant.size.height}`}
        more={picture.width > 0 ? t("play.ofPixels", { width: String(picture.width), height: String(picture.height) }) : undefined}
      />
      <Figure label={t("play.bytes")} value={variant && bytes(variant.bytes)} more={ratio ? t("play.ofOriginal", { percent: ratio }) : undefined} />
      <Figure
        label={t("play.time")}
        value={variant && `${number(variant.ms, { maximumFractionDigits: 0 })} ms`}
        more={variant?.cacheStatus}
        title="Cache-Status"
      />
      <Figure
        label={t("play.score")}
        value={score === undefined ? null : number(score, { maximumFractionDigits: 1 })}
        more={isScoreFailed && !isScoring ? t("compare.failed") : scoreText(comparison, isScoring)}
        title="SSIMULACRA2"
      />
      <Figure
        label={t("play.encoder")}
        value={comparison && !comparison.isOriginal ? (comparison.sent.encoder ?? null) : null}
        more={comparison && !comparison.isOriginal ? encoderOf(comparison.sent).split(" · ").slice(1).join(" · ") : undefined}
      />
    </dl>
  );
}

function scoreText(comparison: Comparison | null, isScoring: boolean): string | undefined {
  if (!comparison) return isScoring ? t("play.computing") : undefined;
  if (comparison.isOriginal) return t("play.same");
  return comparison.ssimulacra2 === undefined ? t("play.tooLarge") : t(meaningOf(comparison.ssimulacra2));
}

interface FigureProps {
  readonly label: string;
  readonly value: string | null | undefined;
  readonly more?: string | undefined;
  readonly title?: string;
}

function Figure({ label, value, more, title }: FigureProps) {
  return (
    <div {...(title ? { title } : {})}>
      <dt>{label}</dt>
      <dd class="number">
        <bdi>{value || "–"}</bdi>
        <small>
          <bdi>{more || "\u00a0"}</bdi>
        </small>
      </dd>
    </div>
  );
}
