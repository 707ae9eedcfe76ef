import { useSignal } from "@preact/signals";

import { duration, t } from "../i18n/messages.ts";
import { href, navigate } from "../router.ts";
import { session } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { useWhole } from "./load.ts";
import { NameDialog } from "./playlist-dialogs.tsx";
import { PLAYLIST_PAGES, create } from "./playlist-edit.ts";
import type { Playlist } from "./types.ts";

/** Playlists of the user, of other users, and in files of the library. */
export function Playlists() {
  const { value, error, reload } = useWhole("/playlists", PLAYLIST_PAGES);
  const { name } = session.value;
  if (error) return <Failure error={error} retry={reload} />;
  const all = value?.items ?? [];
  const own = all.filter(isOwn);
  const shared = all.filter((it) => it.kind === "user" && !isOwn(it));
  const inFiles = all.filter((it) => it.kind === "file");
  return (
    <>
      <div class="view-head">
        <h1>{t("music.playlists")}</h1>
        {name !== null && <NewButton />}
      </div>
      {!value && <Tiles playlists={null} />}
      {value && all.length === 0 && (
        <Message icon="queue" title={t("music.noPlaylists")}>
          <p>{t(name === null ? "music.noPlaylistsHint" : "music.noOwnPlaylistsHint")}</p>
        </Message>
      )}
      <Group title={t("music.ownPlaylists")} playlists={own} />
      <Group title={t("music.sharedPlaylists")} playlists={shared} />
      <Group title={t("music.filePlaylists")} playlists={inFiles} />
    </>
  );
}

/** Button that asks for a name and creates a playlist. */
function NewButton() {
  const isOpen = useSignal(false);
  const submit = async (name: string) => navigate(`music/playlists/${await create(name, [])}`);
  return (
    <>
      <Button icon="listAdd" onClick={() => (isOpen.value = true)}>
        {t("music.newPlaylist")}
      </Button>
      {isOpen.value && (
        <NameDialog title={t("music.newPlaylist")} action={t("music.create")} onClose={() => (isOpen.value = false)} onSubmit={submit} />
      )}
    </>
  );
}

function Group({ title, playlists }: { title: string; playlists: readonly Playlist[] }) {
  if (playlists.length === 0) return null;
  return (
    <section class="group">
      <h2>{title}</h2>
      <Tiles playlists={playlists} />
    </section>
  );
}

function Tiles({ playlists }: { playlists: readonly Playlist[] | null }) {
  return (
    <ul class="tiles">
      {playlists
        ? playlists.map((playlist) => (
            <li key={playlist.id}>
              <a href={href(`music/playlists/${playlist.id}`)}>
                <b dir="auto">{playlist.name}</b>
                <span class="dim">{described(playlist)}</span>
              </a>
            </li>
          ))
        : Array.from({ length: 4 }, () => <li class="skeleton" />)}
    </ul>
  );
}

/** Returns the facts about a playlist in one line. The owner is named if it is another user. */
export function described(playlist: Playlist): string {
  const { trackCount, durationMs, owner } = playlist;
  const by = owner === undefined || isOwn(playlist) ? [] : [t("music.by", { name: owner })];
  return [t("music.trackCount", { count: trackCount }), duration(durationMs), ...by].join(" · ");
}

/** Returns whether a playlist belongs to the user, also before the session has been loaded. */
function isOwn({ kind, changeable, owner }: Playlist): boolean {
  return kind === "user" && (changeable || owner === session.value.name);
}
