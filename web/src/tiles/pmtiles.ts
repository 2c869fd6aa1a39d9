/**
 * Tiles out of one PMTiles file (version 3), read by ranges: a header, directories of (tile, offset, length), tiles.
 * What is asked for depends on the rectangle alone, never on what somebody looks at: everybody asks for the same bytes.
 */
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

const HEADER = 127;
const FIRST_BYTES = 16_384;
const MOST_TILES = 48;
const MOST_BYTES = 6_000_000;
const GAP = 16_384;

interface Entry {
  readonly id: number;
  readonly offset: number;
  readonly length: number;
  readonly run: number;
}
interface Header {
  readonly root: [number, number];
  readonly leaves: number;
  readonly data: number;
  readonly directoriesZipped: boolean;
  readonly tilesZipped: boolean;
  readonly kind: number;
  readonly minZoom: number;
  readonly maxZoom: number;
  readonly extent: Bounds;
}

async function unzipped(bytes: Uint8Array, zipped: boolean): Promise<Uint8Array> {
  if (!zipped) return bytes;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function header(bytes: Uint8Array): Header {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = new TextDecoder().decode(bytes.subarray(0, 7));
  if (bytes.length < HEADER || magic !== "PMTiles" || bytes[7] !== 3)
    throw new Error("This is no PMTiles file, version 3.");
  const long = (at: number) => Number(view.getBigUint64(at, true));
  const zipped = (at: number) => {
    if (bytes[at] !== 1 && bytes[at] !== 2)
      throw new Error("The PMTiles file is packed in a way no browser unpacks; use gzip.");
    return bytes[at] === 2;
  };
  return {
    root: [long(8), long(16)],
    leaves: long(40),
    data: long(56),
    directoriesZipped: zipped(97),
    tilesZipped: zipped(98),
    kind: bytes[99]!,
    minZoom: bytes[100]!,
    maxZoom: bytes[101]!,
    extent: [102, 106, 110, 114].map((at) => view.getInt32(at, true) / 1e7) as unknown as Bounds,
  };
}

function directory(bytes: Uint8Array): Entry[] {
  let at = 0;
  const number = () => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  const count = number();
  const each = () => Array.from({ length: count }, number);
  let last = 0;
  const ids = each().map((step) => {
    last += step;
    return last;
  });
  const [runs, lengths, offsets] = [each(), each(), each()];
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    const before = entries[i - 1];
    const offset = offsets[i] === 0 && before ? before.offset + before.length : offsets[i]! - 1;
    entries.push({ id: ids[i]!, offset, length: lengths[i]!, run: runs[i]! });
  }
  return entries;
}

/** A tile's number along the Hilbert curve, after all tiles of lower zooms. */
export function tileId(z: number, x: number, y: number): number {
  let [id, a, b] = [(4 ** z - 1) / 3, x, y];
  for (let side = 2 ** (z - 1); side >= 1; side /= 2) {
    const [right, down] = [a & side ? 1 : 0, b & side ? 1 : 0];
    id += side * side * ((3 * right) ^ down);
    if (down === 0) {
      if (right === 1) [a, b] = [side - 1 - (a & (side - 1)), side - 1 - (b & (side - 1))];
      [a, b] = [b, a];
    }
  }
  return id;
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

/** One PMTiles file; its header is read once. */
export async function archive(address: string): Promise<Source> {
  const first = await bytesOf(address, 0, FIRST_BYTES);
  const about = header(first);
  const read = async (from: number, length: number) =>
    from + length <= first.length ? first.subarray(from, from + length) : bytesOf(address, from, length);
  const entriesAt = async (from: number, length: number) =>
    directory(await unzipped(await read(from, length), about.directoriesZipped));
  const root = await entriesAt(...about.root);
  const leaves = new Map<number, Promise<Entry[]>>();
  const find = async (id: number): Promise<Entry | undefined> => {
    let entries = root;
    for (let depth = 0; depth < 4; depth++) {
      const found = entries.findLast((entry) => entry.id <= id);
      if (found === undefined) return undefined;
      if (found.run > 0) return id < found.id + found.run ? found : undefined;
      const leaf = leaves.get(found.offset) ?? entriesAt(about.leaves + found.offset, found.length);
      leaves.set(found.offset, leaf);
      entries = await leaf;
    }
    return undefined;
  };
  const kind = about.kind === 1 ? "vector" : "raster";
  const over = async (bounds: Bounds): Promise<Archive> => {
    for (let z = about.maxZoom; z >= about.minZoom; z--) {
      const places = covering(bounds, z);
      if (places.length > MOST_TILES) continue;
      const found = (
        await Promise.all(places.map(async ([x, y]) => ({ x, y, entry: await find(tileId(z, x, y)) })))
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
        const part = await bytesOf(address, about.data + start, until - start);
        for (const { x, y, offset, length } of ordered.slice(begin, end))
          tiles.push({
            z,
            x,
            y,
            bytes: await unzipped(part.slice(offset - start, offset - start + length), about.tilesZipped),
          });
        begin = end;
      }
      return { kind, tiles };
    }
    return { kind, tiles: [] };
  };
  return { extent: about.extent, over };
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
