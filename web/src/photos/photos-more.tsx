// Parts of the photos area that the first view does not need; see later.ts.
import "../shared.ts";

export { loadFavourites } from "./actions.ts";
export { addGridCommands } from "./commands.ts";
export { FolderView } from "./folders.tsx";
export { MonthDialog } from "./month-dialog.tsx";
export { Scrubber } from "./scrubber-bar.tsx";
export { SelectionBar } from "./selection-bar.tsx";
export { Viewer } from "./viewer.tsx";
