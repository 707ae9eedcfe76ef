import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { PARAMETERS, type Recipe, SIDES, outputSize, pageQuery, problemOf, queryOf, recipeOf, withQuery } from "../src/playground/recipe.ts";
import { WHOLE, WHOLE_TEXT, clipped, cropText, focusText, moveEdges, partOf } from "../src/playground/geometry.ts";
import { curlOf, iiifOf, imgOf, imgproxyOf, pictureOf, webpServerGoOf } from "../src/playground/snippets.ts";

const NATURAL = { width: 4000, height: 3000 };
const SUBJECT = { file: "/a%20b/it's.jpg", address: "http://nas:8080/a%20b/it's.jpg", natural: NATURAL };

function recipe(query: string): Recipe {
  const values = new URLSearchParams(query);
  return Object.fromEntries(PARAMETERS.map((name) => [name, values.get(name) ?? ""])) as Recipe;
}

test("a query is read and written in one order, without other parameters", () => {
  assert.equal(queryOf(recipe("q=80&picture=ph-1&h=&w=640&format=avif&crop=16:9&utm_source=x")), "crop=16:9&w=640&q=80&format=avif");
  assert.equal(queryOf(recipe("w=1&focus=0.5,0&rotate=90&crop=0.1,0,0.5,1")), "rotate=90&crop=0.1,0,0.5,1&focus=0.5,0&w=1");
  assert.equal(queryOf(recipe("w=a%26b")), "w=a%26b");
  assert.equal(withQuery("/a.jpg", queryOf(recipe(""))), "/a.jpg");
  assert.equal(withQuery("/a.jpg", "w=1"), "/a.jpg?w=1");
});

test("the page's query brings back the same recipe", () => {
  const before = recipe("w=640&h=480&fit=cover&dpr=1.5&enlarge=true&q=80&format=webp");
  const query = new URLSearchParams(pageQuery("ph-1", before));
  assert.equal(query.get("picture"), "ph-1");
  assert.equal(query.get("q"), null, "q is the text of the search field");
  assert.deepEqual(recipeOf(query), before);
});

test("other spellings in the page's query become those of the controls", () => {
  const read = (query: string) => queryOf(recipeOf(new URLSearchParams(query)));
  // Names of an object's own methods are texts like any other.
  assert.equal(read("fit=constructor"), "fit=constructor");
  assert.equal(read("flip=1&flop=true&enlarge=1&w=9"), "flip=true&flop=true&w=9&enlarge=true");
  assert.equal(read("flip=0&flop=false&enlarge=0&rotate=0&fit=inside&format=auto"), "");
  assert.equal(read("rotate=90&fit=cover&format=png"), "rotate=90&fit=cover&format=png");
  assert.equal(read("flip=yes&fit=crop&rotate=45"), "rotate=45&flip=yes&fit=crop", "the server says what is wrong");
  assert.equal(read("grayscale=1&sepia=0&invert=true"), "grayscale=true&invert=true");
  assert.equal(read("width=400&height=300"), "w=400&h=300&fit=cover", "names in WebP Server Go");
  assert.equal(read("max_width=400"), "w=400");
});

test("sizes follow the server's rules", () => {
  const size = (query: string) => Object.values(outputSize(recipe(query), NATURAL)).join("×");
  assert.equal(size(""), "4000×3000");
  assert.equal(size("w=960"), "960×720");
  assert.equal(size("h=720&dpr=2"), "1920×1440");
  assert.equal(size("w=9000"), "4000×3000");
  assert.equal(size("w=8000&enlarge=true"), "8000×6000");
  assert.equal(size("w=500&h=500"), "500×375");
  assert.equal(size("w=500&h=500&fit=cover"), "500×500");
  assert.equal(size("w=6000&h=6000&fit=cover"), "3000×3000");
  assert.equal(size("w=6000&h=6000&fit=contain"), "6000×6000");
  assert.equal(size("w=500&h=100&fit=fill"), "500×100");
  assert.equal(size("rotate=90&w=600"), "600×800");
  assert.equal(size("crop=100,200,640,480"), "640×480");
  assert.equal(size("crop=3900,2900,640,480"), "100×100");
  assert.equal(size("crop=0.25,0.5,0.5,0.5&w=400"), "400×300");
  assert.equal(size("crop=16:9"), "4000×2250");
  assert.equal(size("crop=3:1&rotate=270"), "3000×1000");
  assert.equal(size("crop=nonsense"), "4000×3000");
});

