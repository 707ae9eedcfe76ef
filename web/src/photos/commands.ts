import { addCommands } from "../keys.ts";
import type { Grid } from "./grid.ts";
import { firstOf, monthAt, yearStep } from "./scrubber.ts";
import { clearSelection, select, selection } from "./selection.ts";
import type { Source } from "./source.ts";

/** Adds the keyboard commands of the timeline. Returns a function that removes them. */
export function addGridCommands(grid: Grid, source: Source, ask: () => void): () => void {
  const isRtl = document.dir === "rtl";
  const step = (key: string) => grid.step((key === "ArrowRight") === isRtl ? -1 : 1, false);
  const end = (key: string) => grid.reveal(key === "Home" ? 0 : source.sections.total - 1, true);
  return addCommands({
    title: "photos.keys",
    commands: [
      { keys: ["ArrowLeft", "ArrowRight"], label: "photos.keys.photo", run: step },
      { keys: ["ArrowDown", "ArrowUp", "j", "k"], label: "photos.keys.row", run: (key) => grid.step(key === "ArrowDown" || key === "j" ? 1 : -1, true) },
      { keys: ["d", "D"], label: "photos.keys.day", run: (key) => grid.jumpTo(dayStep(source, grid.view.peek().index, key === "d" ? 1 : -1)) },
      { keys: ["m", "M"], label: "photos.keys.month", run: (key) => monthStep(grid, source, key === "m" ? 1 : -1) },
      { keys: ["y", "Y"], label: "photos.keys.year", run: (key) => yearJump(grid, source, key === "y" ? 1 : -1) },
      { keys: ["Home", "End"], label: "photos.keys.ends", run: end },
      { keys: ["g"], label: "photos.goTo", run: ask },
      { keys: ["x"], label: "photos.keys.select", run: () => toggle(grid, source) },
      { keys: ["Escape"], label: "photos.clear", run: clearSelection },
    ],
  });
}

function toggle(grid: Grid, source: Source): void {
  const picture = source.picture(grid.focused);
  if (picture) select([picture], !selection.value.has(picture.id));
}

function monthStep(grid: Grid, source: Source, by: 1 | -1): void {
  const months = source.months.value ?? [];
  const present = monthAt(months, grid.view.peek().index);
  grid.jumpTo(firstOf(months, Math.min(months.length - 1, Math.max(0, present + by))));
}

function yearJump(grid: Grid, source: Source, by: 1 | -1): void {
  const months = source.months.value ?? [];
  grid.jumpTo(firstOf(months, yearStep(months, monthAt(months, grid.view.peek().index), by)));
}

/**
 * Returns the index of the first picture of the next (1) or previous (-1) day. If not all pictures
 * on the way are loaded, returns the index at which the loaded ones end.
 */
function dayStep(source: Source, from: number, by: 1 | -1): number {
  const dateOf = (index: number) => source.picture(index)?.date;
  let index = from;
  if (by > 0) {
    while (dateOf(index) !== undefined && dateOf(index) === dateOf(from)) index += 1;
    return Math.min(index, source.sections.total - 1);
  }
  const start = (at: number) => {
    while (at > 0 && dateOf(at - 1) === dateOf(at)) at -= 1;
    return at;
  };
  index = start(from);
  return index < from || index === 0 ? index : start(index - 1);
}
