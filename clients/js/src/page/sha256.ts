/**
 * SHA-256 and HMAC (FIPS 180-4, RFC 2104). Written out, because a page opened from a file may have no `crypto.subtle`, and
 * because the margins of a zone are a few hundred keyed hashes in a loop. Tested against Node's own.
 */
const ROUND: number[] = [];
const FIRST: number[] = [];
for (let n = 2; ROUND.length < 64; n++) {
  if (ROUND.length && !primes(n)) continue;
  const part = (root: number) => ((root - Math.floor(root)) * 2 ** 32) | 0;
  if (FIRST.length < 8) FIRST.push(part(Math.sqrt(n)));
  ROUND.push(part(Math.cbrt(n)));
}

function primes(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}

export const utf8 = (text: string) => new TextEncoder().encode(text);
export const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function joined(...parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function sha256(message: Uint8Array): Uint8Array {
  const state = Int32Array.from(FIRST);
  const w = new Int32Array(64);
  const tail = new Uint8Array(message.length % 64 < 56 ? 64 : 128);
  const whole = message.length - (message.length % 64);
  tail.set(message.subarray(whole));
  tail[message.length - whole] = 0x80;
  const view = new DataView(tail.buffer);
  view.setUint32(tail.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(tail.length - 4, (message.length << 3) >>> 0);
  const head = new DataView(message.buffer, message.byteOffset, whole);
  for (let at = 0; at < whole; at += 64) block(state, w, head, at);
  for (let at = 0; at < tail.length; at += 64) block(state, w, view, at);
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => void out.setInt32(4 * i, word));
  return new Uint8Array(out.buffer);
}

function block(state: Int32Array, w: Int32Array, data: DataView, at: number): void {
  for (let i = 0; i < 16; i++) w[i] = data.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!;
    const y = w[i - 2]!;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i]! + w[i]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = (state[i]! + word) | 0;
  });
}

export function hmac(key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(
    joined(
      block.map((byte) => byte ^ 0x36),
      message,
    ),
  );
  return sha256(
    joined(
      block.map((byte) => byte ^ 0x5c),
      inner,
    ),
  );
}
