/**
 * The private places file: every place of one person with its one zone, in the format that `sfumato places` reads and
 * writes. A second zone for one place would help to find it, so the file comes before the release and is used again.
 */
import { SfumatoError } from "../errors.js";
import { distanceM, surface } from "./globe.js";
import { Digits, type Fields, indentedJson, type Json, parseJson, pythonFloat, sortedJson } from "./json.js";
import { hexOf, hmac, utf8 } from "./sha256.js";
import { KEY_BYTES, ZONE_WORDS, Zone, zoneFromWords } from "./zones.js";

export const SAME_PLACE_M = 200;
const WARNING =
  "Keep this file secret and keep a copy: it says where you live, and a second zone would help to find it.";

export interface Place {
  readonly name: string;
  readonly latDeg: number;
  readonly lonDeg: number;
  readonly extentM: number;
  readonly retired: boolean;
  readonly zone: Zone;
}

export class Places {
  readonly places: readonly Place[];
  readonly key: Uint8Array;
  constructor(places: readonly Place[], key: Uint8Array) {
    this.places = places;
    this.key = key;
  }

  /** A new person's: no place yet, and a fresh key. */
  static none(): Places {
    return new Places([], crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
  }

  get active(): readonly Place[] {
    return this.places.filter((place) => !place.retired);
  }

  get zones(): readonly Zone[] {
    return this.active.map((place) => place.zone);
  }

  /** 32 bytes that only this file can give, one value per purpose. */
  derived(purpose: string): Uint8Array {
    return hmac(this.key, utf8(`derive ${purpose}`));
  }

  /** With one more place and a zone drawn for it now; a place that was removed takes its old zone back. */
  add(name: string, latDeg: number, lonDeg: number, radiusM: number): Places {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: names are printed, so these are refused
    if (name === "" || [...name].length > 80 || /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name))
      throw new SfumatoError("A place's name is empty or longer than 80 letters.", "Name it like home.");
    if (this.active.some((place) => place.name === name))
      throw new SfumatoError(
        `There is already a place called ${name}.`,
        "A home you moved to is a new place: give it a new name, and keep the old one.",
      );
    const here = surface(latDeg, lonDeg);
    for (const known of this.places) {
      const near = distanceM(here, surface(known.latDeg, known.lonDeg)) < SAME_PLACE_M + known.extentM;
      if (!near || known.zone.beyondM(here) > 0) continue; // a zone that lacks the place is no zone of it
      if (!known.retired)
        throw new SfumatoError(
          `That is the place called ${known.name}, less than ${SAME_PLACE_M} m away, which has its zone.`,
          "Two zones of one place intersect and help to find it. Keep the one it has.",
        );
      const again = { ...known, name, latDeg, lonDeg, extentM: 0, retired: false };
      return new Places(
        this.places.map((place) => (place === known ? again : place)),
        this.key,
      );
    }
    const zone = zoneFromWords([latDeg, lonDeg], radiusM, crypto.getRandomValues(new BigUint64Array(ZONE_WORDS)));
    return new Places([...this.places, { name, latDeg, lonDeg, extentM: 0, retired: false, zone }], this.key);
  }

  /** Nothing is withheld around it from now on; its zone is remembered, so that no second one is ever drawn. */
  remove(name: string): Places {
    const retired = (place: Place) => (place.name === name && !place.retired ? { ...place, retired: true } : place);
    return new Places(this.places.map(retired), this.key);
  }

  /** The file's text, as `sfumato places` reads it. */
  text(): string {
    const body: Fields = new Map<string, Json>([
      ["key", base64(this.key)],
      ["simulation", false],
      ["places", this.places.map(fieldsOf)],
    ]);
    body.set("check", hexOf(hmac(this.key, utf8(sortedJson(body)))));
    const outer: Fields = new Map<string, Json>([
      ["sfumato_places", new Digits("1")],
      ["warning", WARNING],
      ["body", body],
    ]);
    return `${indentedJson(outer, { ascii: true })}\n`;
  }

