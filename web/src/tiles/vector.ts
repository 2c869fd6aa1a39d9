/** Mapbox vector tiles, as far as streets, water, green and names need them. */
import { VectorTile } from "@mapbox/vector-tile";
import { PbfReader } from "pbf";
import type { Tile } from "./pmtiles.js";

export interface Feature {
  readonly layer: string;
  readonly type: 1 | 2 | 3;
  /** Points, lines or rings, in degrees: longitude, latitude, longitude, ... */
  readonly parts: readonly Float64Array[];
  readonly told: Readonly<Record<string, string | number | boolean>>;
}

export function features(tile: Tile, wanted: (layer: string) => boolean): Feature[] {
  const side = 2 ** tile.z;
  return Object.entries(new VectorTile(new PbfReader(tile.bytes)).layers).flatMap(([layer, found]) => {
    if (!wanted(layer)) return [];
    const lon = (x: number) => (360 * (tile.x + x / found.extent)) / side - 180;
    const lat = (y: number) =>
      (Math.atan(Math.sinh(Math.PI * (1 - (2 * (tile.y + y / found.extent)) / side))) * 180) / Math.PI;
    return Array.from({ length: found.length }, (_, index) => {
      const one = found.feature(index);
      const parts = one.loadGeometry().map((part) => Float64Array.from(part.flatMap(({ x, y }) => [lon(x), lat(y)])));
      return { layer, type: (one.type || 2) as 1 | 2 | 3, parts, told: one.properties };
    });
  });
}
