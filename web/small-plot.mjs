// Removes the parts of uPlot that the charts do not use, so that the bundler drops what only those
// parts need. Our charts have one horizontal axis of times, no legend, no bands, linear or
// logarithmic values, and a cursor.
//
// Each rule must match. If a new version of uPlot has another text, the build fails.

import { readFile } from "node:fs/promises";

/** Statements that are removed. */
const STATEMENTS = [
  // Features that uPlot exports, or prepares when it is loaded.
  "(paths.stepped = stepped);",
  "(paths.bars    = bars);",
  "(paths.spline  = monotoneCubic);",
  "uPlot.join = join;",
  "uPlot.assign = assign;",
  "uPlot.fmtNum = fmtNum;",
  "uPlot.rangeNum = rangeNum;",
  "uPlot.rangeLog = rangeLog;",
  "uPlot.rangeAsinh = rangeAsinh;",
  "uPlot.orient   = orient;",
  "uPlot.fmtDate = fmtDate;",
  "uPlot.tzDate  = tzDate;",
  "uPlot.addGap = addGap;",
  "uPlot.clipGaps = clipGaps;",
  "const days3 = days.map(slice3);",
  "const months3 = months.map(slice3);",
  "const localTz = new Intl.DateTimeFormat().resolvedOptions().timeZone;",
  "const [ timeIncrsMs, _timeAxisStampsMs, timeAxisSplitsMs ] = genTimeStuffs(1);",
  "genIncrs(2, -53, 53, [1]);",
  // Values that are constant for our charts; see `CONSTANTS`.
  "const showLegend = legend.show;",
  "const showCursor =                cursor.show;",
  "const cursorFocus = focus.prox >= 0;",
  "const cursorOnePt = cursorFocus && points.one;",
  "let rangeIsArr = isArr(rn);",
  "rangeIsArr = false;",
  "let isYr = foundIncr >= y;",
  "let isMo = foundIncr >= mo && foundIncr < y;",
  "let withProx = _prox >= 0 && _prox < inf;",
  "let rotSrc = src.axes[0].side % 2 == 1;",
  // Texts of times, which the axes get from us.
  "const _fmtDate = (opts.fmtDate || fmtDate);",
  "const _timeAxisVals   = timeAxisVals(_tzDate, timeAxisStamps((ms == 1 ? _timeAxisStampsMs : _timeAxisStampsS), _fmtDate));",
  "const _timeSeriesVal  = timeSeriesVal(_tzDate, timeSeriesStamp(_timeSeriesStamp, _fmtDate));",
  "s.value = isTime ? (isStr(sv) ? timeSeriesVal(_tzDate, timeSeriesStamp(sv, _fmtDate)) : sv || _timeSeriesVal) : sv || numSeriesVal;",
  // Methods that we do not call; see `FUNCTIONS`.
  "self.addSeries = addSeries;",
  "self.delSeries = delSeries;",
  "self.batch = batch;",
  "self.setSeries = setSeries;",
  "self.addBand = addBand;",
  "self.setBand = setBand;",
  "self.delBand = delBand;",
];

/** Functions inside of uPlot's main function that only the removed parts call. */
const FUNCTIONS = [
  "initLegendRow",
  "addSeries",
  "delSeries",
  "flushHooks",
  "batch",
  "toggleDOM",
  "setSeries",
  "addBand",
  "setBand",
  "delBand",
  "setAlpha",
  "setFocus",
  "syncLegend",
  "setLegendValues",
];

/** Expressions with their values in our charts. */
const CONSTANTS = [
  [/\bmode == 1\b/g, "true"],
  [/\bmode == 2\b/g, "false"],
  [/\bms == 1\b/g, "false"],
  [/\blogBase == 10\b/g, "true"],
  [/\bshowLegend\b/g, "false"],
  [/\bshowCursor\b/g, "true"],
  [/\bcursorFocus\b/g, "false"],
  [/\bcursorOnePt\b/g, "false"],
  [/\brangeIsArr\b/g, "false"],
  [/\b(isYr|isMo|withProx|rotSrc|deferHooks)\b(?! =)/g, "false"],
  [/\bscaleX\.ori == 0\b/g, "true"],
  [/\bscaleX\.ori == 1\b/g, "false"],
  [/\bscaleX\.time\b/g, "true"],
  [/\bxScaleDistr == [234]\b/g, "false"],
  [/\b(\w+\.)?distr == (2|4|100)\b/g, "false"],
  [/\b(\w+)\.from != null\b/g, "false"],
  [/\b(\w+)\.from == null\b/g, "true"],
  [/\bflags != 0 && bands\b/g, "false && bands"],
  [/\bbandFillDir != 0\b/g, "false"],
  [/\bbandClipDir != 0\b/g, "false"],
  [/\(boundsClip \|\| gapsClip \|\| bandClip\)/g, "(boundsClip || gapsClip)"],
  [/\bif \(bandClip\)/g, "if (false)"],
  [/\buni != null\b/g, "false"],
  [/\bisObj\(rn\)/g, "false"],
  [/\baxis\.values = \([^;]*\);/g, "axis.values = av;"],
  [/sc\.distr == 3 \? snapLogX : sc\.distr == 4 \? snapAsinhX : snapNumX/g, "snapTimeX"],
  [/sc\.distr == 3 \? snapLogY : sc\.distr == 4 \? snapAsinhY : snapNumY/g, "snapLogY"],
  [/sc\.distr == 3 && sc\.log == 2 \? log2AxisValsFilt : /g, ""],
  [/\n\tconst _timeAxisStamps = \[[^]*?\n\t\];/g, ""],
  [/\nconst engNames = \{[^]*?\n\};/g, ""],
  [/\t\t_timeAxisStamps,\n/g, ""],
  [/\btimeIncrsS,  _timeAxisStampsS,/g, "timeIncrsS,"],
  [/\n\tevents\["setSeries"\] = [^]*?\n\t\};/g, ""],
];

/** Returns the source of uPlot without the parts that are not used. */
export function shrink(source) {
  const replace = (rule, pattern, text) => {
    const replaced = source.replace(pattern, text);
    if (replaced === source) throw new Error(`uPlot has nothing like ${rule}`);
    source = replaced;
  };
  for (const statement of STATEMENTS) replace(statement, statement, "");
  for (const name of FUNCTIONS) replace(name, new RegExp(`\n\tfunction ${name}\\([^]*?\n\t\\}\n`), "\n");
  // The last rules have texts that the first ones would change.
  for (const [pattern, value] of CONSTANTS.toReversed()) replace(pattern, pattern, value);
  return source;
}

/** Plugin for esbuild. */
export const smallPlot = {
  name: "small-plot",
  setup({ onLoad }) {
    onLoad({ filter: /uPlot\.esm\.js$/ }, async ({ path }) => ({ contents: shrink(await readFile(path, "utf8")) }));
  },
};