test("the size includes the margins and the corners of a rotated picture", () => {
  const size = (query: string) => Object.values(outputSize(recipe(query), NATURAL)).join("×");
  assert.equal(size("w=400&pad=10"), "420×320");
  assert.equal(size("w=400&pad=1,2"), "404×302");
  assert.equal(size("w=400&pad=1,2,3,4&dpr=2"), "812×608");
  assert.equal(size("w=400&rotate=-90"), "400×533");
  assert.equal(size("w=400&rotate=450"), "400×533");
  assert.equal(size("w=400&rotate=30"), "497×460");
  assert.equal(size("w=400&h=400&fit=contain&rotate=30"), "497×460");
  assert.equal(size("w=400&h=500&fit=contain&rotate=30&pad=1"), "499×502");
});

test("a dragged frame or point is written in fractions, and read back as the same part", () => {
  assert.equal(cropText({ x: 0.1, y: 0.25, width: 0.333333, height: 0.5 }), "0.1,0.25,0.3333,0.5");
  assert.equal(cropText({ x: 0, y: 0, width: 1, height: 0.5 }), "0,0,1,0.5");
  assert.equal(cropText(WHOLE), WHOLE_TEXT);
  assert.equal(cropText({ x: 0.00001, y: 0, width: 1, height: 1 }), "0.0,0,1,1", "values below 0.0001 are rounded to 0");
  assert.equal(focusText({ x: 0.5, y: 0.5 }), "");
  assert.equal(focusText({ x: 1, y: 0.33333 }), "1,0.3333");
  const crop = cropText({ x: 0.5, y: 0.5, width: 0.5, height: 0.5 });
  assert.deepEqual(partOf(recipe(`crop=${crop}`), NATURAL), { x: 2000, y: 1500, width: 2000, height: 1500 });
});

test("a frame that is dragged stays inside the picture and does not vanish", () => {
  const frame = { x: 0.25, y: 0.25, width: 0.5, height: 0.5 };
  const end = { x: "end", y: "end" } as const;
  const start = { x: "start", y: "start" } as const;
  const both = { x: "both", y: "both" } as const;
  assert.deepEqual(moveEdges(frame, end, { x: 0.125, y: 2 }), { x: 0.25, y: 0.25, width: 0.625, height: 0.75 });
  assert.deepEqual(moveEdges(frame, start, { x: -2, y: 0.125 }), { x: 0, y: 0.375, width: 0.75, height: 0.375 });
  assert.deepEqual(moveEdges(frame, both, { x: 2, y: -2 }), { x: 0.5, y: 0, width: 0.5, height: 0.5 });
  assert.equal(moveEdges(frame, end, { x: -2, y: 0 }).width, 0.02);
  // Pixels near the edge, and beyond it.
  const narrow = clipped({ x: 0.9921875, y: 0, width: 0.5, height: 1 });
  assert.deepEqual(narrow, { x: 0.9921875, y: 0, width: 0.0078125, height: 1 });
  assert.deepEqual(clipped({ x: -0.25, y: 0, width: 0.75, height: 1 }), { x: 0, y: 0, width: 0.5, height: 1 });
  assert.deepEqual(clipped({ x: 2, y: -2, width: 0.5, height: 1 }), { x: 0.98, y: 0, width: 1 - 0.98, height: 0.02 });
  assert.deepEqual(moveEdges(narrow, end, { x: 0.5, y: 0 }), narrow);
  assert.deepEqual(moveEdges(narrow, start, { x: 0.5, y: 0 }), narrow);
  assert.deepEqual(moveEdges(narrow, start, { x: -2, y: 0 }), WHOLE);
});

test("an error is shown at the parameter that it names", () => {
  assert.deepEqual(problemOf("w: must be a whole number"), { parameter: "w", sentence: "must be a whole number" });
  assert.deepEqual(problemOf("meta: must be full"), { parameter: null, sentence: "meta: must be full" });
  assert.deepEqual(problemOf("the picture is damaged"), { parameter: null, sentence: "the picture is damaged" });
});

