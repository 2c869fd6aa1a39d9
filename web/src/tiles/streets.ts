/**
 * Streets under the areas, from the operator's own tiles: Protomaps' and OpenMapTiles' names for water, green, roads and
 * places. All tiles of the campaign's rectangle are asked for at once, so that the asking says nothing about anybody.
 */
import { type Archive, archive, type Bounds, served, type Tile } from "./pmtiles.js";
import { type Feature, features } from "./vector.js";

export interface Name {
  readonly lat: number;
  readonly lon: number;
  readonly text: string;
  readonly rank: number;
}

/** Paths in degrees from `origin`, x to the east and y to the north. */
export interface Streets {
  readonly origin: readonly [lat: number, lon: number];
  readonly water: Path2D;
  readonly rivers: Path2D;
  readonly green: Path2D;
  /** Motorways and main roads, larger streets, streets, paths. */
  readonly roads: readonly [Path2D, Path2D, Path2D, Path2D];
  readonly names: readonly Name[];
  readonly pictures: readonly { readonly picture: ImageBitmap; readonly bounds: Bounds }[];
}

const WATER = new Set(["water", "ocean", "lake", "waterway", "physical_line"]);
const GREEN = /park|wood|forest|grass|garden|meadow|nature|cemetery|scrub|pitch|golf/;
const ROADS = new Set(["roads", "transportation", "road", "streets"]);
const MAIN = /motorway|highway|trunk|primary|major/;
const MIDDLE = /secondary|tertiary|medium/;
const MINOR = /path|track|service|footway|steps|pedestrian|cycleway|other/;
const LAYERS = new Set([...WATER, ...ROADS, "landuse", "landcover", "park", "place", "places"]);
const RANKS = ["city", "town", "borough", "suburb", "quarter", "locality", "neighbourhood", "village"];

function add(path: Path2D, feature: Feature, [lat, lon]: readonly [number, number]): void {
  for (const part of feature.parts)
    for (let i = 0; i + 1 < part.length; i += 2) {
      const [x, y] = [part[i]! - lon, part[i + 1]! - lat];
      if (i) path.lineTo(x, y);
      else path.moveTo(x, y);
    }
}

function boundsOf({ z, x, y }: Tile): Bounds {
  const side = 2 ** z;
  const lat = (row: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / side))) * 180) / Math.PI;
  return [(360 * x) / side - 180, lat(y + 1), (360 * (x + 1)) / side - 180, lat(y)];
}

function drawn(found: Archive, origin: readonly [number, number]): Omit<Streets, "pictures"> {
  const [water, rivers, green] = [new Path2D(), new Path2D(), new Path2D()];
  const roads: Streets["roads"] = [new Path2D(), new Path2D(), new Path2D(), new Path2D()];
  const names = new Map<string, Name>();
  for (const tile of found.tiles)
    for (const feature of features(tile, (layer) => LAYERS.has(layer))) {
      const { layer, type, told } = feature;
      const kind = `${told["kind"] ?? ""} ${told["class"] ?? ""} ${told["kind_detail"] ?? ""}`;
      if (WATER.has(layer)) add(type === 3 ? water : rivers, feature, origin);
      else if (ROADS.has(layer) && type === 2)
        add(roads[MAIN.test(kind) ? 0 : MIDDLE.test(kind) ? 1 : MINOR.test(kind) ? 3 : 2], feature, origin);
      else if (type === 3 && (layer === "park" || GREEN.test(kind))) add(green, feature, origin);
      else if (layer.startsWith("place") && type === 1 && typeof told["name"] === "string") {
        const rank = RANKS.findIndex((one) => kind.includes(one));
        const [lon, lat] = feature.parts[0] ?? [];
        const text = told["name"];
        if (rank >= 0 && lon !== undefined && lat !== undefined && !names.has(text))
          names.set(text, { lat, lon, text, rank });
      }
    }
  const ordered = [...names.values()].sort((one, other) => one.rank - other.rank);
  return { origin, water, rivers, green, roads, names: ordered };
}

/** The streets within these bounds, or null where there are none to be had: the map is a map without them. */
export async function streets(address: string, bounds: Bounds): Promise<Streets | null> {
  if (address === "") return null;
  try {
    const found = await (address.includes("{z}") ? served(address, bounds) : archive(address, bounds));
    const origin = [(bounds[1] + bounds[3]) / 2, (bounds[0] + bounds[2]) / 2] as const;
    if (found.kind === "vector") return { ...drawn(found, origin), pictures: [] };
    const pictures = await Promise.all(
      found.tiles.map(async (tile) => ({
        picture: await createImageBitmap(new Blob([tile.bytes as BlobPart])),
        bounds: boundsOf(tile),
      })),
    );
    return { ...drawn({ kind: "raster", tiles: [] }, origin), pictures };
  } catch {
    return null;
  }
}

/** A line of the operator's own, such as the city's boundary, as GeoJSON; null where there is none. */
export async function outline(address: string, origin: readonly [number, number]): Promise<Path2D | null> {
  if (address === "") return null;
  const path = new Path2D();
  const walk = (value: unknown): void => {
    if (!Array.isArray(value)) return;
    if (Array.isArray(value[0]) && typeof value[0][0] === "number")
      add(
        path,
        { layer: "", type: 2, told: {}, parts: [Float64Array.from(value.flatMap(([x, y]) => [x, y]))] },
        origin,
      );
    else value.forEach(walk);
  };
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const one = value as { features?: unknown[]; geometries?: unknown[]; geometry?: unknown; coordinates?: unknown };
    for (const each of one.features ?? one.geometries ?? []) look(each);
    look(one.geometry);
    walk(one.coordinates);
  };
  try {
    const reply = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!reply.ok) return null;
    look(await reply.json());
    return path;
  } catch {
    return null;
  }
}
