import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { ApiError } from "../api.ts";
import { url } from "../base.ts";
import { t } from "../i18n/messages.ts";
import { navigate } from "../router.ts";
import { Icon } from "../ui/icon.tsx";
import type { MenuItem } from "../ui/menu.tsx";
import { Failure, Message } from "../ui/message.tsx";
import { toast } from "../ui/toast.tsx";
import { Actions } from "./album.tsx";
import { type Pages, useWhole } from "./load.ts";
import { play } from "./player.ts";
import { shareItems } from "./share-items.ts";
import { DeleteDialog, NameDialog, toastFailure } from "./playlist-dialogs.tsx";
import { type Entry, PlaylistEditor, deletePlaylist, moved, playlistTarget, senderOf } from "./playlist-edit.ts";
import { described } from "./playlists.tsx";
import { Announced, type Drag, Handle } from "./reorder.tsx";
import { TrackRow, TrackSkeleton } from "./track-row.tsx";
import { ROW_HEIGHT } from "./tracks.tsx";
import type { FullPlaylist, FullTrack } from "./types.ts";
import { VirtualList } from "./virtual-list.tsx";

/** Playlist with its tracks, and the entries for which there is no track. */
export function PlaylistView({ id }: { id: string }) {
  const { value: whole, error, reload } = useWhole(playlistTarget(id), PAGES);
  if (error) return <Failure error={error} retry={reload} />;
  if (!whole) return <div aria-busy="true">{Array.from({ length: 8 }, () => <TrackSkeleton />)}</div>;
  return whole.changeable ? <OwnPlaylist playlist={whole} reload={reload} /> : <FixedPlaylist playlist={whole} />;
}

/** Pages of a playlist. Between them, neither a user may change it nor a scan find other tracks. */
const PAGES: Pages<FullPlaylist> = {
  extent: ({ tracks, trackCount }) => [tracks.length, trackCount],
  join: (start, next) => {
    const isSame = next.changed === start.changed && next.trackCount === start.trackCount && next.missingCount === start.missingCount;
    return isSame ? { ...start, tracks: [...start.tracks, ...next.tracks] } : null;
  },
};

/** Playlist that the user cannot change. */
function FixedPlaylist({ playlist }: { playlist: FullPlaylist }) {
  const { tracks, name } = playlist;
  return (
    <>
      <Head playlist={playlist} name={name} tracks={tracks} />
      <VirtualList
        count={tracks.length}
        rowHeight={ROW_HEIGHT}
        label={name}
        row={(index) => {
          const track = tracks[index];
          return track && <TrackRow track={track} hasAlbum onPlay={() => play(tracks, index)} />;
        }}
      />
      <Missing playlist={playlist} />
    </>
  );
}

