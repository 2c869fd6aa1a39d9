/** The coastline that the build packs (Natural Earth): rings of hundredths of a degree, each number a step from the last, in letters. */
import packed, { LETTERS } from "virtual:land";

export interface Ring {
  readonly lon: Float64Array;
  readonly lat: Float64Array;
  readonly box: readonly [number, number, number, number];
}

const HALF = Math.floor(LETTERS.length / 2);

/** The numbers of a ring. */
function steps(ring: string): number[] {
  const found: number[] = [];
  let [value, place] = [0, 1];
  for (const letter of ring) {
    const digit = LETTERS.indexOf(letter);
    value += place * (digit % HALF);
    place *= HALF;
    if (digit >= HALF) continue;
    found.push(value % 2 ? -(value + 1) / 2 : value / 2);
    [value, place] = [0, 1];
  }
  return found;
}

export const RINGS: readonly Ring[] = packed.split(" ").map((one) => {
  const ring = steps(one);
  const [lon, lat] = [new Float64Array(ring.length / 2), new Float64Array(ring.length / 2)];
  let [x, y] = [0, 0];
  for (let i = 0; i < lon.length; i++) {
    x += ring[2 * i]!;
    y += ring[2 * i + 1]!;
    [lon[i], lat[i]] = [x / 100, y / 100];
  }
  const least = (values: Float64Array) => values.reduce((a, b) => Math.min(a, b));
  const most = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b));
  return { lon, lat, box: [least(lon), least(lat), most(lon), most(lat)] };
});
