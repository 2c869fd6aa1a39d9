/**
 * Attackers of hidden places, as in `sfumato.tracks.adversary.places`: given what is published around a zone, where is the place?
 * All but the two that were fitted on other people's tracks. Each gives metres around the zone's centre, or null.
 */
import { clustersOf, commonest, evenly, less, meanOf, median, ofStops, size, type ZoneView } from "./gates.js";
import type { Pair } from "./globe.js";

type Guess = (view: ZoneView) => Pair | null;
type Square = [number, number, number]; // symmetric: xx, xy, yy

const into = (point: Pair, radiusM: number): Pair => {
  const length = size(point);
  return length <= radiusM ? point : [(point[0] * radiusM) / length, (point[1] * radiusM) / length];
};

/** Least squares of a symmetric 2 x 2 system; directions with next to no weight are left at zero. */
function solved([xx, xy, yy]: Square, right: Pair): Pair {
  const middle = (xx + yy) / 2;
  const spread = Math.hypot((xx - yy) / 2, xy);
  const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const [large, small] = [middle + spread, middle - spread];
  const along = large > 0 ? (c * right[0] + s * right[1]) / large : 0;
  const across = small > 1e-6 * large ? (-s * right[0] + c * right[1]) / small : 0;
  return [c * along - s * across, s * along + c * across];
}

const across = ([x, y]: Pair): Square => [1 - x * x, -x * y, 1 - y * y];
const apply = ([xx, xy, yy]: Square, [x, y]: Pair): Pair => [xx * x + xy * y, xy * x + yy * y];

function lines(view: ZoneView, weight: (off: Pair) => number, near: Pair | null): Pair {
  const normal: Square = [0, 0, 0];
  let [rx, ry] = [0, 0];
  for (const { at, heading } of view.gates) {
    const a = across(heading);
    const w = near === null ? 1 : weight(apply(a, less(near, at)));
    const [x, y] = apply(a, at);
    a.forEach((value, k) => {
      normal[k] = normal[k]! + w * value;
    });
    [rx, ry] = [rx + w * x, ry + w * y];
  }
  return solved(normal, [rx, ry]);
}

const crossing: Guess = (view) =>
  into(
    lines(view, () => 1, null),
    view.innerRadiusM,
  );

const robustCrossing: Guess = (view) => {
  let found: Pair = crossing(view)!;
  for (let round = 0; round < 50; round++) found = lines(view, (off) => 1 / Math.max(size(off), 30), found);
  return into(found, view.innerRadiusM);
};

const circle: Guess = (view) => {
  const gates = view.gates.map(({ at }) => at);
  const radius = view.radiusM + 25; // rides are cut 0 to 50 m beyond: the mean of a public law
  if (gates.length < 2) return null;
  let [best, least]: [Pair | null, number] = [null, Number.POSITIVE_INFINITY];
  const middle = meanOf(gates);
  for (const [x, y] of [
    [0, 0],
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ] as const) {
    let centre: Pair = [middle[0] + 0.7 * radius * x, middle[1] + 0.7 * radius * y];
    for (let step: Pair = [1, 0], round = 0; round < 40 && size(step) >= 0.1; round++) {
      const normal: Square = [1e-9, 0, 1e-9];
      let [rx, ry] = [0, 0];
      for (const gate of gates) {
        const away = less(gate, centre);
        const distance = Math.max(size(away), 1e-9);
        const miss = distance - radius;
        const weight = Math.min(1, 40 / Math.max(Math.abs(miss), 1e-9));
        const [ux, uy] = [away[0] / distance, away[1] / distance];
        normal[0] += weight * ux * ux;
        normal[1] += weight * ux * uy;
        normal[2] += weight * uy * uy;
        [rx, ry] = [rx + weight * ux * miss, ry + weight * uy * miss];
      }
      const det = normal[0] * normal[2] - normal[1] ** 2;
      step = [(normal[2] * rx - normal[1] * ry) / det, (normal[0] * ry - normal[1] * rx) / det];
      centre = [centre[0] + step[0], centre[1] + step[1]];
    }
    const cost = gates.reduce((sum, gate) => sum + Math.min(Math.abs(size(less(gate, centre)) - radius), 160), 0);
    if (cost < least) [best, least] = [centre, cost];
  }
  return best;
};

function crossings(view: ZoneView): { points: Pair[]; weights: number[] } {
  const stops = ofStops(view).gates;
  const gates = evenly(stops.length, 400).map((i) => stops[i]!);
  const [label] = clustersOf(
    gates.map(({ at }) => at),
    75,
  );
  const points: Pair[] = [];
  const pairs: number[] = [];
  for (let i = 0; i < gates.length; i++)
    for (let j = i + 1; j < gates.length; j++) {
      if (label[i] === label[j]) continue;
      const [u, v, apart] = [gates[i]!.heading, gates[j]!.heading, less(gates[j]!.at, gates[i]!.at)];
      const turn = u[0] * v[1] - u[1] * v[0];
      if (!(Math.abs(turn) > 0.3)) continue;
      const along = (apart[0] * v[1] - apart[1] * v[0]) / turn;
      const back = (apart[0] * u[1] - apart[1] * u[0]) / turn;
      const point: Pair = [gates[i]!.at[0] + along * u[0], gates[i]!.at[1] + along * u[1]];
      if (!(along > 0 && back > 0 && size(point) <= view.innerRadiusM)) continue;
      points.push(point);
      pairs.push(Math.min(label[i]!, label[j]!) * gates.length + Math.max(label[i]!, label[j]!));
    }
  const taken = new Map<number, number>();
  for (const pair of pairs) taken.set(pair, (taken.get(pair) ?? 0) + 1);
  return { points, weights: pairs.map((pair) => 1 / Math.sqrt(taken.get(pair)!)) };
}