/** Playlist of the user, with commands that change it. */
function OwnPlaylist({ playlist, reload }: { playlist: FullPlaylist; reload: () => void }) {
  const { id } = playlist;
  const drag = useSignal<Drag | null>(null);
  const asked = useSignal<"name" | "delete" | null>(null);
  const makeEditor = (state: FullPlaylist) => {
    const onRefused = (error: unknown) => {
      if (error instanceof ApiError && error.status === 409) toast(t("music.playlistChanged"));
      else toastFailure(error);
      reload();
    };
    return new PlaylistEditor(state, senderOf(id), onRefused);
  };
  const current = useMemo(() => signal(makeEditor(playlist)), []);
  useEffect(() => {
    if (current.value.isOutdatedBy(playlist)) current.value = makeEditor(playlist);
  }, [playlist]);
  const editor = current.value;
  const entries = editor.entries.value;
  const name = editor.name.value;
  const tracks = entries.map((entry) => entry.track);
  const shown = draggedTo(entries, drag.value);
  const remove = (entry: Entry) => {
    const undo = editor.remove(entry.key);
    toast(t("music.removed", { title: entry.track.title }), { label: t("music.undo"), run: undo });
  };
  const commands: readonly MenuItem[] = [
    { icon: "edit", label: t("music.rename"), run: () => (asked.value = "name") },
    { icon: "trash", label: t("music.delete"), run: () => (asked.value = "delete") },
  ];
  const close = () => (asked.value = null);
  const confirm = async () => {
    try {
      await editor.sent;
      await deletePlaylist(id);
      toast(t("music.deleted", { name }));
      navigate("music/playlists", { replace: true });
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <>
      <Head playlist={playlist} name={name} tracks={tracks} items={commands} />
      <Announced />
      {entries.length === 0 && (
        <Message icon="queue" title={t("music.emptyPlaylist")}>
          <p>{t("music.emptyPlaylistHint")}</p>
        </Message>
      )}
      <VirtualList
        count={shown.length}
        rowHeight={ROW_HEIGHT}
        label={name}
        row={(index) => {
          const entry = shown[index];
          if (!entry) return null;
          const { key, track } = entry;
          const move = (to: number) => editor.move(key, to);
          return (
            <TrackRow
              track={track}
              hasAlbum
              isDragged={drag.value?.key === key}
              handle={<Handle title={track.title} rowKey={key} index={index} count={shown.length} rowHeight={ROW_HEIGHT} drag={drag} onMove={move} />}
              items={[{ icon: "trash", label: t("music.removeFrom"), run: () => remove(entry) }]}
              onPlay={() => play(tracks, index)}
            />
          );
        }}
      />
      <Missing playlist={playlist} />
      {asked.value === "name" && (
        <NameDialog
          title={t("music.renamePlaylist")}
          action={t("music.save")}
          name={name}
          onClose={close}
          onSubmit={(typed) => {
            if (typed !== name) editor.rename(typed);
          }}
        />
      )}
      {asked.value === "delete" && <DeleteDialog name={name} onClose={close} onDelete={confirm} />}
    </>
  );
}

/** Returns the entries in the order that they would have if the dragged row were released. */
function draggedTo(entries: readonly Entry[], drag: Drag | null): readonly Entry[] {
  const from = drag ? entries.findIndex((entry) => entry.key === drag.key) : -1;
  return drag && from >= 0 ? moved(entries, from, drag.to) : entries;
}

interface HeadProps {
  playlist: FullPlaylist;
  name: string;
  tracks: readonly FullTrack[];
  /** Commands that change the playlist. */
  items?: readonly MenuItem[];
}

/** Name and facts of a playlist, with buttons for all its tracks. */
function Head({ playlist, name, tracks, items = [] }: HeadProps) {
  useEffect(() => {
    document.title = `${name} · Pelton`;
  }, [name]);
  const durationMs = tracks.reduce((sum, track) => sum + track.durationMs, 0);
  return (
    <>
      <div class="view-head">
        <div>
          <h1 dir="auto">{name}</h1>
          <p class="dim">{described({ ...playlist, trackCount: tracks.length, durationMs })}</p>
        </div>
      </div>
      <div class="view-head">
        <Actions tracks={tracks} title={name} items={[...shareItems(playlist.id, name), ...items]} />
        <a class="button" href={url(`/-/api${playlistTarget(playlist.id, ".m3u8")}`)} download>
          <Icon name="download" />
          {t("music.m3u8")}
        </a>
      </div>
    </>
  );
}

/** Entries of a playlist that are not tracks of the library. */
function Missing({ playlist: { missing, missingCount, kind } }: { playlist: FullPlaylist }) {
  if (missing.length === 0) return null;
  const summary = t("music.missing", { count: missingCount });
  // The entries of a user's playlist are ids, which say nothing to people.
  if (kind === "user") return <p class="dim">{summary}</p>;
  return (
    <details class="credits">
      <summary>{summary}</summary>
      <ul class="dim">
        {missing.map((entry) => (
          <li dir="auto">{entry}</li>
        ))}
      </ul>
    </details>
  );
}
