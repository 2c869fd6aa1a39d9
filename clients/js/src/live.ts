/**
 * Share a live trace: multiscale noise added to each position as it arrives (see `sfumato.tracks.live.live_trace`): a sum of
 * Matern-3/2 processes of published scales, a white and a constant share. Exact at any timestamps; the state is kept, and
 * is written before a position is returned. The whole process is debited once, when it starts.
 */

import shipped from "../../../src/sfumato/data/multiscale.json";
import { Device, debit } from "./device.js";
import { systemWords } from "./draw.js";
import { must, SfumatoError } from "./errors.js";
import { displace, snap } from "./frames.js";
import { inverseNormal, normalsFromWords } from "./normal.js";

export interface Ladder {
  readonly length_scales_s: readonly number[];
  readonly weights: readonly number[];
  readonly white_share: number;
  readonly constant_share: number;
}

export interface LiveState {
  time_s: number;
  constant: number[];
  scales: number[][];
  white: number[];
}

export const DELTA = 1e-6;
/** White and constant share of a process that version 0.1.0 began. */
const FIRST_SHARES: [number, number] = [0.05, 0.1];
export const DAY: Ladder & { worst_loss: number; stay_loss: number } = shipped.classes.day;

/** One step of s = sqrt(3) dt / l: the transition and the Cholesky factor of its noise. */
function stepFactors(s: number): number[] {
  const decay = Math.exp(-s);
  const z = 2 * s;
  const decay2 = Math.exp(-z);
  let q11: number;
  if (z < 1) {
    let series = 1;
    for (let k = 24; k > 3; k--) series = 1 + (z / k) * series;
    q11 = ((decay2 * z * z * z) / 6) * series;
  } else q11 = 1 - decay2 * (1 + z + (z * z) / 2);
  const q12 = (decay2 * z * z) / 2;
  const q22 = -Math.expm1(-z) + decay2 * (z - (z * z) / 2);
  const l11 = Math.sqrt(q11);
  const l21 = l11 > 0 ? q12 / l11 : 0;
  return [decay * (1 + s), decay * s, -decay * s, decay * (1 - s), l11, l21, Math.sqrt(Math.max(0, q22 - l21 * l21))];
}

export function normalsNeeded(ladder: Ladder, state: LiveState | null, timeS: number): number {
  const perTime = 4 * ladder.weights.length + 2;
  if (state === null) return perTime + 2;
  return timeS === state.time_s ? 0 : perTime;
}

/** The state at a time: a pure function of the normals, used by the golden tests; not exported by the package. */
export function advance(ladder: Ladder, state: LiveState | null, timeS: number, normals: Float64Array): LiveState {
  must(Number.isFinite(timeS), "The time is not finite.");
  must(state === null || timeS >= state.time_s, "The time lies before the last one: a live trace runs forward.");
  must(normals.length === normalsNeeded(ladder, state, timeS), "The number of normals does not fit the step.");
  if (state !== null && timeS === state.time_s) return state;
  let used = 0;
  const constant = state === null ? [normals[used++]!, normals[used++]!] : state.constant;
  const scales = ladder.length_scales_s.map((scale, number) => {
    const fresh = Array.from({ length: 4 }, () => normals[used++]!);
    if (state !== null) {
      const f = stepFactors((Math.sqrt(3) * (timeS - state.time_s)) / scale);
      const before = state.scales[number]!;
      for (const at of [0, 2]) {
        const [x, u, n1, n2] = [before[at]!, before[at + 1]!, fresh[at]!, fresh[at + 1]!];
        fresh[at] = f[0]! * x + f[1]! * u + f[4]! * n1;
        fresh[at + 1] = f[2]! * x + f[3]! * u + f[5]! * n1 + f[6]! * n2;
      }
    }
    return fresh;
  });
  return { time_s: timeS, constant, scales, white: [normals[used++]!, normals[used++]!] };
}

