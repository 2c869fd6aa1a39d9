/** Dropped files as tracks: what kind they are is told by their content, and nothing of them leaves the page. */
import { SfumatoError } from "../../../clients/js/src/errors.js";
import {
  hexOf,
  type ReadTrack,
  readGeoJson,
  readGpx,
  type Source,
  sha256,
} from "../../../clients/js/src/page/index.js";

import { entriesOf, gunzipped, isGzip, isZip, type Packed } from "./packed.js";

export interface Opened extends Source {
  readonly track: ReadTrack;
  /** Tells the same file twice, whatever it is called. */
  readonly digest: string;
}

/** What people drop by mistake: how such a file begins (or has at its ninth byte), what it is, what to do. */
const KINDS: readonly (readonly [string, string, string])[] = [
  ["PK\u0003\u0004", "a ZIP in a ZIP", "Unpack it, and drop the files that are in it."],
  ["\u001f\u008b", "packed by gzip twice", "Unpack it, and drop what was in it."],
  [".FIT", "a FIT file", "The command line reads it: sfumato hide."],
  ["\u00ff\u00d8\u00ff", "a picture", "Drop GPX or GeoJSON files."],
  ["\u0089PNG", "a picture", "Drop GPX or GeoJSON files."],
  ["<!doctype html", "a web page", "Perhaps it asks to log in: export the track again."],
  ["<html", "a web page", "Perhaps it asks to log in: export the track again."],
];

function refuseOtherKinds(head: string): void {
  const begun = head.trimStart().toLowerCase();
  for (const [mark, words, advice] of KINDS)
    if (begun.startsWith(mark.toLowerCase()) || (mark === ".FIT" && head.startsWith(mark, 8)))
      throw new SfumatoError(`The file is ${words}, neither GPX nor GeoJSON.`, advice);
}

function decoded(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 200));
  refuseOtherKinds(head);
  const wide =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
  const named = /^\s*<\?xml[^>]*\bencoding=["']([\w.-]+)["']/.exec(head)?.[1];
  try {
    return new TextDecoder(wide ?? named ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new SfumatoError("The file is in an unknown encoding.", "Save it as UTF-8.");
  }
}

const A_TRACK = /\.(gpx|geojson|json)(\.gz)?$/i;
const HIDDEN = /(^|\/)(\.|__MACOSX\/)/;

/** A file, or those in a packed one, each by its name; `others` of a ZIP are no tracks that this page reads. */
export async function unpacked(file: File): Promise<{ files: Packed[]; others: number }> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (!isZip(bytes)) return { files: [{ name: file.name, bytes: async () => bytes }], others: 0 };
  const every = entriesOf(bytes).filter(({ name }) => !HIDDEN.test(name));
  const files = every.filter(({ name }) => A_TRACK.test(name));
  return { files, others: every.length - files.length };
}

export async function opened({ name, bytes: read }: Packed): Promise<Opened> {
  const file = { name };
  let bytes = await read();
  if (isGzip(bytes)) bytes = await gunzipped(bytes);
  const text = decoded(bytes);
  const digest = hexOf(sha256(bytes));
  const first = /[^\s\ufeff]/.exec(text)?.[0];
  if (first === "<") return { name: file.name, format: "gpx", track: readGpx(text), digest };
  if (first === "{") return { name: file.name, format: "geojson", track: readGeoJson(text), digest };
  throw new SfumatoError(
    "The file is neither GPX nor GeoJSON.",
    "For other formats use the command line: sfumato hide.",
  );
}

export type Spot = readonly [number, number];

/** A place that tracks begin or end at, in words. */
export interface EndPlace {
  readonly spot: Spot;
  readonly count: number;
  readonly words: string;
}

/** Where tracks begin or end, the commonest first: what most people want to hide. */
export function ends(sources: readonly Source[], apartM: (a: Spot, b: Spot) => number): EndPlace[] {
  const found: { spot: Spot; count: number; words: string }[] = [];
  for (const { name, track } of sources)
    for (const [i, verb] of [
      [0, "begins"],
      [track.latDeg.length - 1, "ends"],
    ] as const) {
      const spot: Spot = [track.latDeg[i]!, track.lonDeg[i]!];
      const same = found.find((one) => apartM(one.spot, spot) < 200);
      if (same) same.words = `Where ${++same.count} beginnings and ends of tracks lie`;
      else found.push({ spot, count: 1, words: `Where ${name} ${verb}` });
    }
  return found.sort((a, b) => b.count - a.count);
}
