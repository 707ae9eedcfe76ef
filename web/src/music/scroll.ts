import { useEffect, useLayoutEffect } from "preact/hooks";

/**
 * Maximum time to wait until a view is long enough to be scrolled to its old position, in
 * milliseconds.
 */
const PATIENCE_MS = 1500;

/** Time without scrolling after which the scroll position is stored, in milliseconds. */
const REST_MS = 120;

/** Returns the scroll position that is stored in the entry of the history. */
function keptPosition(): number {
  const state: unknown = history.state;
  return typeof state === "object" && state !== null && "y" in state && typeof state.y === "number" ? state.y : 0;
}

/**
 * Scrolls each new view to its top, and views to which the user returns to where they were left.
 */
export function useScrollMemory(view: string): void {
  useEffect(() => {
    history.scrollRestoration = "manual";
    return () => {
      history.scrollRestoration = "auto";
    };
  }, []);
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let frame = 0;
    const wanted = keptPosition();
    const started = performance.now();
    const restore = () => {
      window.scrollTo(0, wanted);
      const isThere = Math.abs(scrollY - wanted) < 2;
      if (!isThere && performance.now() - started < PATIENCE_MS) frame = requestAnimationFrame(restore);
      else frame = 0;
    };
    const keep = () => {
      clearTimeout(timer);
      if (frame === 0) timer = setTimeout(() => history.replaceState({ y: scrollY }, ""), REST_MS);
    };
    restore();
    // Once the user scrolls, the old position is not restored.
    const giveUp = () => cancelAnimationFrame(frame);
    addEventListener("scroll", keep, { passive: true });
    addEventListener("wheel", giveUp, { passive: true });
    addEventListener("touchstart", giveUp, { passive: true });
    return () => {
      clearTimeout(timer);
      giveUp();
      removeEventListener("scroll", keep);
      removeEventListener("wheel", giveUp);
      removeEventListener("touchstart", giveUp);
    };
  }, [view]);
}
