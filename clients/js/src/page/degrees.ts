/** Degrees as released files write them: seven decimals for anything snapped, ten for anything else, and their bounds. */
import { fixed, rint } from "./json.js";

export function degreeTexts(values: ArrayLike<number>): string[] {
  const all = Array.from(values, (value) => rint(value * 1e10) / 1e10); // what is read back is written the same again
  const decimals = all.every((value) => rint(value * 1e7) / 1e7 === value) ? 7 : 10;
  return all.map((value) => fixed(value, decimals));
}

/** South, west, north, east; west is larger than east where the points straddle the antimeridian. */
export function boundsTexts(latDeg: Float64Array, lonDeg: Float64Array): [string, string, string, string] {
  const least = (values: Float64Array) => values.reduce((a, b) => Math.min(a, b));
  const most = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b));
  let [west, east] = [least(lonDeg), most(lonDeg)];
  if (east - west > 180) {
    // The shorter way round: the largest gap between neighbouring longitudes is the part not covered.
    const ordered = [...new Set(lonDeg)].sort((a, b) => a - b);
    let widest = 0;
    const gap = (i: number) => ordered[i + 1]! - ordered[i]!;
    for (let i = 1; i < ordered.length - 1; i++) if (gap(i) > gap(widest)) widest = i;
    if (gap(widest) > 360 - (east - west)) [west, east] = [ordered[widest + 1]!, ordered[widest]!];
  }
  return degreeTexts([least(latDeg), west, most(latDeg), east]) as [string, string, string, string];
}