test("an image has candidates up to twice its width, but none above the original's", () => {
  const widths = (query: string) => [...imgOf(SUBJECT, recipe(query)).matchAll(/ (\d+)w/g)].map((match) => Number(match[1]));
  assert.deepEqual(widths("w=960"), [480, 960, 1440, 1920]);
  assert.deepEqual(widths("w=3000"), [1500, 3000]);
  assert.deepEqual(widths("w=2000&h=2000&fit=cover"), [1000, 2000, 3000]);
  assert.deepEqual(widths("w=3000&enlarge=true"), [1500, 3000, 4500, 6000]);
  const text = imgOf(SUBJECT, recipe("w=400&h=200&fit=cover&dpr=2&q=70"));
  assert.ok(text.includes('src="http://nas:8080/a%20b/it\'s.jpg?w=400&amp;h=200&amp;fit=cover&amp;q=70"'), text);
  assert.ok(text.includes('sizes="(max-width: 400px) 100vw, 400px"'), text);
  assert.ok(text.includes('width="400" height="200"'), text);
});

test("an image with lengths has candidates by density, because only `dpr` multiplies lengths", () => {
  const text = imgOf(SUBJECT, recipe("w=400&blur=2"));
  assert.equal(
    text,
    `<img src="${SUBJECT.address}?w=400&amp;blur=2"\n` +
      `  srcset="${SUBJECT.address}?w=400&amp;dpr=1.5&amp;blur=2 1.5x,\n          ${SUBJECT.address}?w=400&amp;dpr=2&amp;blur=2 2x"\n` +
      '  width="400" height="300" alt="">',
  );
});

