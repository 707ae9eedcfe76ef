/** Function on the stack, with the functions that it calls. */
export interface Frame {
  readonly name: string;
  readonly caller: Frame | null;
  readonly callees: Frame[];
  /** Number of samples in which the function was on the stack. */
  count: number;
  /** Number of samples in which the function itself ran. */
  own: number;
}

/** Rectangle of a frame in a flame graph. */
export interface Box {
  readonly frame: Frame;
  /** Number of callers. */
  readonly depth: number;
  /** Left edge and width, as a share of the width of the graph. */
  readonly left: number;
  readonly width: number;
}

function frame(name: string, caller: Frame | null): Frame {
  return { name, caller, callees: [], count: 0, own: 0 };
}

/**
 * Returns the tree of folded stacks: a line per stack, with the names of the functions, the
 * outermost first, and the number of samples. The root has no name and contains all samples.
 */
export function unfold(text: string): Frame {
  const root = frame("", null);
  for (const line of text.split("\n")) {
    const at = line.lastIndexOf(" ");
    const count = Number(line.slice(at + 1));
    if (at < 0 || !(count > 0)) continue;
    let present = root;
    root.count += count;
    for (const name of line.slice(0, at).split(";")) {
      // Stacks are sorted, so a known callee is nearly always the last one.
      let callee = present.callees.findLast((it) => it.name === name);
      if (!callee) present.callees.push((callee = frame(name, present)));
      present = callee;
      present.count += count;
    }
    present.own += count;
  }
  return root;
}

/**
 * Returns the rectangles of a frame and its callees, after those of its callers. The frame has the
 * whole width. Rectangles that are narrower than `min` are left out.
 */
export function boxes(of: Frame, min: number): Box[] {
  const callers: Frame[] = [];
  for (let it = of.caller; it?.caller; it = it.caller) callers.unshift(it);
  const found = callers.map((it, depth): Box => ({ frame: it, depth, left: 0, width: 1 }));
  const add = (it: Frame, depth: number, left: number) => {
    const width = it.count / of.count;
    if (!(width >= min)) return;
    if (it.caller) found.push({ frame: it, depth, left, width });
    for (const callee of it.callees) {
      add(callee, it.caller ? depth + 1 : depth, left);
      left += callee.count / of.count;
    }
  };
  add(of, callers.length, 0);
  return found;
}

/** Returns the names of the `count` functions that ran most, with their numbers of samples. */
export function hottest(root: Frame, count: number): [name: string, samples: number][] {
  const sums = new Map<string, number>();
  const add = (it: Frame) => {
    if (it.own) sums.set(it.name, (sums.get(it.name) ?? 0) + it.own);
    it.callees.forEach(add);
  };
  add(root);
  return [...sums].sort((a, b) => b[1] - a[1]).slice(0, count);
}

/** Returns the frame to which an arrow key leads from a frame, or `null`. */
export function neighbour(of: Frame, key: string): Frame | null {
  const beside = of.caller?.callees ?? [];
  const at = beside.indexOf(of);
  if (key === "ArrowLeft") return beside[at - 1] ?? null;
  if (key === "ArrowRight") return beside[at + 1] ?? null;
  if (key === "ArrowUp") return of.caller?.caller ? of.caller : null;
  if (key !== "ArrowDown") return null;
  return of.callees.reduce<Frame | null>((widest, it) => (widest && widest.count >= it.count ? widest : it), null);
}
