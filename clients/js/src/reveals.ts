/**
 * What one report gives away: epsilon = beta + max |log Z(x) - log Z(x')| / d(x, x') <= 2 beta for every c, and how well
 * somebody can tell two near cells apart, (1 + total variation)/2. Same numbers as `sfumato.collect.client.reveals`.
 */
import type { Grid } from "./draw.js";

export interface Reveals {
  readonly epsilonPerKm: number;
  readonly twoBetaPerKm: number;
  readonly exact: boolean;
  readonly twoCellSuccess: number;
  readonly twoCellWithinM: number;
  readonly twoCellExact: boolean;
}

export const LARGEST_EXACT = 16384;
const LARGEST_PAIR_WORK = 1e8;
const NO_SCALE = 1e6; // at a pole or around the earth nothing per km of the ground can be said

function kernelTable(grid: Grid, beta: number): Float64Array {
  const table = new Float64Array(grid.rows * grid.columns);
  for (let i = 0, y = 0; i < grid.rows; i++)
    for (let j = 0; j < grid.columns; j++, y++) {
      const north = i * grid.cell_height;
      const east = j * grid.cell_width;
      table[y] = Math.exp(-beta * Math.sqrt(north * north + east * east));
    }
  return table;
}

/** P(. | x) before division by Z, and Z itself. */
function row(grid: Grid, c: ArrayLike<number>, table: Float64Array, x: number, into: Float64Array): number {
  const { rows, columns } = grid;
  const r = Math.floor(x / columns);
  const s = x - r * columns;
  let z = 0;
  for (let i = 0, y = 0; i < rows; i++) {
    const at = Math.abs(i - r) * columns;
    for (let j = 0; j < columns; j++, y++) z += into[y] = table[at + Math.abs(j - s)]! * c[y]!;
  }
  return z;
}

/** Metres of one degree north and east on WGS84. */
export function metresPerDegree(latDeg: number): [number, number] {
  const f = 1 / 298.257223563;
  const e2 = f * (2 - f);
  const degree = Math.PI / 180;
  const sine = Math.sin(latDeg * degree);
  const w = Math.sqrt(1 - e2 * sine * sine);
  return [(degree * 6378137 * (1 - e2)) / w ** 3, ((degree * 6378137) / w) * Math.cos(latDeg * degree)];
}

/**
 * The most by which a distance between centres is longer in the grid's plane than on the ground; 1 below 2 %. East-west
 * lengths shrink towards the poles, and the shortest way between two places of the outermost row bulges beyond it.
 */
export function groundStretch(grid: Grid): number {
  const { rows, columns, cell_height_deg: tall, cell_width_deg: wide } = grid;
  const degree = Math.PI / 180;
  const lines = [grid.north_deg - tall / 2, grid.north_deg - (rows - 0.5) * tall] as const;
  const apart = (columns - 1) * wide;
  const farthest = Math.max(...lines.map(Math.abs));
  if (apart >= 180 || farthest >= 90) return NO_SCALE;
  const bulge = Math.atan(Math.tan(farthest * degree) / Math.cos((apart / 2) * degree)) / degree;
  const nearest = lines[1] < 0 && lines[0] > 0 ? 0 : Math.min(...lines.map(Math.abs));
  const across = columns > 1 ? grid.cell_width / wide / metresPerDegree(bulge)[1] : 1;
  const along = rows > 1 ? grid.cell_height / tall / metresPerDegree(nearest)[0] : 1;
  const most = Math.max(across, along);
  return most > 1.02 ? Math.min(most, NO_SCALE) : 1;
}

export function reveals(grid: Grid, c: ArrayLike<number>, betaPerM: number, withinM = 1000): Reveals {
  const { rows, columns } = grid;
  const cells = rows * columns;
  const bound = 2 * betaPerM;
  const exact = cells <= LARGEST_EXACT;
  const within = Math.max(withinM, rows > 1 ? grid.cell_height : 0, columns > 1 ? grid.cell_width : 0);
  const distance = (down: number, right: number) => Math.hypot(down * grid.cell_height, right * grid.cell_width);
  const offsets: [number, number, number][] = [];
  for (let down = 0; exact && down < rows; down++)
    for (let right = 1 - columns; right < columns; right++)
      if (down > 0 || right > 0) offsets.push([distance(down, right), down, right]);
  offsets.sort((a, b) => a[0] - b[0]);
  const near = offsets.filter(([d]) => d <= within);
  const twoCellExact = exact && near.length * cells * cells <= LARGEST_PAIR_WORK;
  let epsilon = cells > 1 ? bound : 0; // a report of the only cell there is tells nothing
  let success = 0.5;
  if (exact && cells > 1) {
    const table = kernelTable(grid, betaPerM);
    const z = new Float64Array(cells);
    const here = new Float64Array(cells);
    for (let x = 0; x < cells; x++) z[x] = row(grid, c, table, x, here);
    const logZ = z.map(Math.log);
    const spread = logZ.reduce((a, b) => Math.max(a, b)) - logZ.reduce((a, b) => Math.min(a, b));
    let slope = 0;
    for (const [d, down, right] of offsets) {
      if (spread <= slope * d) break;
      for (let i = 0; i + down < rows; i++)
        for (let j = Math.max(0, -right); j < columns - Math.max(0, right); j++) {
          const x = i * columns + j;
          slope = Math.max(slope, Math.abs(logZ[x]! - logZ[x + down * columns + right]!) / d);
        }
    }
    epsilon = Math.min(bound, betaPerM + slope);
    if (twoCellExact) {
      const there = new Float64Array(cells);
      let worst = 0;
      for (let x = 0; x < cells; x++) {
        row(grid, c, table, x, here);
        const i = Math.floor(x / columns);
        const j = x - i * columns;
        for (const [, down, right] of near) {
          if (i + down >= rows || j + right < 0 || j + right >= columns) continue;
          const other = x + down * columns + right;
          row(grid, c, table, other, there);
          let sum = 0;
          for (let y = 0; y < cells; y++) sum += Math.abs(here[y]! / z[x]! - there[y]! / z[other]!);
          worst = Math.max(worst, sum / 2);
        }
      }
      success = Math.min(1, 0.5 * (1 + worst));
    }
  }
  if (!twoCellExact && cells > 1) success = 1 / (1 + Math.exp(-epsilon * within));
  return {
    epsilonPerKm: 1000 * groundStretch(grid) * epsilon,
    twoBetaPerKm: 1000 * groundStretch(grid) * bound,
    exact,
    twoCellSuccess: success,
    twoCellWithinM: within,
    twoCellExact,
  };
}
