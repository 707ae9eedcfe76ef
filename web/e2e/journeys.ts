// All journeys. A new one is a file in `journeys/` and a row here.

import { areas } from "./journeys/areas.ts";
import { compare } from "./journeys/compare.ts";
import { damaged } from "./journeys/damaged.ts";
import { dashboard } from "./journeys/dashboard.ts";
import { download } from "./journeys/download.ts";
import { expired } from "./journeys/expired.ts";
import { gapless } from "./journeys/gapless.ts";
import { groups } from "./journeys/groups.ts";
import { help } from "./journeys/help.ts";
import { host } from "./journeys/host.ts";
import { hostile } from "./journeys/hostile.ts";
import { keys } from "./journeys/keys.ts";
import { language } from "./journeys/language.ts";
import { large } from "./journeys/large.ts";
import { login } from "./journeys/login.ts";
import { lyrics } from "./journeys/lyrics.ts";
import { motion } from "./journeys/motion.ts";
import { offline } from "./journeys/offline.ts";
import { player } from "./journeys/player.ts";
import { playground } from "./journeys/playground.ts";
import { playlists } from "./journeys/playlists.ts";
import { profile } from "./journeys/profile.ts";
import { quality } from "./journeys/quality.ts";
import { recovery } from "./journeys/recovery.ts";
import { scroll } from "./journeys/scroll.ts";
import { sessions } from "./journeys/sessions.ts";
import { settings } from "./journeys/settings.ts";
import { shares } from "./journeys/shares.ts";
import { shell } from "./journeys/shell.ts";
import { timeline } from "./journeys/timeline.ts";
import { videos } from "./journeys/videos.ts";
import { viewer } from "./journeys/viewer.ts";
import type { Visit } from "./visit.ts";

/** What a person does with the page. Each journey begins in a new tab without cookies. */
export interface Journey {
  readonly name: string;
  /** True if the gate takes the journey, in few variants; otherwise only `conform page` does. */
  readonly isSmoke: boolean;
  /**
   * True if the journey logs in. Sessions need a proxy that keeps the field Host, because a request
   * that changes something must have an Origin equal to it; other journeys need none.
   */
  readonly logsIn: boolean;
  /** Runs the journey. May return a remark for the log of the suite. */
  readonly run: (visit: Visit) => Promise<string | void>;
}

export const JOURNEYS: readonly Journey[] = [
  shell, settings, login, help, language, areas, download, damaged, compare, playground, playlists,
  large, lyrics, motion, scroll, dashboard, host, profile, videos, groups, quality, player, gapless,
  recovery, shares, viewer, timeline, keys, expired, hostile, sessions, offline,
];
