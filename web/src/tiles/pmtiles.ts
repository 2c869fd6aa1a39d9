/**
 * Tiles out of one PMTiles file (version 3), read by ranges: a header, directories of (tile, offset, length), tiles.
 * What is asked for depends on the rectangle alone, never on what somebody looks at: everybody asks for the same bytes.
 */
import { Compression, type Entry, findTile, SharedPromiseCache, TileType, zxyToTileId } from "pmtiles";

export interface Tile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly bytes: Uint8Array;
}
export interface Archive {
  readonly kind: "vector" | "raster";
  readonly tiles: readonly Tile[];
}
/** Where tiles come from. */
export interface Source {
  /** What it covers, where it says so. */
  readonly extent: Bounds | null;
  /** The tiles over these bounds, at the deepest zoom at which they are few and small enough to ask for all of them. */
  over(bounds: Bounds): Promise<Archive>;
}
export type Bounds = readonly [west: number, south: number, east: number, north: number];

const MOST_TILES = 48;
const MOST_BYTES = 6_000_000;
const GAP = 16_384;

async function unzipped(bytes: Uint8Array, zipped: boolean): Promise<Uint8Array> {
  if (!zipped) return bytes;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function isZipped(packed: Compression): boolean {
  if (packed !== Compression.None && packed !== Compression.Gzip)
    throw new Error("The PMTiles file is packed in a way no browser unpacks; use gzip.");
  return packed === Compression.Gzip;
}

/** The tiles over a rectangle at one zoom. */
export function covering([west, south, east, north]: Bounds, z: number): [number, number][] {
  const side = 2 ** z;
  const row = (lat: number) => {
    const sine = Math.sin((Math.max(-85, Math.min(85, lat)) * Math.PI) / 180);
    return Math.min(
      side - 1,
      Math.max(0, Math.floor(side * (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)))),
    );
  };
  const column = (lon: number) => Math.floor((side * (lon + 180)) / 360);
  const found: [number, number][] = [];
  for (let y = row(north); y <= row(south); y++)
    for (let x = column(west); x <= column(east); x++) found.push([((x % side) + side) % side, y]);
  return found;
}

export async function bytesOf(address: string, from: number, length: number): Promise<Uint8Array> {
  const range = { Range: `bytes=${from}-${from + length - 1}` };
  const reply = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer", headers: range });
  if (reply.status !== 206) throw new Error(`The tiles answered ${reply.status}.`);
  return new Uint8Array(await reply.arrayBuffer());
}

/** One PMTiles file; its header and directories are read once. */
export async function archive(address: string): Promise<Source> {
  const file = {
    getKey: () => address,
    getBytes: async (from: number, length: number) => ({
      data: (await bytesOf(address, from, length)).buffer as ArrayBuffer,
    }),
  };
  const read = new SharedPromiseCache(1000, false, async (bytes, packed) => {
    return (await unzipped(new Uint8Array(bytes), isZipped(packed))).buffer as ArrayBuffer;
  });
  const about = await read.getHeader(file);
  const tilesZipped = isZipped(about.tileCompression);
  const find = async (id: number): Promise<Entry | undefined> => {
    let [from, length] = [about.rootDirectoryOffset, about.rootDirectoryLength];
    for (let depth = 0; depth < 4; depth++) {
      const found = findTile(await read.getDirectory(file, from, length, about), id);
      if (found === null || found.runLength > 0) return found ?? undefined;
      [from, length] = [about.leafDirectoryOffset + found.offset, found.length];
    }
    return undefined;
  };
  const kind = about.tileType === TileType.Mvt ? "vector" : "raster";
  const over = async (bounds: Bounds): Promise<Archive> => {
    for (let z = about.maxZoom; z >= about.minZoom; z--) {
      const places = covering(bounds, z);
      if (places.length > MOST_TILES) continue;
      const found = (
        await Promise.all(places.map(async ([x, y]) => ({ x, y, entry: await find(zxyToTileId(z, x, y)) })))
      ).flatMap(({ x, y, entry }) => (entry ? [{ x, y, ...entry }] : []));
      if (found.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES && z > about.minZoom) continue;
      const ordered = found.sort((one, other) => one.offset - other.offset);
      const tiles: Tile[] = [];
      for (let begin = 0; begin < ordered.length; ) {
        // Neighbours in the file come in one request.
        let [end, until] = [begin + 1, ordered[begin]!.offset + ordered[begin]!.length];
        for (; end < ordered.length && ordered[end]!.offset <= until + GAP; end++)
          until = Math.max(until, ordered[end]!.offset + ordered[end]!.length);
        const start = ordered[begin]!.offset;
        const part = await bytesOf(address, about.tileDataOffset + start, until - start);
        for (const { x, y, offset, length } of ordered.slice(begin, end))
          tiles.push({
            z,
            x,
            y,
            bytes: await unzipped(part.slice(offset - start, offset - start + length), tilesZipped),
          });
        begin = end;
      }
      return { kind, tiles };
    }
    return { kind, tiles: [] };
  };
  return { extent: [about.minLon, about.minLat, about.maxLon, about.maxLat], over };
}

/** The same from a server of tiles behind this site's own address, such as /streets/{z}/{x}/{y}.pbf. */
export function served(template: string, deepest = 14): Source {
  const kind = /\.(png|jpe?g|webp)$/.test(template) ? "raster" : "vector";
  const tile = async (z: number, x: number, y: number): Promise<Tile[]> => {
    const address = template.replace("{z}", String(z)).replace("{x}", String(x)).replace("{y}", String(y));
    const reply = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!reply.ok || reply.status === 204) return [];
    const bytes = new Uint8Array(await reply.arrayBuffer());
    return [{ z, x, y, bytes: await unzipped(bytes, bytes[0] === 0x1f && bytes[1] === 0x8b) }];
  };
  const over = async (bounds: Bounds): Promise<Archive> => {
    let z = deepest;
    while (z > 0 && covering(bounds, z).length > MOST_TILES) z -= 1;
    const tiles = await Promise.all(covering(bounds, z).map(([x, y]) => tile(z, x, y)));
    return { kind, tiles: tiles.flat() };
  };
  return { extent: null, over };
}
