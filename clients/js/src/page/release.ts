/**
 * From dropped files to what may be shared: places cut out, the rest exact or blurred, names that tell nothing, and a
 * certificate. Before anything can be saved, attackers look at what would be public, with the truth at hand.
 */
import { SfumatoError } from "../errors.js";
import { guessesM } from "./attackers.js";
import { blurred, milliseconds, noisePath } from "./blur.js";
import { archiveCertificate, type Choice, type PageTable, type ReleasedFile } from "./certificate.js";
import { type Gate, less, look, size } from "./gates.js";
import { writeGeoJson } from "./geojson.js";
import { surface } from "./globe.js";
import { writeGpx } from "./gpx.js";
import { refusePositions } from "./heart_rate.js";
import { refuseTwoPeople } from "./one_person.js";
import type { Place, Places } from "./places.js";
import { hmac, joined, sha256, utf8 } from "./sha256.js";
import type { Track } from "./track.js";
import { withhold } from "./withhold.js";

export interface Source {
  readonly name: string;
  readonly format: "gpx" | "geojson";
  readonly track: Track;
}

export interface Release {
  readonly files: readonly ReleasedFile[];
  readonly certificate: string;
  /** Whether this is one blurred file beside its certificate, not a folder. */
  readonly single: boolean;
  /** What each source became, for its owner; null where nothing is left. */
  readonly shown: readonly (Track | null)[];
  readonly leaks: readonly Leak[];
  /** Whether heart rates are in it. */
  readonly kept: boolean;
}

/** What attackers find of one place, in metres from it; null where no published ride comes near its zone. Private. */
export interface Leak {
  readonly name: string;
  readonly attackers: number;
  readonly best: string | null;
  readonly bestM: number | null;
  /** The chance that as many blind guesses in the inner disc come as near. */
  readonly byLuck: number | null;
  readonly withoutRidesM: number;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz234567";

/** 80 bits of HMAC-SHA-256 of the content's hash: a name says nothing of what is not published. */
export function keyedName(key: Uint8Array, content: Uint8Array, ending: string): string {
  const bits = hmac(key, joined(utf8("name "), content)).slice(0, 10);
  let [word, held, count] = ["", 0, 0];
  for (const byte of bits) {
    [held, count] = [(held << 8) | byte, count + 8];
    for (; count >= 5; count -= 5) word += LETTERS[(held >>> (count - 5)) & 31]!;
    held &= (1 << count) - 1;
  }
  return word + ending;
}

const ENDINGS = { gpx: ".gpx", geojson: ".geojson" } as const;
const written = ({ format }: Source, track: Track) => utf8(format === "gpx" ? writeGpx(track) : writeGeoJson(track));

export function release(
  sources: readonly Source[],
  places: Places,
  choice: Choice | null,
  table: PageTable,
  keepsHeartRate = false,
  noise = noisePath,
): Release {
  const hides = places.active.length > 0;
  if (!sources.length) throw new SfumatoError("There is no track yet.", "Add a GPX or GeoJSON file.");
  if (!hides && choice === null)
    throw new SfumatoError("Nothing is protected yet.", "Hide a place, choose a blur, or both.");
  const given = sources.map(({ track }) => (keepsHeartRate ? track : { ...track, heartRate: undefined }));
  const cut = given.map((track) => (hides ? withhold(track, places.zones).track : track));
  let shown: readonly (Track | null)[] = cut;
  const single = !hides && sources.length === 1;
  if (choice !== null) {
    refuseTwoPeople(sources.map(({ track }) => track));
    const times = cut.flatMap((track) => (track === null ? [] : [milliseconds(track)]));
    const moments = function* () {
      for (const part of times) yield* part;
    };
    const path = noise(table.ladders[choice.prior_class]!, choice.noise_m, moments());
    shown = cut.map((track) => (track === null ? null : blurred(track, path)));
    checkMoved(cut, shown, choice);
  }
  for (const track of [...given, ...shown]) if (track) refusePositions(track);
  const kept = shown.some((track) => track?.heartRate?.some((value) => !Number.isNaN(value)));
  const key = hides ? places.derived("names") : crypto.getRandomValues(new Uint8Array(32));
  const files = new Map<string, ReleasedFile>();
  sources.forEach((source, i) => {
    const track = shown[i];
    if (!track) return;
    const bytes = written(source, track);
    const ending = ENDINGS[source.format];
    const name = single ? `shared${ending}` : keyedName(key, sha256(bytes), ending);
    files.set(name, { name, bytes, track });
  });
  if (!files.size)
    throw new SfumatoError("Nothing is left to share: every track stays inside the zones.", "Add longer tracks.");
  const listed = [...files.values()];
  const certificate = archiveCertificate(table, choice, listed, { hidden: hides, kept });
  const leaks = places.active.map((place) => leakOf(place, shown, choice?.noise_m ?? 0));
  return { files: listed, certificate, single, shown, leaks, kept };
}

/** Refuse a release that is the track itself although noise is stated. */
function checkMoved(before: readonly (Track | null)[], after: readonly (Track | null)[], choice: Choice): void {
  const still = (1e-5 * choice.noise_m) / 111320;
  const moved = before.some((track, i) =>
    track?.latDeg.some((lat, k) => Math.abs(lat - after[i]!.latDeg[k]!) >= still),
  );
  if (!moved && before.some((track) => track !== null))
    throw new SfumatoError("The noise was not drawn.", "Nothing can be saved; please report this.");
}

function leakOf(place: Place, shown: readonly (Track | null)[], noiseM: number): Leak {
  const { zone } = place;
  const truth = zone.around.metresOf(surface(place.latDeg, place.lonDeg));
  const gates: Gate[] = shown.flatMap((track) => (track === null ? [] : look(zone, track, noiseM)));
  const guesses = guessesM({ radiusM: zone.radiusM, innerRadiusM: zone.innerRadiusM, gates });
  let [best, bestM]: [string | null, number | null] = [null, null];
  for (const [name, guess] of guesses) {
    const error = size(less(guess, truth));
    if (bestM === null || error < bestM) [best, bestM] = [name, error];
  }
  const share = bestM === null ? 0 : Math.min(bestM / zone.innerRadiusM, 1) ** 2;
  const byLuck = bestM === null ? null : 1 - (1 - share) ** guesses.size;
  return { name: place.name, attackers: guesses.size, best, bestM, byLuck, withoutRidesM: size(truth) };
}
