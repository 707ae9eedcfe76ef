// Gestures of a finger. Playwright knows only taps; these events come from the DevTools protocol.

import type { CDPSession, Page } from "playwright-core";

export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Steps in which a finger moves. */
const STEPS = 8;
/** Time between two events of a gesture, in seconds. The events carry it, however slow the machine is. */
const TICK = 0.016;

/** Finger on the window of a page. */
export class Finger {
  /** Time of the last event, in seconds since 1970. */
  private at = 0;

  private constructor(private readonly session: CDPSession) {}

  static async on(page: Page): Promise<Finger> {
    return new Finger(await page.context().newCDPSession(page));
  }

  private async send(type: "touchStart" | "touchMove" | "touchEnd", touchPoints: Place[]): Promise<void> {
    this.at += TICK;
    await this.session.send("Input.dispatchTouchEvent", { type, touchPoints, timestamp: this.at });
  }

  /** Taps twice within the time of a double tap. */
  async doubleTap(place: Place): Promise<void> {
    this.at = Date.now() / 1000;
    for (let tap = 0; tap < 2; tap += 1) {
      await this.send("touchStart", [place]);
      await this.send("touchEnd", []);
    }
  }

  /** Moves from one place to another. */
  async drag(from: Place, to: Place): Promise<void> {
    this.at = Date.now() / 1000;
    await this.send("touchStart", [from]);
    for (let step = 1; step <= STEPS; step += 1) {
      const part = step / STEPS;
      await this.send("touchMove", [{ x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }]);
    }
    await this.send("touchEnd", []);
  }
}
