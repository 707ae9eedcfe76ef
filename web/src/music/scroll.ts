import { useEffect, useLayoutEffect } from "preact/hooks";

/** Time for which a view may grow until it can be scrolled back, in milliseconds. */
const PATIENCE_MS = 1500;

/** Time after which a scroll position is kept, in milliseconds. */
const REST_MS = 120;

/** Position of the view in the history's entry. */
function keptPosition(): number {
  const state: unknown = history.state;
  return typeof state === "object" && state !== null && "y" in state && typeof state.y === "number" ? state.y : 0;
}

/** Scrolls each new view to its top, and views to which the user returns to where they were left. */
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
    // A user who scrolls does not want to be moved.
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
