/**
 * Metres around a place: the transverse Mercator frame of the public whole-degree cell it lies in (Krueger's series to n^4,
 * below a micrometre here), the same frames as `sfumato.base.things.frames`. Beyond 89 degrees of latitude nothing is released.
 */
import { SfumatoError } from "./errors.js";

const RADIAN = Math.PI / 180;
const F = 1 / 298.257223563;
const N = F / (2 - F);
const E = Math.sqrt(F * (2 - F));
const RADIUS = (6378137 / (1 + N)) * (1 + N ** 2 / 4 + N ** 4 / 64);
const ALPHA = [
  N / 2 - (2 * N ** 2) / 3 + (5 * N ** 3) / 16 + (41 * N ** 4) / 180,
  (13 * N ** 2) / 48 - (3 * N ** 3) / 5 + (557 * N ** 4) / 1440,
  (61 * N ** 3) / 240 - (103 * N ** 4) / 140,
  (49561 * N ** 4) / 161280,
];
const BETA = [
  N / 2 - (2 * N ** 2) / 3 + (37 * N ** 3) / 96 - N ** 4 / 360,
  N ** 2 / 48 + N ** 3 / 15 - (437 * N ** 4) / 1440,
  (17 * N ** 3) / 480 - (37 * N ** 4) / 840,
  (4397 * N ** 4) / 161280,
];
const DELTA = [
  2 * N - (2 * N ** 2) / 3 - 2 * N ** 3 + (116 * N ** 4) / 45,
  (7 * N ** 2) / 3 - (8 * N ** 3) / 5 - (227 * N ** 4) / 45,
  (56 * N ** 3) / 15 - (136 * N ** 4) / 35,
  (4279 * N ** 4) / 630,
];

/** [north, east] from the equator and the central meridian, in metres. */
function project(latRad: number, lonRad: number): [number, number] {
  const sine = Math.sin(latRad);
  const t = Math.sinh(Math.atanh(sine) - E * Math.atanh(E * sine));
  const xi = Math.atan2(t, Math.cos(lonRad));
  const eta = Math.asinh(Math.sin(lonRad) / Math.hypot(t, Math.cos(lonRad)));
  let north = xi;
  let east = eta;
  ALPHA.forEach((a, j) => {
    north += a * Math.sin(2 * (j + 1) * xi) * Math.cosh(2 * (j + 1) * eta);
    east += a * Math.cos(2 * (j + 1) * xi) * Math.sinh(2 * (j + 1) * eta);
  });
  return [RADIUS * north, RADIUS * east];
}

function unproject(northM: number, eastM: number): [number, number] {
  const xi = northM / RADIUS;
  const eta = eastM / RADIUS;
  let x = xi;
  let y = eta;
  BETA.forEach((b, j) => {
    x -= b * Math.sin(2 * (j + 1) * xi) * Math.cosh(2 * (j + 1) * eta);
    y -= b * Math.cos(2 * (j + 1) * xi) * Math.sinh(2 * (j + 1) * eta);
  });
  const chi = Math.asin(Math.sin(x) / Math.cosh(y));
  const lat = DELTA.reduce((sum, d, j) => sum + d * Math.sin(2 * (j + 1) * chi), chi);
  return [lat, Math.atan2(Math.sinh(y), Math.cos(x))];
}

const wrap = (lonDeg: number) =>
  lonDeg >= -180 && lonDeg < 180 ? lonDeg : lonDeg - 360 * Math.floor((lonDeg + 180) / 360);

function frame(
  latDeg: number,
  lonDeg: number,
): { toMetres(): [number, number]; toDegrees(n: number, e: number): [number, number] } {
  const lon = wrap(lonDeg);
  if (!(Math.abs(latDeg) < 89) || !Number.isFinite(lon))
    throw new SfumatoError("The place is too near a pole, or not a place.");
  const middleLon = Math.floor(lon) + 0.5;
  const [origin] = project((Math.floor(latDeg) + 0.5) * RADIAN, 0);
  return {
    toMetres() {
      const [north, east] = project(latDeg * RADIAN, (lon - middleLon) * RADIAN);
      return [north - origin, east];
    },
    toDegrees(northM, eastM) {
      const [lat, offset] = unproject(northM + origin, eastM);
      return [lat / RADIAN, wrap(offset / RADIAN + middleLon)];
    },
  };
}

/** A place moved by metres east and north of itself, measured in the frame of its public whole-degree cell. */
export function displace(latDeg: number, lonDeg: number, eastM: number, northM: number): [number, number] {
  const here = frame(latDeg, lonDeg);
  const [north, east] = here.toMetres();
  // The frame's axes are turned by the meridian convergence here, so that nothing jumps where a path crosses cells.
  const lon = wrap(lonDeg);
  const turn = Math.atan(Math.tan((lon - Math.floor(lon) - 0.5) * RADIAN) * Math.sin(latDeg * RADIAN));
  const cosine = Math.cos(turn);
  const sine = Math.sin(turn);
  return here.toDegrees(north + eastM * sine + northM * cosine, east + eastM * cosine - northM * sine);
}

/** A released place on the nearest node of a public 0.1 m grid, then to 1e-7 degrees: looks only at the released place. */
export function snap(latDeg: number, lonDeg: number, gridM = 0.1): [number, number] {
  const here = frame(latDeg, lonDeg);
  const [north, east] = here.toMetres();
  const [lat, lon] = here.toDegrees(Math.round(north / gridM) * gridM, Math.round(east / gridM) * gridM);
  return [Math.round(lat * 1e7) / 1e7, wrap(Math.round(lon * 1e7) / 1e7)];
}
