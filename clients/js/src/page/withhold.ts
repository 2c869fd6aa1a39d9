/**
 * Cutting: everything recorded inside the zones is left out of a track and the rest stays exactly as it is, by the rules of
 * `sfumato.tracks.places.withhold` (a cut breaks the segment, nothing is bridged, flicker next to a cut goes, segments are numbered
 * anew). The output is a function of the points outside the zones, and of which neighbours had something between them.
 */
import { surface } from "./globe.js";
import type { Track } from "./track.js";
import type { Zone } from "./zones.js";

const FLICKER_M = 100;
const GUARD_S = 60; // readings so close to a cut are empty: receivers smooth

/** What is left of a track (null: nothing), and for its owner which points that is and how many each zone held. */
export interface Withheld {
  readonly track: Track | null;
  readonly kept: readonly number[];
  readonly byZone: readonly number[];
}

export function withhold(track: Track, zones: readonly Zone[]): Withheld {
  const points = Array.from(track.latDeg, (lat, i) => surface(lat, track.lonDeg[i]!));
  const byZone = zones.map(() => 0);
  const outside: number[] = [];
  points.forEach((point, i) => {
    let inside = false;
    zones.forEach((zone, z) => {
      if (!zone.holds(point)) return;
      byZone[z] = byZone[z]! + 1;
      inside = true;
    });
    if (!inside) outside.push(i);
  });
  const count = outside.length;
  // Before each outside point and after the last (one longer): whether a segment breaks, and whether by a cut.
  const cut = new Array<boolean>(count + 1).fill(false);
  const broken = new Array<boolean>(count + 1).fill(true);
  if (count) {
    cut[0] = outside[0]! > 0;
    cut[count] = outside[count - 1]! < points.length - 1;
  }
  for (let k = 1; k < count; k++) {
    const [one, other] = [outside[k - 1]!, outside[k]!];
    const same = track.segment[one] === track.segment[other];
    const between = other - one > 1;
    cut[k] = between || (same && zones.some((zone) => zone.crossed(points[one]!, points[other]!)));
    broken[k] = !same || cut[k]!;
  }
  const runs: { first: number; end: number; stays: boolean }[] = [];
  for (let first = 0, end = 0; first < count; first = end) {
    end = first + 1;
    while (!broken[end]) end++;
    const [before, after] = [cut[first]!, cut[end]!];
    const alongBorder = () =>
      outside.slice(first, end).every((i) => Math.min(...zones.map((zone) => zone.beyondM(points[i]!))) < FLICKER_M);
    const flicker = (end - first === 1 && (before || after)) || (before && after && alongBorder());
    runs.push({ first, end, stays: !flicker });
  }
  const kept: number[] = [];
  const segment: number[] = [];
  const heartRate: number[] = [];
  const second = (k: number) => track.micros[outside[k]!]! / 1e6;
  let number = -1;
  for (const [r, { first, end, stays }] of runs.entries()) {
    if (!stays) continue;
    number++;
    // What was dropped as flicker leaves a cut where it was.
    const before = cut[first] || runs[r - 1]?.stays === false;
    const after = cut[end] || runs[r + 1]?.stays === false;
    for (let k = first; k < end; k++) {
      kept.push(outside[k]!);
      segment.push(number);
      const close = (before && second(k) - second(first) < GUARD_S) || (after && second(end - 1) - second(k) < GUARD_S);
      heartRate.push(close ? Number.NaN : (track.heartRate?.[outside[k]!] ?? Number.NaN));
    }
  }
  if (!kept.length) return { track: null, kept, byZone };
  const taken = (values: Float64Array) => Float64Array.from(kept, (i) => values[i]!);
  return {
    track: {
      latDeg: taken(track.latDeg),
      lonDeg: taken(track.lonDeg),
      micros: taken(track.micros),
      segment: Int32Array.from(segment),
      heartRate: track.heartRate && Float64Array.from(heartRate),
    },
    kept,
    byZone,
  };
}
