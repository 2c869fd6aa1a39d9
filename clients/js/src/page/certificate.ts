/**
 * The certificate of what this page made. No number and no sentence is written here: Python writes both for every choice
 * that the page offers (`scripts/page_table.py`), and the page fills in how many points there are and what the files' hashes
 * are, and seals it. What is not in the table cannot be certified, and is not offered.
 */
import { SfumatoError } from "../errors.js";
import { canonicalJson, Digits, type Fields, indentedJson, type Json, parseJson, rint } from "./json.js";
import { hexOf, joined, sha256, utf8 } from "./sha256.js";
import type { Track } from "./track.js";

const SEAL = "certificate_sha256";

/** One choice of blur: what is drawn, what it promises in words, and the certificate's texts without their facts. */
export interface Choice {
  readonly level: string;
  readonly prior_class: string;
  readonly noise_m: number;
  readonly odds: number;
  readonly headline: string;
  /** A trace certificate for one blurred file; times are rounded down to the second. */
  readonly one: string;
  /** The same for several files, or for files with places cut out: it stands in an archive's certificate. */
  readonly several: string;
}

export interface PageTable {
  readonly version: string;
  readonly radius_m: number;
  readonly choices: readonly Choice[];
  readonly ladders: Readonly<Record<string, import("../live.js").Ladder>>;
  /** Archive certificates: places cut out, or not. */
  readonly hidden: string;
  readonly whole: string;
  readonly not_covered: readonly string[];
}

/** A file of the release: its name, its bytes, and what is in it. */
export interface ReleasedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly track: Track;
}

/** SHA-256 over milliseconds and 1e-7 degrees, the same for every format (`Released.digest` in Python). */
export function contentSha256(track: Track): string {
  const count = track.micros.length;
  const view = new DataView(new ArrayBuffer(24 * count));
  const put = (place: number, value: number) => {
    view.setUint32(8 * place, ((value % 2 ** 32) + 2 ** 32) % 2 ** 32, true);
    view.setInt32(8 * place + 4, Math.floor(value / 2 ** 32), true);
  };
  for (let i = 0; i < count; i++) {
    put(i, rint(track.micros[i]! / 1000));
    put(count + i, rint(track.latDeg[i]! * 1e7));
    put(2 * count + i, rint(track.lonDeg[i]! * 1e7));
  }
  const head = utf8(`sfumato release 1\0[null, ${count}]`);
  return hexOf(sha256(joined(head, new Uint8Array(view.buffer))));
}

function opened(text: string): Fields {
  const found = parseJson(text, "table of this page");
  if (!(found instanceof Map)) throw new SfumatoError("The page's table is damaged.", "Get the page again.");
  return found;
}

/** The body with the hash of its canonical text at the end. */
function sealed(body: Fields): Fields {
  return new Map<string, Json>([...body, [SEAL, hexOf(sha256(utf8(canonicalJson(body))))]]);
}

const whole = (value: number) => new Digits(String(value));
const written = (document: Fields) => `${indentedJson(document, { ascii: false })}\n`;

/** The certificate of one blurred file: `sfumato verify certificate.json --release file`. */
export function traceCertificate(choice: Choice, file: ReleasedFile): string {
  const body = opened(choice.one);
  body.set("points", whole(file.track.micros.length));
  const release: Fields = new Map<string, Json>([
    ["content_sha256", contentSha256(file.track)],
    ["file_sha256", hexOf(sha256(file.bytes))],
    ["file_bytes", whole(file.bytes.length)],
  ]);
  return written(sealed(body.set("release", release)));
}

/** The certificate of a folder: `sfumato verify certificate.json --release shared/`. `choice` is null without blur. */
export function archiveCertificate(
  table: PageTable,
  choice: Choice | null,
  files: readonly ReleasedFile[],
  options: { hidden: boolean },
): string {
  const named = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  const body = opened(options.hidden ? table.hidden : table.whole);
  if (choice !== null) {
    const contents = named.map(({ track }) => `${track.micros.length} ${contentSha256(track)}\n`).join("");
    const noise = opened(choice.several);
    noise.set("points", whole(named.reduce((sum, { track }) => sum + track.micros.length, 0)));
    const digest = hexOf(sha256(utf8(`sfumato released files 1\0${contents}`)));
    noise.set("release", new Map<string, Json>([["content_sha256", digest]]));
    body.set("noise", sealed(noise));
  }
  body.set(
    "files",
    named.map(
      ({ name, bytes }) =>
        new Map<string, Json>([
          ["name", name],
          ["sha256", hexOf(sha256(bytes))],
        ]),
    ),
  );
  return written(sealed(body));
}
