/** A ZIP of a few files, stored as they are, with one date for all: when a file was made would tell something. */
import { joined, utf8 } from "./sha256.js";

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

export function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = TABLE[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

export function zipped(files: readonly { name: string; bytes: Uint8Array }[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const listing: Uint8Array[] = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const word = utf8(name);
    // version 2.0, UTF-8 names, stored, 2000-01-01 00:00
    const common = new DataView(new ArrayBuffer(26));
    common.setUint16(0, 20, true);
    common.setUint16(2, 0x800, true);
    common.setUint16(8, (20 << 9) | (1 << 5) | 1, true);
    common.setUint32(10, crc32(bytes), true);
    common.setUint32(14, bytes.length, true);
    common.setUint32(18, bytes.length, true);
    common.setUint16(22, word.length, true);
    const shared = new Uint8Array(common.buffer);
    const local = joined(Uint8Array.of(0x50, 0x4b, 3, 4), shared, word, bytes);
    const tail = new DataView(new ArrayBuffer(14));
    tail.setUint32(10, at, true);
    listing.push(joined(Uint8Array.of(0x50, 0x4b, 1, 2, 20, 0), shared, new Uint8Array(tail.buffer), word));
    parts.push(local);
    at += local.length;
  }
  const size = listing.reduce((sum, part) => sum + part.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, at, true);
  return joined(...parts, ...listing, new Uint8Array(end.buffer));
}
