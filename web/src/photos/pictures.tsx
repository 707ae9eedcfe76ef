import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { href, navigate } from "../router.ts";
import { session } from "../session.ts";
import { Failure } from "../ui/message.tsx";
import type { Grid } from "./grid.ts";
import { loadMore, more } from "./later.ts";
import type { Picture, Source } from "./source.ts";
import { Timeline } from "./timeline.tsx";

/** Address of a view. */
export interface Target {
  readonly path: string;
  readonly query: Record<string, string>;
}

export interface PicturesProps {
  source: Source;
  /** Id of the picture that the viewer shows, if it is open. */
  viewing: string | null;
  at: string | null;
  /** Returns the address of the viewer with a picture, or of the view without the viewer. */
  targetOf: (id: string | null) => Target;
  empty: ComponentChildren;
}

/** Timeline of a source, and the viewer over it. */
export function Pictures({ source, viewing, at, targetOf, empty }: PicturesProps) {
  const grid = useRef<Grid | null>(null);
  const wasClosed = useRef(viewing === null);
  const canGoBack = useRef(false);
  const parts = more.value;
  const failure = useMore(viewing !== null);
  useEffect(() => void parts?.loadFavourites(), [parts, session.value.name]);
  useEffect(() => {
    if (viewing !== null && wasClosed.current) canGoBack.current = true;
    if (viewing === null) canGoBack.current = false;
    wasClosed.current = viewing === null;
  }, [viewing]);

  const replace = ({ path, query }: Target) => navigate(path, { replace: true, query });
  const go = (id: string) => replace(targetOf(id));
  const close = () => {
    if (canGoBack.current) history.back();
    else replace(targetOf(null));
  };
  const nameMonth = (month: string | null) => {
    const { path, query } = targetOf(null);
    // The signal `address` is not changed, because the view shows this month already.
    history.replaceState(history.state, "", href(path, month ? { ...query, at: month } : query));
  };
  const linkOf = (picture: Picture) => {
    const { path, query } = targetOf(picture.id);
    return href(path, query);
  };
  const tileOf = (id: string) => grid.current?.tileAt(source.indexOf(id));
  return (
    <>
      <Timeline source={source} linkOf={linkOf} at={at} isCovered={viewing !== null && parts !== null} gridRef={grid} onMonth={nameMonth} empty={empty} />
      {failure}
      {viewing !== null && parts && (
        <parts.Viewer
          source={source}
          id={viewing}
          go={go}
          close={close}
          thumbnailOf={(id) => tileOf(id)?.shown ?? ""}
          rectOf={(id) => tileOf(id)?.element.getBoundingClientRect()}
          onLeave={(id, month) => grid.current?.revealId(id, month, true)}
        />
      )}
    </>
  );
}

/** Loads the parts that the first view does not need, if needed. Returns a message if that fails. */
export function useMore(isNeeded: boolean) {
  const isLost = useSignal(false);
  const load = () => {
    isLost.value = false;
    void loadMore().then((isLoaded) => (isLost.value = !isLoaded));
  };
  useEffect(() => {
    if (isNeeded) load();
  }, [isNeeded]);
  return isNeeded && isLost.value && <Failure retry={load} />;
}