const crossroads: Guess = (view) => {
  const { points, weights } = crossings(view);
  if (!points.length) return crossing(view);
  const cells = points.map(([x, y]): Pair => [Math.floor(x / 25), Math.floor(y / 25)]);
  const count = new Map<string, number>();
  cells.forEach(([x, y], i) => void count.set(`${x} ${y}`, (count.get(`${x} ${y}`) ?? 0) + weights[i]!));
  const reach = Math.ceil(view.innerRadiusM / 25) + 1;
  let [fullest, most]: [Pair, number] = [cells[0]!, -1];
  for (let x = -reach; x <= reach; x++)
    for (let y = -reach; y <= reach; y++) {
      let sum = 0;
      for (let i = x - 3; i <= x + 3; i++) for (let j = y - 3; j <= y + 3; j++) sum += count.get(`${i} ${j}`) ?? 0;
      if (sum > most * (1 + 1e-12)) [fullest, most] = [[x, y], sum];
    }
  const close = cells.flatMap((cell, i) =>
    Math.abs(cell[0] - fullest[0]) <= 3 && Math.abs(cell[1] - fullest[1]) <= 3 ? [i] : [],
  );
  return meanOf(
    close.map((i) => points[i]!),
    close.map((i) => weights[i]!),
  );
};

const farCrossroads: Guess = (view) =>
  crossroads({
    ...view,
    gates: view.gates.map((gate) => {
      const way = less(gate.at, gate.far);
      const length = size(way);
      return length > 100 ? { ...gate, heading: [way[0] / length, way[1] / length] } : gate;
    }),
  });

function headings(view: ZoneView, kappa: number): { places: Pair[]; value: number[] } {
  const line = Array.from({ length: 32 }, (_, k) => ((k + 0.5) * 2) / 32 - 1);
  const grid = line.flatMap((y) => line.map((x): Pair => [x, y])).filter((point) => size(point) <= 1);
  const places = grid.map(([x, y]): Pair => [x * view.innerRadiusM, y * view.innerRadiusM]);
  const value = places.map((place) => {
    let sum = 0;
    for (const { at, heading } of view.gates) {
      const way = less(place, at);
      sum += (way[0] * heading[0] + way[1] * heading[1]) / Math.max(size(way), 1);
    }
    return kappa * sum;
  });
  return { places, value };
}

const headingsMean = (view: ZoneView, kappa: number): Pair => {
  const { places, value } = headings(view, kappa);
  const top = value.reduce((a, b) => Math.max(a, b));
  return meanOf(
    places,
    value.map((v) => Math.exp(v - top)),
  );
};

const headingsMode: Guess = (view) => {
  const { places, value } = headings(view, 1);
  return places[value.indexOf(value.reduce((a, b) => Math.max(a, b)))]!;
};

const commonestExit: Guess = (view) => {
  const gates = view.gates.map(({ at }) => at);
  const gate = meanOf(commonest(gates).map((i) => gates[i]!));
  const share = 1 - (0.5 * view.radiusM) / Math.max(size(gate), 1);
  return [gate[0] * share, gate[1] * share];
};

const backAlong: Guess = (view) => {
  const stops = ofStops(view).gates;
  const use = commonest(stops.map(({ at }) => at)).map((i) => stops[i]!);
  const [gate, heading] = [meanOf(use.map(({ at }) => at)), meanOf(use.map((one) => one.heading))];
  return [gate[0] + 0.5 * view.radiusM * heading[0], gate[1] + 0.5 * view.radiusM * heading[1]];
};

const middleExit: Guess = (view) => {
  const stops = ofStops(view).gates.map(({ at }) => at);
  return into([median(stops.map(([x]) => x)), median(stops.map(([, y]) => y))], view.innerRadiusM);
};

export const ATTACKERS: readonly (readonly [string, Guess])[] = [
  ["circle", circle],
  ["crossing", crossing],
  ["robust crossing", robustCrossing],
  ["crossroads", crossroads],
  ["far crossroads", farCrossroads],
  ["headings", (view) => headingsMean(view, 2)],
  ["headings, mode", headingsMode],
  ["sharp headings", (view) => headingsMean(view, 8)],
  ["commonest exit", commonestExit],
  ["back along", backAlong],
  ["middle exit", middleExit],
  ["centre", () => [0, 0]],
];

/** Every attacker's guess; those with nothing to go by are left out. */
export function guessesM(view: ZoneView): Map<string, Pair> {
  const few = evenly(view.gates.length, 1500).map((i) => view.gates[i]!);
  const found = few.length ? ATTACKERS.map(([name, guess]) => [name, guess({ ...view, gates: few })] as const) : [];
  return new Map(found.filter((row): row is [string, Pair] => row[1] !== null));
}
