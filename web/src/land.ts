/** The coastline that the build packs (Natural Earth): rings of hundredths of a degree, each number a step from the last. */
import steps from "virtual:land";

export interface Ring {
  readonly lon: Float64Array;
  readonly lat: Float64Array;
  readonly box: readonly [number, number, number, number];
}

export const RINGS: readonly Ring[] = steps.map((ring) => {
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
