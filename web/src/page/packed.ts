/** ZIP and gzip unpacked in the page, one file at a time, within the limits of the command line on how much may come out. */
import { SfumatoError } from "../../../clients/js/src/errors.js";

const LARGEST = 512 << 20;
const MOST_GROWTH = 200;
const damaged = (what: string) =>
  new SfumatoError(`The ${what} is damaged or packed in an unknown way.`, "Unpack it, and drop what was in it.");

export interface Packed {
  readonly name: string;
  readonly bytes: () => Promise<Uint8Array>;
}

async function inflated(packed: Uint8Array, how: CompressionFormat, what: string): Promise<Uint8Array> {
  const most = Math.min(LARGEST, MOST_GROWTH * packed.length + (1 << 20));
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    const reader = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream(how)).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length;
      parts.push(next.value);
      if (size > most) {
        await reader.cancel();
        break;
      }
    }
  } catch {
    throw damaged(what);
  }
  if (size > most)
    throw new SfumatoError(`The ${what} unpacks to two hundred times its size, or more.`, "Unpack it and look at it.");
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const isGzip = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b;
export const isZip = (bytes: Uint8Array) =>
  bytes[0] === 0x50 && bytes[1] === 0x4b && (bytes[2] === 3 || bytes[2] === 5);
export const gunzipped = (bytes: Uint8Array) => inflated(bytes, "gzip", "gzip file");

/** The files of a ZIP by its directory at the end; folders are none. */
export function entriesOf(zip: Uint8Array): Packed[] {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  let end = zip.length - 22;
  while (end >= 0 && end > zip.length - 66_000 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw damaged("ZIP");
  const out: Packed[] = [];
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (at + 46 > zip.length || view.getUint32(at, true) !== 0x02014b50) throw damaged("ZIP");
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    const [size, named] = [view.getUint32(at + 20, true), view.getUint16(at + 28, true)];
    const local = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(zip.subarray(at + 46, at + 46 + named));
    at += 46 + named + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (name.endsWith("/")) continue;
    const bytes = async () => {
      if (flags & 1) throw new SfumatoError("It is encrypted.", "Unpack it, and drop what was in it.");
      if (local + 30 > zip.length || view.getUint32(local, true) !== 0x04034b50) throw damaged("ZIP");
      const begin = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      if (begin + size > zip.length) throw damaged("ZIP");
      const packed = zip.subarray(begin, begin + size);
      if (method === 0) return packed;
      if (method !== 8) throw damaged("ZIP");
      return inflated(packed, "deflate-raw", "file");
    };
    out.push({ name, bytes });
  }
  return out;
}
