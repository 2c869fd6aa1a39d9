/**
 * Draw the report of one cell from 64-bit words, exactly as `sfumato.collect.client.exact_draw` does in Python, to the last bit.
 *
 * -beta d = k ln 2 + r; the weight of a cell is [c p(r)] 2^k with p the degree-13 Taylor sum of exp and k kept apart as
 * an integer (the log domain), so nothing underflows. Only +, -, *, floor and sqrt are used, which IEEE 754 defines to
 * the last bit. The weights are turned into integers W = weight * 2^1200; 20 words make U, and the report is the first
 * cell whose cumulative W exceeds floor(U * sum(W) / 2^1280). Same words and same passes whatever the place.
 */
import type { GridFields } from "./api.js";
import { must, Refused } from "./errors.js";

export type Grid = Readonly<GridFields>;

export interface Weights {
  readonly v: Float64Array;
  readonly k: Int32Array;
}

export const WORDS_PER_REPORT = 20;
const BITS = BigInt(64 * WORDS_PER_REPORT);
const SHIFT = 1200;
const LARGEST_EXPONENT = 700;
const LOG2_E = 1.4426950408889634;
const LN2_HIGH = 6.9314718036912381649e-1;
const LN2_LOW = 1.90821492927058770002e-10;
const INVERSE_FACTORIALS: number[] = [];
for (let i = 0, f = 1; i < 14; i++, f *= i) INVERSE_FACTORIALS.push(1 / f);

/** Refuse a channel whose smallest weight could be lost: beta times the diagonal beyond 700 nats. */
export function checkRange(grid: Grid, betaPerM: number): void {
  const diagonal = Math.hypot((grid.rows - 1) * grid.cell_height, (grid.columns - 1) * grid.cell_width);
  must(betaPerM * diagonal <= LARGEST_EXPONENT, "beta times the grid's diagonal is too large to be drawn exactly.");
}

/** The weight of every report from `cell`, as v * 2^k. */
export function weights(grid: Grid, c: ArrayLike<number>, cell: number, betaPerM: number): Weights {
  const row = Math.floor(cell / grid.columns);
  const column = cell - row * grid.columns;
  const v = new Float64Array(c.length);
  const k = new Int32Array(c.length);
  for (let y = 0, i = 0; i < grid.rows; i++) {
    const north = (i - row) * grid.cell_height;
    for (let j = 0; j < grid.columns; j++, y++) {
      const east = (j - column) * grid.cell_width;
      const exponent = -(betaPerM * Math.sqrt(north * north + east * east));
      const whole = Math.floor(exponent * LOG2_E + 0.5);
      const r = exponent - whole * LN2_HIGH - whole * LN2_LOW;
      let series = INVERSE_FACTORIALS[13]!;
      for (let t = 12; t >= 0; t--) series = series * r + INVERSE_FACTORIALS[t]!;
      v[y] = c[y]! * series;
      k[y] = whole;
    }
  }
  return { v, k };
}

/** The report that these 20 words draw: a pure function, used by the golden tests; not exported by the package. */
export function cellFromWords(weighted: Weights, words: BigUint64Array): number {
  must(words.length === WORDS_PER_REPORT, "A report takes 20 words.");
  let uniform = 0n;
  for (const word of words) uniform = (uniform << 64n) | word;
  const bits = new BigUint64Array(weighted.v.buffer, weighted.v.byteOffset, weighted.v.length);
  const cumulative: bigint[] = new Array<bigint>(bits.length);
  let total = 0n;
  for (let y = 0; y < bits.length; y++) {
    const exponent = Number(bits[y]! >> 52n); // v is positive and normal
    const shift = exponent - 1075 + weighted.k[y]! + SHIFT;
    must(exponent > 0 && shift >= 0, "A weight of the channel is too small to be drawn exactly.");
    total += ((bits[y]! & 0xfffffffffffffn) | 0x10000000000000n) << BigInt(shift);
    cumulative[y] = total;
  }
  const threshold = (uniform * total) >> BITS;
  let cell = 0;
  for (const reached of cumulative) cell += reached <= threshold ? 1 : 0;
  return cell;
}

/** The distribution that cellFromWords draws from, as doubles. */
export function probabilities(weighted: Weights): Float64Array {
  const top = weighted.k.reduce((a, b) => Math.max(a, b));
  const linear = weighted.v.map((v, y) => v * 2 ** (weighted.k[y]! - top));
  const total = linear.reduce((a, b) => a + b);
  return linear.map((p) => p / total);
}

/** The cell a place lies in; a place outside belongs to the nearest cell. Same rule as `Grid.locate(snap=True)`. */
export function locate(grid: Grid, latDeg: number, lonDeg: number): number {
  must(Number.isFinite(latDeg) && Number.isFinite(lonDeg) && Math.abs(latDeg) <= 90, "The place is not on the globe.");
  let east = (lonDeg - grid.west_deg) % 360;
  if (east < 0) east += 360;
  const row = Math.min(Math.max(Math.floor((grid.north_deg - latDeg) / grid.cell_height_deg), 0), grid.rows - 1);
  let column = Math.floor(east / grid.cell_width_deg);
  const extent = grid.columns * grid.cell_width_deg;
  if (column === grid.columns && east <= extent * (1 + 1e-15)) column = grid.columns - 1;
  if (column >= grid.columns) column = 360 - east < east - extent ? 0 : grid.columns - 1;
  return row * grid.columns + column;
}

/** Words from the platform's CSPRNG, at most 8192 at a time. There is no other source and no seed. */
export function systemWords(count: number): BigUint64Array {
  return crypto.getRandomValues(new BigUint64Array(count));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function randomHex(bytes: number): string {
  return hex(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** The bytes of base64url text. */
export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64url.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
  } catch {
    throw new Refused("A key or signature is not base64url.", "Do not take part.");
  }
}
