import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { FITTED, SpeedMeter, axisOf, contained, fitted, isHigher, rung, turnOf, wheelFactor, zoomClose, zoomMax, zoomTo } from "../src/photos/zoom.ts";

const stage = { width: 1400, height: 900 };
const size = fc.record({ width: fc.integer({ min: 1, max: 20_000 }), height: fc.integer({ min: 1, max: 20_000 }) });
const offset = fc.integer({ min: -3000, max: 3000 });

test("pictures fit into the stage, keep their ratio, and are not enlarged", () => {
  fc.assert(
    fc.property(size, (picture) => {
      const fit = fitted(picture, stage);
      assert.ok(fit.width <= Math.min(picture.width, stage.width) + 1e-9);
      assert.ok(fit.height <= Math.min(picture.height, stage.height) + 1e-9);
      assert.ok(Math.abs(fit.width / fit.height / (picture.width / picture.height) - 1) < 1e-9);
    }),
  );
  assert.deepEqual(fitted({ width: 64, height: 48 }, stage), { width: 64, height: 48 });
});

test("the part below the finger stays there while zooming", () => {
  fc.assert(
    fc.property(offset, offset, fc.integer({ min: 2, max: 9 }), (x, y, zoom) => {
      const pose = { zoom: 1.5, x: 10, y: -20 };
      const next = zoomTo(pose, zoom, { x, y });
      assert.ok(Math.abs((x - pose.x) / pose.zoom - (x - next.x) / next.zoom) < 1e-6);
      assert.ok(Math.abs((y - pose.y) / pose.zoom - (y - next.y) / next.zoom) < 1e-6);
    }),
  );
});

test("a zoomed picture covers the stage where it is larger, and is in the middle where not", () => {
  fc.assert(
    fc.property(size, fc.integer({ min: 1, max: 40 }), offset, offset, (picture, zoom, x, y) => {
      const fit = fitted(picture, stage);
      const pose = contained({ zoom, x, y }, fit, stage, zoomMax(picture, fit));
      const width = fit.width * pose.zoom;
      if (width <= stage.width) assert.equal(pose.x, 0);
      else assert.ok(Math.abs(pose.x) <= (width - stage.width) / 2 + 1e-9);
    }),
  );
  assert.deepEqual(contained({ zoom: 0.4, x: 50, y: 9 }, { width: 900, height: 900 }, stage, 3), FITTED);
});

test("the next rung is asked for when the screen has more pixels", () => {
  assert.equal(rung(960, 6000), 960);
  assert.equal(rung(961, 6000), 1600);
  assert.equal(rung(3000, 6000), 3840);
  assert.equal(rung(3900, 6000), 0);
  assert.equal(rung(3900, 1500), 1600);
  assert.equal(rung(9000, 3000), 3840);
  assert.ok(isHigher(0, 3840) && isHigher(1600, 960) && !isHigher(960, 0) && !isHigher(0, 0));
});

test("a double tap shows pixel for pixel, or twice the size", () => {
  assert.equal(zoomClose({ width: 2800, height: 1800 }, { width: 1400, height: 900 }), 2);
  assert.equal(zoomClose({ width: 4200, height: 2700 }, { width: 1400, height: 900 }), 3);
  assert.equal(zoomClose({ width: 300, height: 200 }, { width: 300, height: 200 }), 2);
});

test("a wheel zooms in steps, a pinch follows the fingers, and a sideways turn does not zoom", () => {
  const turn = { deltaX: 0, deltaY: 0, deltaMode: 0, ctrlKey: false, metaKey: false };
  const percent = (part: Partial<typeof turn>) => Math.round(100 * wheelFactor({ ...turn, ...part }));
  assert.equal(percent({ deltaY: -100 }), 122, "a notch of a wheel");
  assert.equal(percent({ deltaY: 100 }), 82);
  assert.equal(percent({ deltaY: -3, deltaMode: 1 }), 116, "a notch in lines");
  assert.equal(percent({ deltaY: -10, ctrlKey: true }), 106, "a step of a pinch");
  assert.equal(percent({ deltaY: -10, metaKey: true }), 106);
  assert.equal(percent({ deltaX: 50, deltaY: -10 }), 100);
});

test("gestures have a direction and turn when far or fast", () => {
  assert.equal(axisOf({ x: 3, y: 4 }), "none");
  assert.equal(axisOf({ x: -30, y: 4 }), "across");
  assert.equal(axisOf({ x: 3, y: 40 }), "down");
  assert.equal(turnOf(-200, 0, 390), 1);
  assert.equal(turnOf(200, 0, 390), -1);
  assert.equal(turnOf(-40, -0.8, 390), 1);
  assert.equal(turnOf(-40, 0.8, 390), 0);
  assert.equal(turnOf(-40, -0.1, 390), 0);
});

test("speed is measured over the last moments, and is none after a pause", () => {
  const meter = new SpeedMeter();
  for (let at = 0; at <= 200; at += 10) meter.add({ x: at * 2, y: 0 }, at);
  assert.equal(meter.speed(205).x, 2);
  assert.equal(meter.speed(300).x, 0);
});
