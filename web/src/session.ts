import { effect, signal } from "@preact/signals";

import { ApiError, api, needsLogin, recoveries } from "./api.ts";
import { filesPrefix } from "./base.ts";

/** User of the page. */
export interface Session {
  /** Name of the user, or `null` for a guest. */
  readonly name: string | null;
  readonly isAdmin: boolean;
  /** False while the server has no users at all. */
  readonly hasUsers: boolean;
  /** Prefix of the targets of library files: `/-/file`, or empty if files need no login. */
  readonly files: string;
}

const GUEST: Session = { name: null, isAdmin: false, hasUsers: true, files: "" };

/** Present session; that of a guest until the server has responded. */
export const session = signal<Session>(GUEST);

/** Loads the session from the server. */
export async function loadSession(): Promise<void> {
  try {
    const before = session.value;
    const next = await api<Session>("/session");
    // A login meanwhile is newer. The same session must not wake those who wait for a login.
    if (session.value === before && JSON.stringify(next) !== JSON.stringify(before)) become(next);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/**
 * Logs a user in. @throws ApiError with status 401 for a wrong name or password, 429 after too many
 * attempts
 */
export async function logIn(name: string, password: string): Promise<void> {
  become(await api<Session>("/session", { method: "POST", body: { name, password } }));
  needsLogin.value = false;
  recoveries.value += 1;
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  become(await api<Session>("/session", { method: "DELETE" }));
}

/** Resolves once the session is another one than `before`, as after a login. */
export function sessionAfter(before: Session): Promise<void> {
  return new Promise((resolve) => {
    effect(function () {
      if (session.value === before) return;
      resolve();
      this.dispose();
    });
  });
}

/** Calls `load`, and again after each login that the server asks for. */
export async function withLogin<T>(load: () => Promise<T>): Promise<T> {
  const before = session.peek();
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    await sessionAfter(before);
    return withLogin(load);
  }
}

function become(next: Session): void {
  session.value = next;
  filesPrefix.value = next.files ?? "";
}
