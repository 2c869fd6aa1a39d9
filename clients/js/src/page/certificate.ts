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
const HEART_RATE = "heart_rate";

/** One choice of blur: what is drawn, what it promises in words, and the certificate's texts without their facts. */
export interface Choice {
  readonly level: string;
  readonly prior_class: string;
  readonly noise_m: number;
  readonly odds: number;
  readonly headline: string;
  /** The noise's certificate, which stands in that of the files; and the same where heart rates are kept. */
  readonly noise: string;
  readonly noise_kept: string;
  /** For so many points over so long, no further apart, `sfumato verify` can tell that there is noise; null: not surely. */
  readonly told: Readonly<Record<"points" | "most_points" | "span_s" | "every_s", number>> | null;
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

/** The certificate: `sfumato verify certificate.json --release shared/` (or the one file). `choice` is null without blur. */
export function archiveCertificate(
  table: PageTable,
  choice: Choice | null,
  files: readonly ReleasedFile[],
  options: { hidden: boolean; kept: boolean },
): string {
  const named = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  const body = opened(options.hidden ? table.hidden : table.whole);
  if (options.kept) body.set("kept", [HEART_RATE]);
  if (choice !== null) {
    const contents = named.map(({ track }) => `${track.micros.length} ${contentSha256(track)}\n`).join("");
    const noise = opened(options.kept ? choice.noise_kept : choice.noise);
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
