/** A track: where (degrees) and when (whole microseconds since 1970), in segments; and how a file's points become one. */
import { SfumatoError } from "../errors.js";

export interface Track {
  readonly latDeg: Float64Array;
  readonly lonDeg: Float64Array;
  readonly micros: Float64Array;
  readonly segment: Int32Array;
  /** Beats per minute, NaN where there is none; kept only where its owner asks for it. */
  readonly heartRate?: Float64Array | undefined;
}

/** A track with what its reader left out, by reason (private). */
export interface ReadTrack extends Track {
  readonly skipped: ReadonlyMap<string, number>;
}

/** A point as a file gives it: null where there is none, NaN where it is not a number or cannot be read. */
export interface RawPoint {
  lat: number | null;
  lon: number | null;
  micros: number | null;
  segment: number;
  heartRate?: number;
}

const NO_POSITION = "points without a position";
const NO_NUMBER = "points whose position is not a number";
const OFF_GLOBE = "points off the globe";
const NO_TIME = "points without a time";
const BAD_TIME = "points whose time cannot be read";

export const wrapLongitude = (lon: number) => {
  if (lon >= -180 && lon < 180) return lon;
  const turned = lon + 180 - 360 * Math.floor((lon + 180) / 360) - 180;
  return turned >= 180 ? -180 : turned;
};

/** Leave out what cannot be used, counted by reason; refused where half of the points cannot, or times run backwards. */
export function settled(points: readonly RawPoint[], skipped = new Map<string, number>()): ReadTrack {
  const skip = (reason: string) => void skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  let unusable = 0;
  let missing = 0;
  const used = points.filter(({ lat, lon, micros }) => {
    let why = "";
    if (lat === null || lon === null) why = NO_POSITION;
    else if (!Number.isFinite(lat) || !Number.isFinite(lon)) why = NO_NUMBER;
    else if (Math.abs(lat) > 90 || Math.abs(lon) > 360) why = OFF_GLOBE;
    else if (micros === null) why = NO_TIME;
    // Beyond 2^53 microseconds (the years 1684 to 2255) doubles lose digits, so such times count as unreadable.
    else if (!(Math.abs(micros) < 2 ** 53)) why = BAD_TIME;
    if (why === "") return true;
    if (why === NO_POSITION) missing++;
    unusable++;
    skip(why);
    return false;
  });
  if (2 * used.length <= points.length - missing || !used.length)
    throw new SfumatoError(
      `Of ${points.length} points only ${used.length} can be used.`,
      unusable && (skipped.get(NO_TIME) ?? 0) + (skipped.get(BAD_TIME) ?? 0) > unusable / 2
        ? "A track needs a time with a time zone for every point, like 2024-05-01T12:00:00Z."
        : "Positions are degrees; check that latitude and longitude are not swapped.",
    );
  const turned = used.some(({ lon }) => lon! < -180 || lon! > 180);
  used.forEach((point, i) => {
    const before = used[i - 1];
    if (before !== undefined && before.segment === point.segment && before.micros! > point.micros!)
      throw new SfumatoError("Times run backwards inside a segment.", "Sort the points by time, or split the track.");
  });
  return {
    latDeg: Float64Array.from(used, ({ lat }) => lat!),
    lonDeg: Float64Array.from(used, ({ lon }) => (turned ? wrapLongitude(lon!) : lon!)),
    micros: Float64Array.from(used, ({ micros }) => micros!),
    segment: Int32Array.from(used, ({ segment }) => segment),
    heartRate: used.some(({ heartRate }) => heartRate !== undefined)
      ? Float64Array.from(used, ({ heartRate }) => heartRate ?? Number.NaN)
      : undefined,
    skipped,
  };
}

/** Several tracks of one file as one, their segments numbered on. */
export function merged(tracks: readonly (readonly RawPoint[])[]): RawPoint[] {
  const whole: RawPoint[] = [];
  for (const track of tracks) {
    const base = whole.length ? whole[whole.length - 1]!.segment + 1 : 0;
    for (const point of track) whole.push({ ...point, segment: point.segment + base });
  }
  return whole;
}
