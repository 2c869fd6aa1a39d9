/** Mapbox vector tiles, as far as streets, water, green and names need them: a small reader of their protocol buffers. */
import type { Tile } from "./pmtiles.js";

export interface Feature {
  readonly layer: string;
  readonly type: 1 | 2 | 3;
  /** Points, lines or rings, in degrees: longitude, latitude, longitude, ... */
  readonly parts: readonly Float64Array[];
  readonly told: Readonly<Record<string, string | number | boolean>>;
}

class Reader {
  at: number;
  constructor(
    readonly bytes: Uint8Array,
    begin = 0,
    readonly end = bytes.length,
  ) {
    this.at = begin;
  }

  number(): number {
    let [value, factor] = [0, 1];
    for (;;) {
      if (this.at >= this.end) throw new Error("The tile is cut off.");
      const byte = this.bytes[this.at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  inside(): Reader {
    const length = this.number();
    const part = new Reader(this.bytes, this.at, this.at + length);
    if (part.end > this.end) throw new Error("The tile is cut off.");
    this.at += length;
    return part;
  }

  text(): string {
    return new TextDecoder().decode(this.bytes.subarray(this.at, this.end));
  }

  numbers(): number[] {
    const found = [];
    while (this.at < this.end) found.push(this.number());
    return found;
  }

  fixed(bytes: 4 | 8): number {
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.at, bytes);
    this.at += bytes;
    return bytes === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
  }

  /** Every field: its number, and this reader placed on its value; what `take` does not read is passed over. */
  fields(take: (field: number) => boolean): void {
    while (this.at < this.end) {
      const key = this.number();
      if (take(key >>> 3)) continue;
      if ((key & 7) === 0) this.number();
      else if ((key & 7) === 1) this.at += 8;
      else if ((key & 7) === 2) this.inside();
      else this.at += 4;
    }
  }
}

function told(reader: Reader): string | number | boolean {
  let value: string | number | boolean = "";
  reader.fields((field) => {
    if (field === 1) value = reader.inside().text();
    else if (field === 2) value = reader.fixed(4);
    else if (field === 3) value = reader.fixed(8);
    else if (field === 4 || field === 5) value = reader.number();
    else if (field === 6) value = unsigned(reader.number());
    else if (field === 7) value = reader.number() !== 0;
    else return false;
    return true;
  });
  return value;
}

const unsigned = (value: number) => (value % 2 ? -(value + 1) / 2 : value / 2);

function partsOf(geometry: number[], tile: Tile, extent: number): Float64Array[] {
  const side = 2 ** tile.z;
  const lon = (x: number) => (360 * (tile.x + x / extent)) / side - 180;
  const lat = (y: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * (tile.y + y / extent)) / side))) * 180) / Math.PI;
  const parts: number[][] = [];
  let [x, y, i] = [0, 0, 0];
  while (i < geometry.length) {
    const [command, count] = [geometry[i]! & 7, geometry[i]! >>> 3];
    i += 1;
    if (command === 7) {
      const ring = parts.at(-1);
      if (ring) ring.push(ring[0]!, ring[1]!);
      continue;
    }
    for (let step = 0; step < count; step++, i += 2) {
      x += unsigned(geometry[i] ?? 0);
      y += unsigned(geometry[i + 1] ?? 0);
      if (command === 1) parts.push([]);
      parts.at(-1)?.push(lon(x), lat(y));
    }
  }
  return parts.map((part) => Float64Array.from(part));
}

function featuresOf(layer: Reader, tile: Tile, wanted: (layer: string) => boolean): Feature[] {
  let [name, extent] = ["", 4096];
  const [keys, values, readers] = [[] as string[], [] as (string | number | boolean)[], [] as Reader[]];
  layer.fields((field) => {
    if (field === 1) name = layer.inside().text();
    else if (field === 2) readers.push(layer.inside());
    else if (field === 3) keys.push(layer.inside().text());
    else if (field === 4) values.push(told(layer.inside()));
    else if (field === 5) extent = layer.number();
    else return false;
    return true;
  });
  if (!wanted(name)) return [];
  return readers.map((reader) => {
    let [type, tags, geometry] = [2, [] as number[], [] as number[]];
    reader.fields((field) => {
      if (field === 2) tags = reader.inside().numbers();
      else if (field === 3) type = reader.number();
      else if (field === 4) geometry = reader.inside().numbers();
      else return false;
      return true;
    });
    const told: Record<string, string | number | boolean> = {};
    for (let i = 0; i + 1 < tags.length; i += 2) told[keys[tags[i]!] ?? ""] = values[tags[i + 1]!] ?? "";
    return { layer: name, type: type as 1 | 2 | 3, parts: partsOf(geometry, tile, extent), told };
  });
}

export function features(tile: Tile, wanted: (layer: string) => boolean): Feature[] {
  const reader = new Reader(tile.bytes);
  const found: Feature[] = [];
  reader.fields((field) => {
    if (field !== 3) return false;
    found.push(...featuresOf(reader.inside(), tile, wanted));
    return true;
  });
  return found;
}
