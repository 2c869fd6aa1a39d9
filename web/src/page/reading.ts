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

export interface Opened extends Source {
  readonly track: ReadTrack;
  /** Tells the same file twice, whatever it is called. */
  readonly digest: string;
}

function decoded(bytes: Uint8Array): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 200));
  const wide =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
  const named = /^\s*<\?xml[^>]*\bencoding=["']([\w.-]+)["']/.exec(head)?.[1];
  try {
    return new TextDecoder(wide ?? named ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new SfumatoError("The file is in an unknown encoding.", "Save it as UTF-8.");
  }
}

export async function opened(file: File): Promise<Opened> {
  const bytes = new Uint8Array(await file.arrayBuffer());
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
