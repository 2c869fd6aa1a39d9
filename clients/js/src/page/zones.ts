/**
 * A zone: the disc in which everything is withheld, its centre drawn once, uniform in the disc of .8 R around the place, and
 * kept for ever. What it tells and what it does not: `sfumato.tracks.places.zones`, whose rules these are.
 */
import { SfumatoError } from "../errors.js";
import { Around, distanceM, type Pair, passesWithin, type Vector } from "./globe.js";
import { hmac, utf8 } from "./sha256.js";

export const RADII_M = [400, 800, 1600] as const;
export const DEFAULT_RADIUS_M = 1600;
export const INNER_SHARE = 0.8;
export const MARGIN_M = 50;
export const KEY_BYTES = 32;
/** Two uniforms and the key: what one zone is drawn from. */
export const ZONE_WORDS = 2 + KEY_BYTES / 8;
const ARC_M = 100;

export const uniform = (word: bigint) => (Number(word >> 12n) + 0.5) * 2 ** -52;

export class Zone {
  readonly around: Around;
  readonly radiusM: number;
  readonly key: Uint8Array;
  readonly marginsM: Float64Array;
  constructor(latDeg: number, lonDeg: number, radiusM: number, key: Uint8Array) {
    if (!(RADII_M as readonly number[]).includes(radiusM))
      throw new SfumatoError(
        `A zone of ${radiusM} m is not on the public list (${RADII_M.join(" m, ")} m).`,
        "Choose one of the list.",
      );
    if (key.length !== KEY_BYTES)
      throw new SfumatoError("A zone's key has the wrong length.", "Restore the places file from a copy.");
    this.around = new Around(latDeg, lonDeg);
    this.radiusM = radiusM;
    this.key = key;
    this.marginsM = keyedMarginsM(key, Math.ceil((2 * Math.PI * radiusM) / ARC_M));
  }

  get innerRadiusM(): number {
    return INNER_SHARE * this.radiusM;
  }

  /** Whether an earth-centred point is withheld, margin included. */
  holds(point: Vector): boolean {
    const distance = distanceM(point, this.around.origin);
    if (!(distance < this.radiusM + MARGIN_M)) return false;
    const [east, north] = this.around.metresOf(point);
    const angle = Math.atan2(north, east);
    const turn = (angle < 0 ? angle + 2 * Math.PI : angle) / (2 * Math.PI);
    const arc = Math.min(Math.floor(turn * this.marginsM.length), this.marginsM.length - 1);
    return distance < this.radiusM + this.marginsM[arc]!;
  }

  /** Whether the straight step between two points leads through the disc (margin not counted). */
  crossed(start: Vector, end: Vector): boolean {
    const origin = this.around.origin;
    const room = distanceM(start, origin) + distanceM(end, origin) - 2 * this.radiusM;
    // A chord is at most pi/2 times shorter than the way along the globe; what is left is decided exactly.
    return distanceM(start, end) * (Math.PI / 2) >= room && passesWithin(start, end, origin, this.radiusM);
  }

  beyondM(point: Vector): number {
    return distanceM(point, this.around.origin) - this.radiusM;
  }
}

/** The zone that these six words draw: a pure function, used by the golden tests. */
export function zoneFromWords(place: Pair, radiusM: number, words: BigUint64Array): Zone {
  const offset = INNER_SHARE * radiusM * Math.sqrt(uniform(words[0]!));
  const turn = 2 * Math.PI * uniform(words[1]!);
  const [lat, lon] = new Around(...place).toDegrees(offset * Math.cos(turn), offset * Math.sin(turn));
  const key = new DataView(new ArrayBuffer(KEY_BYTES));
  for (let k = 0; k < KEY_BYTES / 8; k++) key.setBigUint64(8 * k, words[2 + k]!, true);
  return new Zone(lat, lon, radiusM, new Uint8Array(key.buffer));
}

/** Margins uniform in 0 to 50 m, by HMAC-SHA-256 of the arc's number: the same for every ride. */
export function keyedMarginsM(key: Uint8Array, arcs: number): Float64Array {
  return Float64Array.from({ length: arcs }, (_, arc) => {
    const word = new DataView(hmac(key, utf8(`margin ${arc}`)).buffer).getBigUint64(0);
    return Number(word) * (MARGIN_M / 2 ** 64);
  });
}