test("a picture element names the formats, and ends with one that every browser shows", () => {
  const text = pictureOf(SUBJECT, recipe("w=400"));
  assert.deepEqual([...text.matchAll(/type="([^"]+)"/g)].map((match) => match[1]), ["image/avif", "image/webp"]);
  assert.match(text, /<img src="[^"]+format=jpeg"/);
  assert.match(pictureOf(SUBJECT, recipe("w=400&format=png")), /<img src="[^"]+format=png"/);
});

test("a command for curl survives quotes in a file's name", () => {
  const text = curlOf(SUBJECT, recipe("w=400"), "image/avif", "avif");
  assert.ok(text.endsWith("'http://nas:8080/a%20b/it'\\''s.jpg?w=400'"), text);
  assert.ok(text.includes("-o picture.avif"), text);
});

test("WebP Server Go spells sizes, and nothing else", () => {
  const spelled = (query: string) => webpServerGoOf(SUBJECT, recipe(query));
  assert.deepEqual(spelled("w=400&dpr=2"), { text: `${SUBJECT.address}?max_width=800` });
  assert.deepEqual(spelled("w=400&h=300&fit=cover"), { text: `${SUBJECT.address}?width=400&height=300` });
  assert.deepEqual(spelled(""), { text: SUBJECT.address });
  assert.deepEqual(spelled("w=5000&h=300&fit=cover"), { lacks: ["fit=cover"] });
  assert.deepEqual(spelled("rotate=90&flip=true&crop=1:1&focus=0,0"), { lacks: ["rotate", "flip", "crop", "focus"] });
  assert.deepEqual(spelled("w=400&h=300&fit=fill&enlarge=true&q=80&format=webp"), { lacks: ["fit=fill", "enlarge", "q", "format"] });
  assert.deepEqual(spelled("blur=2&page=3"), { lacks: ["blur", "page"] });
});

test("imgproxy spells every parameter", () => {
  const spelled = (query: string) => {
    const found = imgproxyOf(SUBJECT, recipe(query));
    return "text" in found ? found.text.replace("plain/http://nas:8080/a%2520b/it's.jpg", "SOURCE") : "";
  };
  assert.equal(spelled(""), "/insecure/SOURCE");
  assert.equal(spelled("w=400&q=80&dpr=2&format=jpeg"), "/insecure/rs:fit:400:0:0/dpr:2/q:80/SOURCE@jpg");
  assert.equal(spelled("w=400&h=300&fit=cover"), "/insecure/rs:fill-down:400:300:0/SOURCE");
  assert.equal(spelled("w=400&h=300&fit=cover&enlarge=true"), "/insecure/rs:fill:400:300:1/SOURCE");
  assert.equal(spelled("w=400&h=300&fit=contain&format=avif"), "/insecure/rs:fit:400:300:0:1/SOURCE@avif");
  assert.equal(spelled("w=6000&h=6000&fit=fill"), "/insecure/rs:force:3000:3000:0/SOURCE");
  assert.equal(spelled("rotate=90&flop=true"), "/insecure/rot:90/fl:1:0/SOURCE");
  assert.equal(spelled("crop=1:1&focus=0.4,0&w=300"), "/insecure/c:3000:3000:nowe:100:0/rs:fit:300:0:0/SOURCE");
  assert.equal(spelled("w=400&h=300&fit=cover&focus=0.4,0"), "/insecure/g:fp:0.4:0/rs:fill-down:400:300:0/SOURCE");
  assert.equal(spelled("rotate=-90&blur=2&pixelate=8&bg=fff&pad=1,2"), "/insecure/rot:270/bl:2/pix:8/bg:fff/pd:1:2/SOURCE");
  for (const query of ["gamma=2", "bg=white", "sharpen=1,2", "rotate=45", "page=2"]) assert.equal(spelled(query), "", query);
  assert.equal(spelled("rotate=90&w=400"), "", "imgproxy scales before it rotates");
});

test("IIIF spells sizes and the centred part that covers a box", () => {
  const spelled = (query: string) => {
    const found = iiifOf(SUBJECT, recipe(query), "jpeg");
    return "text" in found ? found.text.replace("/iiif/3/a%20b%2Fit's.jpg/", "") : found.lacks;
  };
  assert.equal(spelled(""), "full/max/0/default.jpg");
  assert.equal(spelled("w=400"), "full/400,/0/default.jpg");
  assert.equal(spelled("h=400"), "full/,400/0/default.jpg");
  assert.equal(spelled("w=400&h=400"), "full/!400,300/0/default.jpg");
  assert.equal(spelled("w=8000&enlarge=true"), "full/^8000,/0/default.jpg");
  assert.equal(spelled("w=9000"), "full/max/0/default.jpg");
  assert.equal(spelled("w=300&h=300&fit=cover"), "500,0,3000,3000/300,300/0/default.jpg");
  assert.equal(spelled("w=300&h=100&fit=fill"), "full/300,100/0/default.jpg");
  assert.equal(spelled("crop=100,200,640,480&w=320"), "100,200,640,480/320,/0/default.jpg");
  assert.equal(spelled("crop=0.25,0.5,0.5,0.5&w=400&h=400&fit=cover&focus=0,0"), "1000,1500,1500,1500/400,400/0/default.jpg");
  for (const [turn, rotation] of [
    ["rotate=90", "90"],
    ["flop=true", "!0"],
    ["flip=true", "!180"],
    ["flip=true&flop=true", "180"],
    ["rotate=90&flop=true", "!270"],
    ["rotate=270&flip=true", "!270"],
  ] as const) {
    assert.equal(spelled(turn), `full/max/${rotation}/default.jpg`, turn);
  }
  assert.deepEqual(spelled("w=300&h=300&fit=contain&q=5"), ["fit=contain", "q"]);
  assert.deepEqual(spelled("w=300&rotate=90"), ["rotate"]);
  assert.equal(spelled("w=300&grayscale=true"), "full/300,/0/gray.jpg");
  assert.deepEqual(spelled("w=300&rotate=30&sepia=true&kernel=linear"), ["sepia", "kernel", "rotate"]);
});

test("the playground knows every parameter in the README", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const [, table = ""] = /## Query parameters\n[^]*?\|---\|---\|\n([^]*?)\n\n/.exec(readme) ?? [];
  const names = table.split("\n").flatMap((row) => [...(row.split(" | ")[0] ?? "").matchAll(/`(\w+)/g)].map((match) => match[1]));
  // `enlarge` is explained with the box; the snippets have the URL with `meta`.
  const expected = [...PARAMETERS, ...Object.keys(SIDES), "meta"].filter((name) => name !== "enlarge");
  assert.deepEqual([...names].sort(), expected.sort());
});
