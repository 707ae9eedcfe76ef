import type { FunctionComponent } from "preact";

import type { MessageKey, Part } from "./i18n/messages.ts";
import type { IconName } from "./ui/icon.tsx";

/** Properties of the component that shows an area. */
export interface AreaProps {
  /** Decoded parts of the path below the area's own, such as `["albums", "al-1"]`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** Part of the page that has an entry in the navigation, and a module of its own. */
export interface Area {
  /** First part of the paths of the area's views. */
  readonly path: string;
  readonly label: MessageKey;
  readonly icon: IconName;
  readonly isForAdmins?: boolean;
  /** Part of the catalogue of messages that the area needs. */
  readonly messages?: Part;
  readonly load: () => Promise<{ default: FunctionComponent<AreaProps> }>;
}

export const AREAS: readonly Area[] = [
  { path: "photos", label: "nav.photos", icon: "photos", load: () => import("./photos/photos.tsx") },
  { path: "folders", label: "nav.folders", icon: "folder", load: () => import("./photos/photos.tsx").then((it) => ({ default: it.Folders })) },
  { path: "music", label: "nav.music", icon: "music", messages: "music", load: () => import("./music/music.tsx") },
  { path: "ops", messages: "ops", label: "nav.ops", icon: "dashboard", isForAdmins: true, load: () => import("./ops/ops.tsx") },
];

/** Views without an entry in the navigation. */
export const MORE: readonly Area[] = [
  { path: "playground", label: "nav.playground", icon: "settings", messages: "playground", load: () => import("./playground/playground.tsx") },
  { path: "settings", label: "nav.settings", icon: "settings", messages: "share", load: () => import("./account/settings.tsx") },
];
