import "../shared.ts";

import { useEffect, useRef } from "preact/hooks";

import type { AreaProps } from "../areas.ts";
import { type MessageKey, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { MenuHost } from "../ui/menu.tsx";
import { Message } from "../ui/message.tsx";
import { AlbumView } from "./album.tsx";
import { Albums } from "./albums.tsx";
import { ArtistView, Artists } from "./artists.tsx";
import { Groups } from "./groups.tsx";
import { Home } from "./home.tsx";
import { AddHost } from "./playlist-dialogs.tsx";
import { PlaylistView } from "./playlist.tsx";
import { Playlists } from "./playlists.tsx";
import { QueueList } from "./queue-list.tsx";
import { useScrollMemory } from "./scroll.ts";
import { Search } from "./search.tsx";
import { Tracks } from "./tracks.tsx";

const TABS: readonly (readonly [path: string, label: MessageKey])[] = [
  ["", "music.home"],
  ["albums", "music.albums"],
  ["artists", "music.artists"],
  ["tracks", "music.tracks"],
  ["genres", "music.genres"],
  ["years", "music.years"],
  ["composers", "music.composers"],
  ["playlists", "music.playlists"],
  ["queue", "music.queue"],
];

/** Area with all views of music. */
export default function Music({ parts, query }: AreaProps) {
  useScrollMemory(`${parts.join("/")}?${query.get("order") ?? ""}`);
  const [view = ""] = parts;
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    const tab = tabs.current?.querySelector<HTMLElement>("[aria-current]");
    if (tab) tabs.current?.scrollTo({ left: tab.offsetLeft - (tabs.current.clientWidth - tab.offsetWidth) / 2 });
    const label = TABS.find(([path]) => path === view)?.[1];
    // Views of single objects set the title themselves once the object is loaded.
    if (label && parts.length < 2) document.title = `${t(label)} · Pelton`;
    // The link that led here has been removed with the focus. Without the next line, the Tab key
    // would start at the top of the page.
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
  }, [parts.join("/")]);
  return (
    <div class="view music">
      {/* Views that are empty or have failed have no other heading of this level. */}
      <h1 class="hidden">{t("nav.music")}</h1>
      <nav ref={tabs} class="tabs" aria-label={t("nav.music")}>
        {TABS.map(([path, label]) => (
          <a href={href(path ? `music/${path}` : "music")} aria-current={path === view ? (parts.length > 1 ? "true" : "page") : undefined}>
            {t(label)}
          </a>
        ))}
      </nav>
      <View parts={parts} query={query} />
      <MenuHost />
      <AddHost />
    </div>
  );
}

function View({ parts: [view = "", name], query }: AreaProps) {
  if (name !== undefined) {
    if (view === "albums") return <AlbumView key={name} id={name} />;
    if (view === "artists") return <ArtistView key={name} id={name} />;
    if (isGroup(view)) return <Albums key={`${view}/${name}`} query={query} group={{ kind: view, name }} />;
    if (view === "playlists") return <PlaylistView key={name} id={name} />;
  } else {
    if (view === "") return <Home />;
    if (view === "albums") return <Albums query={query} />;
    if (view === "artists") return <Artists />;
    if (view === "tracks") return <Tracks />;
    if (isGroup(view)) return <Groups key={view} kind={view} />;
    if (view === "playlists") return <Playlists />;
    if (view === "queue") return <Queue />;
    if (view === "search") return <Search query={query} />;
  }
  return <Message icon="search" title={t("error.noView")} />;
}

function isGroup(view: string): view is "genres" | "years" | "composers" {
  return view === "genres" || view === "years" || view === "composers";
}

function Queue() {
  return (
    <>
      <div class="view-head">
        <h1>{t("music.queue")}</h1>
      </div>
      <QueueList />
    </>
  );
}
