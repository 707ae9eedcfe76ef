/** Properties of a picture that its Exif data gives. */
export interface Exif {
  readonly make: string;
  readonly model: string;
  /** Time of capture: `2019:07:14 18:03:59`. */
  readonly taken: string;
}

const ASCII = 2;
const LONG = 4;

/** Returns a JPEG file with Exif data (Exif 3.0 §4.6) after its first marker. */
export function withExif(jpeg: Buffer, { make, model, taken }: Exif): Buffer {
  const texts = [make, model, taken].map((text) => Buffer.from(`${text}\0`, "latin1"));
  const [atMake, atModel, atTaken] = positions(texts, directoryBytes(3) + directoryBytes(1) + HEADER_BYTES);
  const detail = HEADER_BYTES + directoryBytes(3);
  const tiff = Buffer.concat([
    Buffer.from("MM\0*\0\0\0\x08", "latin1"),
    directory([
      [0x010f, ASCII, make.length + 1, atMake ?? 0],
      [0x0110, ASCII, model.length + 1, atModel ?? 0],
      [0x8769, LONG, 1, detail],
    ]),
    directory([[0x9003, ASCII, taken.length + 1, atTaken ?? 0]]),
    ...texts,
  ]);
  const segment = Buffer.concat([Buffer.from("\xff\xe1\0\0Exif\0\0", "latin1"), tiff]);
  segment.writeUInt16BE(segment.length - 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)]);
}

const HEADER_BYTES = 8;

function directoryBytes(entries: number): number {
  return 2 + 12 * entries + 4;
}

/** Returns the positions of texts that follow one another from `start` on. */
function positions(texts: readonly Buffer[], start: number): number[] {
  let at = start;
  return texts.map((text) => {
    const position = at;
    at += text.length;
    return position;
  });
}

/** Returns a directory of TIFF. An entry is a tag, a type, a number of values, and a position or the value. */
function directory(entries: readonly (readonly [number, number, number, number])[]): Buffer {
  const bytes = Buffer.alloc(directoryBytes(entries.length));
  bytes.writeUInt16BE(entries.length, 0);
  entries.forEach(([tag, type, count, value], index) => {
    const at = 2 + 12 * index;
    bytes.writeUInt16BE(tag, at);
    bytes.writeUInt16BE(type, at + 2);
    bytes.writeUInt32BE(count, at + 4);
    bytes.writeUInt32BE(value, at + 8);
  });
  return bytes;
}
