/** Heart rates that would tell positions are not kept, by the rules of `sfumato.tracks.io.telltale`: `sfumato verify` asks the same. */
import { SfumatoError } from "../errors.js";
import type { Track } from "./track.js";

const SCALES = [1, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, Math.PI / 180, 2 ** 31 / 180];
const [NEAR_DEG, ENOUGH, SURELY] = [5e-3, 10, 0.9999];
const minutes = (value: number) => Math.trunc(value / 100) + (value - 100 * Math.trunc(value / 100)) / 60; // ddmm.mmmm

export function refusePositions({ latDeg, lonDeg, heartRate }: Track): void {
  if (!heartRate) return;
  const there = [...heartRate.keys()].filter((i) => !Number.isNaN(heartRate[i]!));
  if (there.length < 2) return;
  const beats = there.map((i) => heartRate[i]!);
  for (const degrees of [latDeg, lonDeg]) {
    const where = there.map((i) => degrees[i]!);
    for (const way of [...SCALES.map((scale) => (value: number) => value / scale), minutes])
      for (const sign of [1, -1]) {
        const near = where.filter((value, k) => Math.abs(sign * way(beats[k]!) - value) < NEAR_DEG).length;
        if (near / there.length > 0.5) refuse();
      }
    if (there.length >= ENOUGH && Math.abs(correlation(beats, where)) > SURELY) refuse();
  }
}

function correlation(one: readonly number[], other: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [a, b] = [mean(one), mean(other)];
  const product = mean(one.map((value, k) => (value - a) * (other[k]! - b)));
  const size = Math.sqrt(mean(one.map((value) => (value - a) ** 2)) * mean(other.map((value) => (value - b) ** 2)));
  return size > 0 ? product / size : 0;
}

function refuse(): never {
  throw new SfumatoError("The heart rates follow the position.", "It is what is hidden: do not keep them.");
}
