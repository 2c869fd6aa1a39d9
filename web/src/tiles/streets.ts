/**
 * Streets under the areas, from the operator's own tiles: Protomaps' and OpenMapTiles' names for water, green, roads and
 * places. All tiles of a campaign's rectangle are asked for at once, so that the asking says nothing about anybody; only
 * the operator's own map, on which no campaign lies yet, asks for what is looked at.
 */
import { type Archive, archive, type Bounds, type Source, served, type Tile } from "./pmtiles.js";
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
  /** Where the tiles know themselves what is sea and what is land: the coarse coastline says nothing there. */
  readonly covered: readonly Bounds[];
  readonly pictures: readonly { readonly picture: ImageBitmap; readonly bounds: Bounds }[];
}

const WATER = new Set(["water", "ocean", "lake", "waterway", "physical_line"]);
const GREEN = /park|wood|forest|grass|garden|meadow|nature|cemetery|scrub|pitch|golf/;
const ROADS = new Set(["roads", "transportation", "road", "streets"]);
const MAIN = /motorway|highway|trunk|primary|major/;
const MIDDLE = /secondary|tertiary|medium/;
const MINOR = /path|track|service|footway|steps|pedestrian|cycleway|other/;
const LAYERS = new Set([...WATER, ...ROADS, "earth", "landuse", "landcover", "park", "place", "places"]);
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
  let coast = false;
  for (const tile of found.tiles)
    for (const feature of features(tile, (layer) => LAYERS.has(layer))) {
      const { layer, type, told } = feature;
      const kind = `${told["kind"] ?? ""} ${told["class"] ?? ""} ${told["kind_detail"] ?? ""}`;
      coast ||= layer === "earth" || (WATER.has(layer) && /ocean|sea\b/.test(`${layer} ${kind}`));
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
  return { origin, water, rivers, green, roads, names: ordered, covered: coast ? found.tiles.map(boundsOf) : [] };
}

/** Where the operator's tiles are, or null where there are none to be had: the map is a map without them. */
export async function tiles(address: string): Promise<Source | null> {
  if (address === "") return null;
  try {
    return address.includes("{z}") ? served(address) : await archive(address);
  } catch {
    return null;
  }
}

/** The streets within these bounds, or null. */
export async function streets(source: Source | null, bounds: Bounds): Promise<Streets | null> {
  try {
    if (source === null) return null;
    const found = await source.over(bounds);
    if (found.tiles.length === 0) return null;
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

/** A line on the map, in degrees from its own origin, and what it encloses. */
export interface Outline {
  readonly origin: readonly [lat: number, lon: number];
  readonly path: Path2D;
  readonly bounds: Bounds;
}

/** A line of the operator's own, such as the city's boundary, as GeoJSON; null where there is none. */
export async function outline(address: string): Promise<Outline | null> {
  if (address === "") return null;
  const parts: Float64Array[] = [];
  const walk = (value: unknown): void => {
    if (!Array.isArray(value)) return;
    if (Array.isArray(value[0]) && typeof value[0][0] === "number")
      parts.push(Float64Array.from(value.flatMap(([x, y]) => [x, y])));
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
    if (parts.length === 0) return null;
    const bounds: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const part of parts)
      for (let i = 0; i + 1 < part.length; i += 2) {
        bounds[0] = Math.min(bounds[0], part[i]!);
        bounds[1] = Math.min(bounds[1], part[i + 1]!);
        bounds[2] = Math.max(bounds[2], part[i]!);
        bounds[3] = Math.max(bounds[3], part[i + 1]!);
      }
    const origin = [(bounds[1] + bounds[3]) / 2, (bounds[0] + bounds[2]) / 2] as const;
    const path = new Path2D();
    add(path, { layer: "", type: 2, told: {}, parts }, origin);
    return { origin, path, bounds };
  } catch {
    return null;
  }
}
