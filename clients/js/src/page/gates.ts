/**
 * What an attacker sees of a hidden place (`sfumato.tracks.adversary.places.view`): the zone, which counts as known, and the gates,
 * the ends of published stretches at its border, with the heading inward there. Metres around the zone's centre.
 */
import { type Pair, surface } from "./globe.js";
import type { Track } from "./track.js";
import type { Zone } from "./zones.js";

const [MARGIN_M, SLACK_M, HEADING_M, FAR_M, LONGEST_STEP_M, PASSING_S] = [50, 100, 100, 1000, 1000, 600];

export interface Gate {
  readonly at: Pair;
  readonly heading: Pair;
  readonly far: Pair;
  /** Whether the ride began, ended or stopped inside; one that is seen again within ten minutes passed through. */
  readonly stop: boolean;
}

export interface ZoneView {
  readonly radiusM: number;
  readonly innerRadiusM: number;
  readonly gates: readonly Gate[];
}

export const less = (a: Pair, b: Pair): Pair => [a[0] - b[0], a[1] - b[1]];
export const size = (a: Pair) => Math.hypot(a[0], a[1]);
export const median = (values: number[]) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
};

/** At most `most` of `count` numbers, evenly spread. */
export function evenly(count: number, most: number): number[] {
  const few = Math.min(count, most);
  const step = few > 1 ? (count - 1) / (few - 1) : 0;
  return [...new Set(Array.from({ length: few }, (_, k) => Math.floor(k === few - 1 ? count - 1 : k * step)))];
}

export function look(zone: Zone, track: Track, noiseM = 0): Gate[] {
  const positions = Array.from(track.latDeg, (lat, i) => zone.around.metresOf(surface(lat, track.lonDeg[i]!)));
  const edges = [0];
  for (let i = 1; i < positions.length; i++) if (track.segment[i] !== track.segment[i - 1]) edges.push(i);
  edges.push(positions.length);
  const radius = zone.radiusM + 3 * noiseM;
  const gates: Gate[] = [];
  for (let s = 0; s + 1 < edges.length; s++) {
    const [first, end] = [edges[s]!, edges[s + 1]!];
    if (end - first < 2) continue;
    const away = (from: number, to: number) => (track.micros[to]! - track.micros[from]!) / 1e6 > PASSING_S;
    const stretch = positions.slice(first, end);
    if (atBorder(stretch.slice(0, 6), radius)) gates.push(outward(stretch, s === 0 || away(first - 1, first)));
    const back = stretch.reverse();
    if (atBorder(back.slice(0, 6), radius)) gates.push(outward(back, end === positions.length || away(end - 1, end)));
  }
  return gates;
}

/** Whether a stretch's end is within a step and a half of the border. */
function atBorder(end: Pair[], radiusM: number): boolean {
  const step = median(end.slice(1).map((point, i) => size(less(point, end[i]!))));
  return size(end[0]!) < radiusM + MARGIN_M + Math.max(SLACK_M, Math.min(1.5 * step, LONGEST_STEP_M));
}

function outward(positions: Pair[], stop: boolean): Gate {
  const at = positions[0]!;
  const away = positions.map((point) => size(less(point, at)));
  const beyond = (distance: number) => {
    const found = away.findIndex((d) => d >= distance);
    return positions[found >= 0 ? found : away.reduce((best, d, i) => (d > away[best]! ? i : best), 0)]!;
  };
  const back = less(at, beyond(HEADING_M));
  const length = size(back);
  const scale = Math.max(size(at), 1);
  const heading: Pair = length > 1 ? [back[0] / length, back[1] / length] : [-at[0] / scale, -at[1] / scale];
  return { at, heading, far: beyond(FAR_M), stop };
}

/** The number of the cluster of each point, fullest neighbourhood first, and points per cluster. */
export function clustersOf(points: readonly Pair[], radiusM: number): [number[], number[]] {
  const near = points.map((a) => points.flatMap((b, j) => (size(less(a, b)) < radiusM ? [j] : [])));
  const label = points.map(() => -1);
  const counts: number[] = [];
  const order = points.map((_, i) => i).sort((a, b) => near[b]!.length - near[a]!.length || a - b);
  for (const i of order) {
    if (label[i]! >= 0) continue;
    let taken = 0;
    for (const j of near[i]!)
      if (label[j]! < 0) {
        label[j] = counts.length;
        taken++;
      }
    counts.push(taken);
  }
  return [label, counts];
}

/** The mean of the fullest neighbourhood of points. */
export function commonest(points: readonly Pair[], withinM = 100): number[] {
  const [label, counts] = clustersOf(points, withinM);
  const fullest = counts.indexOf(counts.reduce((a, b) => Math.max(a, b), 0));
  return points.flatMap((_, i) => (label[i] === fullest ? [i] : []));
}

export function meanOf(points: readonly Pair[], weights?: readonly number[]): Pair {
  let [x, y, total] = [0, 0, 0];
  points.forEach((point, i) => {
    const weight = weights?.[i] ?? 1;
    [x, y, total] = [x + weight * point[0], y + weight * point[1], total + weight];
  });
  return [x / total, y / total];
}

export function ofStops(view: ZoneView): ZoneView {
  const stops = view.gates.filter((gate) => gate.stop);
  return stops.length ? { ...view, gates: stops } : view;
}
