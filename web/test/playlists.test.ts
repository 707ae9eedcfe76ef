import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import fc from "fast-check";

import { ApiError } from "../src/api.ts";
import { ALBUM_PAGES, ARTIST_PAGES, loadRest, loadTracks, loadWhole } from "../src/music/load.ts";
import { PLAYLIST_PAGES, PlaylistEditor, append, create, moved, playlistTarget } from "../src/music/playlist-edit.ts";
import type { FullPlaylist, FullTrack, Page, Playlist } from "../src/music/types.ts";

function track(id: string): FullTrack {
  return { id, title: id, artist: "", artistIds: [], durationMs: 1000, file: "/", disc: 0, number: 0, kbps: 0, contributors: [], plays: 0 };
}

function playlist(ids: readonly string[]): FullPlaylist {
  const tracks = ids.map(track);
  return { id: "pl-1", name: "x", kind: "user", changeable: true, changed: "t0", trackCount: ids.length, durationMs: 0, missingCount: 0, tracks, missing: [] };
}

/** Playlist as the API keeps it: the track ids, and a time that each change replaces. */
class Kept {
  ids: string[];
  name = "x";
  changes = 0;

  constructor(ids: readonly string[]) {
    this.ids = [...ids];
  }

  readonly send = async (method: string, rest: string, query: Readonly<Record<string, string>>) => {
    await Promise.resolve();
    if (query["changed"] !== `t${this.changes}`) throw new ApiError(409, "the playlist has changed");
    const from = rest.match(/^\/tracks\/(\d+)$/)?.[1];
    const position = from ?? query["index"];
    if (position !== undefined && query["track"] !== this.ids[Number(position)]) throw new ApiError(409, "the playlist has changed");
    if (from !== undefined) this.ids.splice(Number(query["to"]), 0, ...this.ids.splice(Number(from), 1));
    else if (method === "DELETE") this.ids.splice(Number(query["index"]), 1);
    else if (method === "POST") this.ids.splice(Number(query["at"]), 0, query["track"] ?? "");
    else this.name = query["name"] ?? "";
    this.changes += 1;
    return { changed: `t${this.changes}` };
  };
}

function shown(editor: PlaylistEditor): string[] {
  return editor.entries.value.map((entry) => entry.track.id);
}

test("a moved item gets the index it is moved to", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 2), ["b", "c", "a"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, 0), ["c", "a", "b"]);
  assert.deepEqual(moved(["a", "b", "c"], 1, 1), ["a", "b", "c"]);
});

test("changes are shown at once, and the server has the same tracks in the end", async () => {
  const step = fc.record({ kind: fc.constantFrom("move", "remove", "undo"), from: fc.nat(5), to: fc.nat(5) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const kept = new Kept(["a", "b", "a", "c", "d"]);
      const editor = new PlaylistEditor(playlist(kept.ids), kept.send, (error) => assert.fail(String(error)));
      let undo = () => {};
      for (const { kind, from, to } of steps) {
        const { entries } = editor;
        const key = entries.value[from % Math.max(1, entries.value.length)]?.key ?? -1;
        if (kind === "move") editor.move(key, Math.min(to, Math.max(0, entries.value.length - 1)));
        if (kind === "remove") undo = editor.remove(key);
        if (kind === "undo") {
          undo();
          undo = () => {};
        }
      }
      await editor.sent;
      assert.deepEqual(kept.ids, shown(editor));
    }),
  );
});

test("a removed track comes back to its place", async () => {
  const kept = new Kept(["a", "b", "c"]);
  const editor = new PlaylistEditor(playlist(kept.ids), kept.send, (error) => assert.fail(String(error)));
  const undo = editor.remove(1);
  assert.deepEqual(shown(editor), ["a", "c"]);
  undo();
  editor.rename("y");
  await editor.sent;
  assert.deepEqual([kept.ids, shown(editor)], [["a", "b", "c"], ["a", "b", "c"]]);
  assert.deepEqual([kept.name, editor.name.value], ["y", "y"]);
});

test("after a refusal nothing more is sent", async () => {
  const kept = new Kept(["a", "b", "c"]);
  const refusals: unknown[] = [];
  const editor = new PlaylistEditor(playlist(kept.ids), kept.send, (error) => refusals.push(error));
  kept.ids = ["b", "a", "c"];
  kept.changes = 1;
  editor.remove(0);
  editor.move(2, 0);
  await editor.sent;
  assert.deepEqual(kept.ids, ["b", "a", "c"]);
  assert.equal(refusals.length, 1);
  assert.equal((refusals[0] as ApiError).status, 409);
});

test("a response from before a change does not replace the editor, a later state does", async () => {
  const kept = new Kept(["a", "b", "c"]);
  const first = playlist(kept.ids);
  const editor = new PlaylistEditor(first, kept.send, (error) => assert.fail(String(error)));
  assert.ok(!editor.isOutdatedBy(first));
  assert.ok(editor.isOutdatedBy({ ...playlist(["b", "c"]), changed: "t0" }), "after a scan");
  editor.remove(0);
  const after = { ...playlist(["b", "c"]), changed: "t1" };
  for (const response of [first, after]) assert.ok(!editor.isOutdatedBy(response), "before the server has responded");
  await editor.sent;
  for (const response of [first, after]) assert.ok(!editor.isOutdatedBy(response));
  assert.ok(editor.isOutdatedBy({ ...after, changed: "t2" }), "a change elsewhere");
});

