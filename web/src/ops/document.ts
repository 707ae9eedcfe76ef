/** Document of the dashboard, as the server sends it at `/-/api/ops` (docs/api.md). */
export interface OpsDocument {
  /** Number of the newest sample; samples are one second apart. */
  readonly seq: number;
  readonly timeMs: number;
  readonly startedMs: number;
  readonly history: readonly RingUpdate[];
  readonly now: Present;
  readonly log: readonly LogEntry[];
  readonly findings: readonly Finding[];
}

/** New rows of one ring of the history, as columns. */
export interface RingUpdate {
  /** Seconds that a row stands for. */
  readonly seconds: number;
  /** Number of the sample with which the last row ends. */
  readonly end: number;
  readonly count: number;
  /** Columns by the name of their series; those without a value are left out. */
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
}

/** State of the server at the time of the document. Totals count since the server's start. */
export interface Present {
  readonly uptimeSeconds: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly responses: {
    readonly total: number;
    readonly clientErrors: number;
    readonly serverErrors: number;
    readonly unknownHosts: number;
    readonly bodyBytes: number;
  };
  readonly saved: { readonly todayBytes: number; readonly everBytes: number; readonly sinceMs: number; readonly isKept: boolean };
  readonly latency: Latency;
  readonly conversions: {
    readonly running: number;
    readonly waiting: number;
    readonly improvementsRunning: number;
    readonly improvementsWaiting: number;
    readonly concurrency: number;
    readonly done: number;
    readonly cpuSeconds: number;
    readonly refused: number;
    readonly quarantinedOriginals: number;
    readonly failures: Readonly<Record<string, number>>;
  };
  readonly transcodes: { readonly running: number; readonly waiting: number };
  readonly cells: {
    readonly ready: number;
    readonly running: number;
    readonly runs: number;
    readonly kills: Readonly<Record<string, number>>;
    readonly wipeLeaks: number;
    readonly memoryPeakBytes: number;
    readonly backend: string;
    readonly isolation: string;
  };
  readonly variants: { readonly entries: number; readonly evicted: number; readonly purged: number; readonly writeErrors: number };
  readonly store: { readonly isReachable: boolean; readonly errors: number } | null;
  readonly prefetch: Prefetch | null;
  readonly scan: {
    readonly isScanning: boolean;
    readonly files: number;
    readonly reading: { readonly done: number; readonly of: number; readonly perSecond: number; readonly secondsLeft: number | null } | null;
    readonly endedMs: number | null;
    readonly failed: string | null;
    readonly unreadable: number;
    readonly brokenTags: number;
  };
  readonly connections: {
    readonly open: number;
    readonly accepted: number;
    readonly shed: number;
    readonly timeouts: number;
    readonly http1: number;
    readonly http2: number;
    readonly handshakesFull: number;
    readonly handshakesResumed: number;
    readonly handshakesFailed: number;
  };
  readonly budgets: readonly Budget[];
  readonly process: { readonly residentBytes: number; readonly cpuSeconds: number };
  readonly sampler: { readonly lastUs: number };
}

/** Latest prefetch that an operator started. */
export interface Prefetch {
  readonly isRunning: boolean;
  readonly isCancelled: boolean;
  /** Folder whose pictures are converted; `null` for the whole library. */
  readonly folder: string | null;
  /** Number of pictures that are finished. */
  readonly done: number;
  /** Number of all pictures. */
  readonly pictures: number;
  /** Number of new variants. */
  readonly created: number;
  /** Number of variants that were in the cache already. */
  readonly existing: number;
  /** Number of variants that were no smaller than their original, and are not kept. */
  readonly notSmaller: number;
  /** Number of variants that could not be converted. */
  readonly failed: number;
  /** Bytes of the new variants. */
  readonly bytes: number;
  readonly secondsLeft: number | null;
  readonly endedMs: number | null;
}

/** Numbers of responses by duration. The last bucket has no upper bound. */
export interface Latency {
  readonly boundsUs: readonly number[];
  readonly hits: readonly number[];
  readonly misses: readonly number[];
}

/** Use of a limited resource. */
export interface Budget {
  readonly name: string;
  readonly unit: "bytes" | "count";
  readonly used: number;
  readonly limit: number;
  readonly setting: string | null;
}

export interface LogEntry {
  readonly timeMs: number;
  readonly level: "warning" | "error";
  readonly text: string;
}

/** Problem that the operator can fix. */
export interface Finding {
  readonly id: string;
  readonly severity: "error" | "warning" | "note";
  readonly text: string;
  readonly setting: string | null;
  readonly detail: number | string | null;
}