  /** The places of a file; refused where it is sealed, changed by hand, or holds what this page does not know. */
  static read(text: string): Places {
    const outer = parseJson(text, "places file");
    const no = (what: string, advice: string) => new SfumatoError(what, advice);
    if (!(outer instanceof Map) || !(outer.get("sfumato_places") instanceof Digits))
      throw no("This is not a places file.", "Give the file that this page or `sfumato places add` wrote.");
    if ((outer.get("sfumato_places") as Digits).text !== "1") throw no("The places file is of another format.", UPDATE);
    if (outer.has("sealed"))
      throw no("The places file is sealed with a passphrase.", "This page cannot open it: use the command line.");
    known(outer, ["sfumato_places", "warning", "body"]);
    const body = fields(outer.get("body"));
    known(body, ["key", "simulation", "places", "check"]);
    const key = bytes(body.get("key"));
    const plain = new Map([...body].filter(([name]) => name !== "check"));
    if (key.length !== KEY_BYTES || body.get("check") !== hexOf(hmac(key, utf8(sortedJson(plain)))))
      throw no("The places file was changed by hand.", "Restore it from a copy.");
    const listed = body.get("places");
    if (body.get("simulation") !== false || !Array.isArray(listed))
      throw no("The places file is a simulation: its zones protect nobody.", "Use your own places file.");
    return new Places(listed.map(placeOf), key);
  }
}

const UPDATE = "Use a newer page, or the command line: what is not understood is not ignored.";
const damaged = () => new SfumatoError("The places file is damaged.", "Restore it from a copy.");

function fields(value: Json | undefined): Fields {
  if (!(value instanceof Map)) throw damaged();
  return value;
}

function known(value: Fields, names: readonly string[]): void {
  if ([...value.keys()].some((name) => !names.includes(name)))
    throw new SfumatoError("The places file holds something that this page does not know.", UPDATE);
}

function base64(value: Uint8Array): string {
  return btoa(String.fromCharCode(...value));
}

function bytes(value: Json | undefined): Uint8Array {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(value) || value.length % 4) throw damaged();
  return Uint8Array.from(atob(value), (letter) => letter.charCodeAt(0));
}

function numberIn(value: Fields, name: string): number {
  const found = value.get(name);
  if (!(found instanceof Digits)) throw damaged();
  return found.value;
}

const float = (value: number) => new Digits(pythonFloat(value));

function fieldsOf(place: Place): Json {
  const { around, radiusM, key } = place.zone;
  const zone = new Map<string, Json>([
    ["lat", float(around.latDeg)],
    ["lon", float(around.lonDeg)],
    ["radius_m", float(radiusM)],
    ["key", base64(key)],
    ["simulation", false],
  ]);
  return new Map<string, Json>([
    ["name", place.name],
    ["lat", float(place.latDeg)],
    ["lon", float(place.lonDeg)],
    ["extent_m", float(place.extentM)],
    ["retired", place.retired],
    ["zone", zone],
  ]);
}

function placeOf(value: Json): Place {
  const item = fields(value);
  if (item.has("as_drawn"))
    throw new SfumatoError(
      "The places file holds an area withheld as drawn.",
      "This page cuts zones only: use the command line.",
    );
  known(item, ["name", "lat", "lon", "extent_m", "retired", "zone"]);
  const zone = fields(item.get("zone"));
  known(zone, ["lat", "lon", "radius_m", "key", "simulation"]);
  const [name, retired] = [item.get("name"), item.get("retired")];
  if (typeof name !== "string" || typeof retired !== "boolean" || zone.get("simulation") !== false) throw damaged();
  return {
    name,
    latDeg: numberIn(item, "lat"),
    lonDeg: numberIn(item, "lon"),
    extentM: numberIn(item, "extent_m"),
    retired,
    zone: new Zone(numberIn(zone, "lat"), numberIn(zone, "lon"), numberIn(zone, "radius_m"), bytes(zone.get("key"))),
  };
}
