/**
 * Distances and directions on the globe around one point: earth-centred WGS84 vectors, no projection, no seam. The same
 * formulas as `sfumato.tracks.places.globe`, in the same order, so that both sides decide alike (to a few nanometres).
 */
import { SfumatoError } from "../errors.js";

const RADIAN = Math.PI / 180;
const A_M = 6378137;
const E2 = 0.006694379990141317;
const MEAN_RADIUS_M = 6371008.8;

export type Vector = readonly [number, number, number];
export type Pair = readonly [number, number];

export function surface(latDeg: number, lonDeg: number): Vector {
  const lat = latDeg * RADIAN;
  const lon = lonDeg * RADIAN;
  const sine = Math.sin(lat);
  const normal = A_M / Math.sqrt(1 - E2 * sine * sine);
  const across = normal * Math.cos(lat);
  return [across * Math.cos(lon), across * Math.sin(lon), normal * (1 - E2) * sine];
}

export const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const dot = (a: Vector, b: Vector) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const length = (a: Vector) => Math.sqrt(dot(a, a));
export const distanceM = (a: Vector, b: Vector) => length(minus(a, b));
const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const times = (a: Vector, by: number): Vector => [a[0] * by, a[1] * by, a[2] * by];

/** The globe as seen from one point: metres east and north, true in distance and direction. */
export class Around {
  readonly latDeg: number;
  readonly lonDeg: number;
  readonly origin: Vector;
  readonly east: Vector;
  readonly north: Vector;
  constructor(latDeg: number, lonDeg: number) {
    if (!(Math.abs(latDeg) <= 90 && Math.abs(lonDeg) <= 360))
      throw new SfumatoError(
        "A place lies outside -90 .. 90 degrees of latitude or -360 .. 360 of longitude.",
        "Give latitude first, then longitude, in degrees.",
      );
    this.latDeg = latDeg;
    this.lonDeg = lonDeg;
    const lat = latDeg * RADIAN;
    const lon = lonDeg * RADIAN;
    this.origin = surface(latDeg, lonDeg);
    this.east = [-Math.sin(lon), Math.cos(lon), 0];
    this.north = [-Math.sin(lat) * Math.cos(lon), -Math.sin(lat) * Math.sin(lon), Math.cos(lat)];
  }

  metresOf(point: Vector): Pair {
    const away = minus(point, this.origin);
    const east = dot(away, this.east);
    const north = dot(away, this.north);
    const across = Math.hypot(east, north);
    const stretch = across > 0 ? length(away) / across : 1;
    return [east * stretch, north * stretch];
  }

  /** Latitude and longitude of metres east and north; the inverse of `metresOf` within 100 km. */
  toDegrees(eastM: number, northM: number): [number, number] {
    const sine = Math.sin(this.latDeg * RADIAN);
    const up = cross(this.east, this.north);
    const shrink = 1 - E2 * sine * sine;
    const drop = 0.5 * (eastM ** 2 / (A_M / Math.sqrt(shrink)) + northM ** 2 / ((A_M * (1 - E2)) / shrink ** 1.5));
    const level = Math.sqrt(Math.max(1 - drop ** 2 / Math.max(eastM ** 2 + northM ** 2, 1e-300), 0));
    const moved = [0, 1, 2].map(
      (k) => this.origin[k]! + (eastM * this.east[k]! + northM * this.north[k]!) * level - drop * up[k]!,
    ) as unknown as Vector;
    const lat = Math.atan2(moved[2], (1 - E2) * Math.hypot(moved[0], moved[1])) / RADIAN;
    const lon = Math.atan2(moved[1], moved[0]) / RADIAN;
    return [lat, lon >= 180 ? -180 : lon];
  }
}

/** Whether the great circle from `start` to `end` comes nearer to `centre` than a radius. */
export function passesWithin(start: Vector, end: Vector, centre: Vector, radiusM: number): boolean {
  const a = times(start, 1 / length(start));
  const b = times(end, 1 / length(end));
  const c = times(centre, 1 / length(centre));
  const normal = cross(a, b);
  const size = length(normal);
  const ends = Math.min(distanceM(start, centre), distanceM(end, centre));
  if (size === 0) return ends < radiusM;
  const n = times(normal, 1 / size);
  const between = dot(cross(n, a), c) > 0 && dot(cross(b, n), c) > 0;
  const nearest = between ? Math.asin(Math.min(Math.abs(dot(n, c)), 1)) * MEAN_RADIUS_M : ends;
  return Math.min(nearest, ends) < radiusM;
}