test("any response replaces an editor that was refused", async () => {
  const kept = new Kept(["a", "b"]);
  const editor = new PlaylistEditor(playlist(kept.ids), kept.send, () => undefined);
  kept.changes = 1;
  editor.move(0, 1);
  await editor.sent;
  assert.ok(editor.isOutdatedBy(playlist(kept.ids)));
});

test("a position that has another track after a scan changes nothing", async () => {
  for (const edit of [(editor: PlaylistEditor) => editor.remove(1), (editor: PlaylistEditor) => editor.move(1, 0)]) {
    const kept = new Kept(["a", "b", "c"]);
    const refusals: unknown[] = [];
    const editor = new PlaylistEditor(playlist(kept.ids), kept.send, (error) => refusals.push(error));
    // The scan does not find the file of the first track, and the time of the last change stays.
    kept.ids = ["b", "c"];
    edit(editor);
    await editor.sent;
    assert.deepEqual(kept.ids, ["b", "c"]);
    assert.equal((refusals[0] as ApiError).status, 409);
  }
});

test("an id from an address names only one playlist", () => {
  assert.equal(playlistTarget("pl-1", "/tracks"), "/playlists/pl-1/tracks");
  assert.equal(playlistTarget("../albums?x#", ".m3u8"), "/playlists/..%2Falbums%3Fx%23.m3u8");
});

/** Page of a list of `total` playlists, as the API gives it: at most 500 of them. */
function listed(offset: number, total: number): Page<Playlist> {
  const count = Math.min(500, Math.max(0, total - offset));
  const items = Array.from({ length: count }, (_, index) => ({ ...playlist([]), id: `pl-${offset + index}` }));
  return { total, offset, items };
}

test("a list of more playlists than a page has is loaded whole", async () => {
  const offsets: number[] = [];
  const load = async (offset: number) => {
    offsets.push(offset);
    return listed(offset, 1203);
  };
  const whole = await loadRest(listed(0, 1203), PLAYLIST_PAGES, load);
  assert.deepEqual(offsets, [500, 1000]);
  assert.deepEqual(whole?.items.map(({ id }) => id), Array.from({ length: 1203 }, (_, index) => `pl-${index}`));
});

test("pages of different states do not become one list", async () => {
  // A playlist was created, or deleted, after the first page.
  for (const total of [1001, 999, 0]) {
    assert.equal(await loadRest(listed(0, 1000), PLAYLIST_PAGES, async (offset) => listed(offset, total)), null);
  }
});

/** Responds to requests for albums and artists as the server does: at most 500 items of `total`. */
function serveLists(context: TestContext, total: number): string[] {
  const asked: string[] = [];
  context.mock.method(globalThis, "fetch", async (target: string) => {
    const { pathname, searchParams } = new URL(target, "http://here");
    asked.push(`${pathname.split("/-/api")[1]}${searchParams.get("offset")}`);
    const offset = Number(searchParams.get("offset"));
    const count = Math.min(500, Math.max(0, total - offset));
    const items = Array.from({ length: count }, (_, index) => track(`${pathname.at(-1)}${offset + index}`));
    return Response.json({ trackCount: total, tracks: items, albumCount: total, albums: items });
  });
  return asked;
}

test("an album of 1,200 tracks and an artist with 1,200 albums are loaded whole", async (context) => {
  const asked = serveLists(context, 1200);
  const { tracks } = await loadWhole("/albums/a", ALBUM_PAGES);
  assert.deepEqual(tracks.map(({ id }) => id), Array.from({ length: 1200 }, (_, index) => `a${index}`));
  const { albums } = await loadWhole("/artists/b", ARTIST_PAGES);
  assert.deepEqual(albums.map(({ id }) => id), Array.from({ length: 1200 }, (_, index) => `b${index}`));
  assert.deepEqual(asked, ["/albums/a0", "/albums/a500", "/albums/a1000", "/artists/b0", "/artists/b500", "/artists/b1000"]);
});

test("the tracks of many albums are loaded in order, until there are enough", async (context) => {
  const asked = serveLists(context, 3);
  const ids = Array.from("abcdefghijklmnopqrst");
  const tracks = await loadTracks(ids, 1000);
  assert.deepEqual(tracks.map(({ id }) => id), ids.flatMap((id) => [`${id}0`, `${id}1`, `${id}2`]));
  assert.equal(asked.length, 20);
  assert.equal((await loadTracks(ids, 25)).length, 48, "the albums of two batches");
});

test("many tracks are added by one request, whose body is a form", async (context) => {
  const requests: Request[] = [];
  context.mock.method(globalThis, "fetch", async (target: string, init: RequestInit) => {
    requests.push(new Request(new URL(target, "http://here"), init));
    return Response.json({ id: "pl-2" });
  });
  const ids = Array.from({ length: 5000 }, (_, index) => `tr-${index}`);
  await append("pl-1", ids);
  assert.equal(await create("a & b", ids), "pl-2");
  const [appended, created, ...rest] = requests;
  assert.ok(appended && created);
  assert.deepEqual(rest, []);
  for (const request of [appended, created]) {
    assert.equal(request.method, "POST");
    assert.equal(new URL(request.url).search, "");
    assert.match(request.headers.get("content-type") ?? "", /^application\/x-www-form-urlencoded/);
  }
  assert.match(appended.url, /\/playlists\/pl-1\/tracks$/);
  assert.deepEqual(new URLSearchParams(await appended.text()).getAll("track"), ids);
  const form = new URLSearchParams(await created.text());
  assert.equal(form.get("name"), "a & b");
  assert.deepEqual(form.getAll("track"), ids);
});
