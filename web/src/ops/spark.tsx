import { t } from "../i18n/messages.ts";
import { type Cell, condensed } from "./history.ts";
import { type Box, bandPath, dotPath, linePath, peak } from "./line.ts";
import { shownRange } from "./state.ts";

/** Number of rows of the table that stands beside a chart for screen readers. */
const TABLE_ROWS = 10;
const BOX: Box = { width: 240, height: 44 };

interface SparkProps {
  /** Name of the values shown. */
  label: string;
  values: readonly Cell[];
  /** Lower line of a band, such as the median below the 99th percentile. */
  low?: readonly Cell[];
  /** Value at the top; the largest value if omitted. */
  max?: number;
  format: (value: number) => string;
}

/** Small chart of the chosen range. */
export function Spark({ label, values, low, max, format }: SparkProps) {
  const top = max ?? peak(values);
  const title = t("ops.chart", { name: label, range: t(`ops.range.${shownRange.value}`), peak: format(peak(values)) });
  const area = low ?? values.map((value) => (value === null ? null : 0));
  return (
    <>
      <svg class="spark" viewBox={`0 -2 ${BOX.width} ${BOX.height + 4}`} preserveAspectRatio="none" role="img" aria-label={title}>
        <title>{title}</title>
        <path class="spark-area" d={bandPath(area, values, top, BOX)} />
        <path class="spark-line" d={linePath(values, top, BOX)} />
        {low && <path class="spark-line" d={linePath(low, top, BOX)} />}
        <path class="spark-line spark-dot" d={dotPath(values, top, BOX) + (low ? dotPath(low, top, BOX) : "")} />
      </svg>
      <Table label={label} values={values} format={format} />
    </>
  );
}

/** Values of a chart for screen readers, the newest last. */
function Table({ label, values, format }: Pick<SparkProps, "label" | "values" | "format">) {
  return (
    <div class="hidden">
      <table>
        <caption>{label}</caption>
        <tbody>
          <tr>
            {condensed(values, TABLE_ROWS).map((value) => (
              <td>{value === null ? t("ops.noData") : format(value)}</td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}
