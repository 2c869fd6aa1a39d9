/**
 * Blur: the multiscale noise of `sfumato protect`, one process over all files' times. Normals are the inverse distribution
 * function of 52-bit uniforms of `crypto.getRandomValues` (never 0 or 1; they reach 8.2 standard deviations on either side).
 */
import { displace, snap } from "../frames.js";
import { advance, displacement, type Ladder, type LiveState, normalsNeeded } from "../live.js";
import { inverseNormal } from "../normal.js";
import { rint } from "./json.js";
import type { Track } from "./track.js";

const CHUNK = 8192; // words of 64 bits: what one call of getRandomValues may fill

/** Standard normals from the platform's CSPRNG. There is no other source and no seed. */
export function systemNormals(count: number): Float64Array {
  const out = new Float64Array(count);
  for (let start = 0; start < count; start += CHUNK) {
    const words = crypto.getRandomValues(new Uint32Array(2 * Math.min(CHUNK, count - start)));
    for (let i = 0; i < words.length / 2; i++)
      out[start + i] = inverseNormal((words[2 * i]! * 2 ** 20 + (words[2 * i + 1]! >>> 12) + 0.5) * 2 ** -52);
  }
  return out;
}

/** Times at whole milliseconds, which is how blurred tracks are released. */
export const milliseconds = (track: Track) => Float64Array.from(track.micros, (micros) => rint(micros / 1000));

/** [east, north] metres at each distinct millisecond of all tracks: one path, exact at any times. */
export function noisePath(
  ladder: Ladder,
  noiseM: number,
  times_ms: Iterable<number>,
  normals: (count: number) => Float64Array = systemNormals,
): Map<number, readonly [number, number]> {
  const sorted = [...new Set(times_ms)].sort((a, b) => a - b);
  const path = new Map<number, readonly [number, number]>();
  let state: LiveState | null = null;
  for (const time of sorted) {
    state = advance(ladder, state, time / 1000, normals(normalsNeeded(ladder, state, time / 1000)));
    path.set(time, displacement(ladder, state, noiseM));
  }
  return path;
}

/** The track moved by the noise and snapped to the public 0.1 m grid, at whole milliseconds. */
export function blurred(track: Track, path: ReadonlyMap<number, readonly [number, number]>): Track {
  const [latDeg, lonDeg] = [new Float64Array(track.latDeg.length), new Float64Array(track.latDeg.length)];
  const times = milliseconds(track);
  times.forEach((time, i) => {
    const [east, north] = path.get(time)!;
    const moved = displace(track.latDeg[i]!, track.lonDeg[i]!, east, north);
    [latDeg[i], lonDeg[i]] = snap(...moved);
  });
  return { ...track, latDeg, lonDeg, micros: times.map((time) => time * 1000) };
}
