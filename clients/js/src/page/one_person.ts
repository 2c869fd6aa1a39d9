/**
 * One noise is for one person: files that say somebody was in two places at one time are two people's, and the way from
 * one to the other would be released as it is. The same rule and numbers as `sfumato.tracks.folders.rides.one_person`.
 */
import { SfumatoError } from "../errors.js";
import { distanceM, surface, type Vector } from "./globe.js";
import type { Track } from "./track.js";

const KEPT = 64;
const APART_M = 1000;
const FLYING_M = 50_000;
const [FAST_M_S, FLYING_M_S] = [100, 300];
const SURE = 3;

export function refuseTwoPeople(tracks: readonly (Track | null)[]): void {
  const seen: { file: number; atS: number; where: Vector }[] = [];
  tracks.forEach((track, file) => {
    const last = (track?.latDeg.length ?? 0) - 1;
    if (track === null || last < 0) return;
    const chosen = new Set(Array.from({ length: KEPT }, (_, i) => Math.round((last * i) / (KEPT - 1))));
    for (const at of chosen)
      seen.push({ file, atS: track.micros[at]! / 1e6, where: surface(track.latDeg[at]!, track.lonDeg[at]!) });
  });
  seen.sort((a, b) => a.atS - b.atS);
  let jumps = 0;
  for (let i = 1; i < seen.length; i++) {
    const [a, b] = [seen[i - 1]!, seen[i]!];
    if (a.file === b.file) continue;
    const apart = distanceM(a.where, b.where);
    const limit = apart < FLYING_M ? FAST_M_S : FLYING_M_S;
    if (apart > APART_M && apart > limit * (b.atS - a.atS)) jumps++;
  }
  if (jumps >= SURE)
    throw new SfumatoError(
      "Some tracks are in two places at the same time: they are not one person's, and one blur over all of them would " +
        "give away how far people were from each other.",
      "Blur each person's tracks by themselves.",
    );
}