/** [east, north] noise in metres. */
export function displacement(ladder: Ladder, state: LiveState, noiseM: number): [number, number] {
  const moving = 1 - ladder.white_share - ladder.constant_share;
  const along = (axis: 0 | 1) => {
    let total = Math.sqrt(ladder.white_share) * state.white[axis]!;
    for (const [m, weight] of ladder.weights.entries())
      total += Math.sqrt(weight * moving) * state.scales[m]![2 * axis]!;
    return noiseM * (total + Math.sqrt(ladder.constant_share) * state.constant[axis]!);
  };
  return [along(0), along(1)];
}

export interface LiveBudget {
  readonly muPerKm: number;
  readonly epsilonPerKm: number;
  readonly delta: number;
}

/** What the whole process costs, once: (epsilon, delta) for two places at most 1 km apart at any one time. */
export function liveBudget(noiseM: number, delta = DELTA): LiveBudget {
  must(Number.isFinite(noiseM) && noiseM > 0, "The noise is not a positive number of metres.");
  const muPerKm = (1000 * Math.sqrt(Math.max(DAY.worst_loss, DAY.stay_loss))) / noiseM;
  return { muPerKm, epsilonPerKm: (muPerKm * muPerKm) / 2 + muPerKm * -inverseNormal(delta), delta };
}

export interface Released {
  readonly latDeg: number;
  readonly lonDeg: number;
  readonly timeS: number;
}

interface Kept {
  noise_m: number;
  /** The white and the constant share the process began with: a constant at two sizes would give itself away. */
  shares?: [number, number];
  state: LiveState;
  released: [number, number];
}

export class LiveTrace {
  readonly device: Device;
  readonly noiseM: number;
  readonly name: string;
  readonly budget: LiveBudget;

  constructor(options: { noiseM: number; device?: Device; name?: string }) {
    this.noiseM = options.noiseM;
    this.device = options.device ?? new Device();
    this.name = options.name ?? "live";
    this.budget = liveBudget(options.noiseM);
  }

  /** The position to share instead of the true one. */
  release(latDeg: number, lonDeg: number, timeS: number): Promise<Released> {
    return this.device.change((memory) => {
      const kept = memory.live[this.name] as Kept | undefined;
      if (kept !== undefined && kept.noise_m !== this.noiseM)
        throw new SfumatoError(
          `This process adds ${kept.noise_m} m.`,
          "Use the same noise, or another name (debited again).",
        );
      if (kept?.state.time_s === timeS) return { latDeg: kept.released[0], lonDeg: kept.released[1], timeS };
      if (kept === undefined)
        debit(memory, {
          what: "live trace",
          epsilon_per_km: this.budget.epsilonPerKm,
          delta: DELTA,
          name: this.name,
          noise_m: this.noiseM,
        });
      const before = kept?.state ?? null;
      const shares =
        kept === undefined
          ? ([DAY.white_share, DAY.constant_share] as [number, number])
          : (kept.shares ?? FIRST_SHARES);
      const ladder: Ladder = { ...DAY, white_share: shares[0], constant_share: shares[1] };
      const state = advance(ladder, before, timeS, normalsFromWords(systemWords(normalsNeeded(ladder, before, timeS))));
      const released = snap(...displace(latDeg, lonDeg, ...displacement(ladder, state, this.noiseM)));
      const fresh: Kept = { noise_m: this.noiseM, shares, state, released };
      memory.live[this.name] = fresh;
      return { latDeg: released[0], lonDeg: released[1], timeS };
    });
  }

  /** Follow `navigator.geolocation.watchPosition` and hand on only released positions. Returns how to stop. */
  watch(
    onReleased: (position: Released) => void,
    onError: (error: unknown) => void = () => undefined,
    options: PositionOptions = { enableHighAccuracy: true },
    geolocation: Geolocation = navigator.geolocation,
  ): () => void {
    let last: Promise<void> = Promise.resolve();
    const id = geolocation.watchPosition(
      ({ coords, timestamp }) => {
        // One after the other: the noise is a path in time.
        last = last
          .then(() => this.release(coords.latitude, coords.longitude, timestamp / 1000).then(onReleased))
          .catch(onError);
      },
      onError,
      options,
    );
    return () => geolocation.clearWatch(id);
  }
}
