/** GeoJSON with times: lines with `coordTimes`, or a run of timed points; written byte for byte as Python does. */
import { SfumatoError } from "../errors.js";
import { boundsTexts, degreeTexts } from "./degrees.js";
import { coordinate } from "./gpx.js";
import { formatTimes, mixedTimes } from "./times.js";
import { merged, type RawPoint, type ReadTrack, settled, type Track } from "./track.js";

const LINE_TIMES = ["coordTimes", "coordinateProperties", "datetimes", "times", "timestamps", "time"];
const POINT_TIMES = ["time", "timestamp", "datetime", "when", "date_time", "recorded_at", "tracked_at", "tst", "t"];
const WGS84 = ["CRS84", "EPSG:4326", "EPSG::4326", "WGS84", "WGS 84"];
const NO_POSITION = "points without a position";

type Fields = Record<string, unknown>;
interface Timed extends RawPoint {
  time: unknown;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const damaged = () => new SfumatoError("A GeoJSON line has no coordinates.", "The file is damaged; export it again.");

function number(value: unknown): number | null {
  if (value === null || value === undefined || value === "") return null;
  return typeof value === "number" ? value : typeof value === "string" ? coordinate(value) : Number.NaN;
}

class Reader {
  readonly tracks: Timed[][] = [];
  readonly skipped = new Map<string, number>();
  run: Timed[] | null = null;

  skip(reason: string): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
  }

  add(position: unknown, given: unknown, into: Timed[], segment: number): void {
    if (position === null || (Array.isArray(position) && !position.length)) {
      this.skip(NO_POSITION);
      return;
    }
    let [time, lat, lon]: [unknown, number | null, number | null] = [given, Number.NaN, Number.NaN];
    if (Array.isArray(position) && position.length >= 2) {
      [lat, lon] = [number(position[1]), number(position[0])];
      const fourth: unknown = position[3];
      if ((time === null || time === undefined) && typeof fourth === "number" && fourth > 0) time = fourth;
    }
    into.push({ lat, lon, micros: null, segment, time });
  }

  feature(feature: Fields): void {
    if ("temporalGeometry" in feature)
      throw new SfumatoError("Moving Features are not read on this page.", "Use the command line: sfumato hide.");
    const geometry = isFields(feature["geometry"]) ? feature["geometry"] : {};
    const properties = isFields(feature["properties"]) ? feature["properties"] : {};
    const kind = geometry["type"];
    if (kind === "Point") this.point(geometry, properties);
    else if (kind === "LineString" || kind === "MultiLineString" || kind === "MultiPoint") {
      const draft: Timed[] = [];
      this.lines(kind, geometry["coordinates"], properties, draft);
      if (draft.length) {
        this.tracks.push(draft);
        this.run = null;
      }
    } else this.skip(kind === undefined ? "features without a geometry" : "other geometries");
  }

  point(geometry: Fields, properties: Fields): void {
    const lowered = new Map(Object.keys(properties).map((key) => [key.toLowerCase(), key]));
    for (const name of POINT_TIMES) {
      const time = properties[lowered.get(name) ?? ""];
      if (typeof time !== "string" && typeof time !== "number") continue;
      if (this.run === null) {
        this.run = [];
        this.tracks.push(this.run);
      }
      const mark = properties["segment"];
      const segment =
        Number.isInteger(mark) && (mark as number) >= 0 && (mark as number) < 2 ** 31 ? (mark as number) : 0;
      this.add(geometry["coordinates"], time, this.run, segment);
      return;
    }
    this.skip("waypoints");
  }

  lines(kind: string, coordinates: unknown, properties: Fields, into: Timed[]): void {
    let times: unknown = null;
    for (const key of LINE_TIMES) {
      times = properties[key];
      if (isFields(times)) times = times["times"];
      if (Array.isArray(times)) break;
    }
    let lines: unknown = coordinates;
    if (kind !== "MultiLineString") [lines, times] = [[lines], [times]];
    if (!Array.isArray(lines)) throw damaged();
    if (Array.isArray(times) && times.length && times[0] !== null && !Array.isArray(times[0])) {
      const flat: unknown[] = times;
      let at = 0;
      times = lines.map((line) => {
        const first = at;
        at += Array.isArray(line) ? line.length : 0;
        return flat.slice(first, at);
      });
      if (at !== flat.length)
        throw new SfumatoError(
          `The lines have ${at} positions and ${flat.length} times.`,
          "Give one time per position.",
        );
    }
    lines.forEach((line: unknown, segment) => {
      if (!Array.isArray(line)) throw damaged();
      const stamps: unknown = Array.isArray(times) ? times[segment] : null;
      if (Array.isArray(stamps) && stamps.length !== line.length)
        throw new SfumatoError(
          `A line has ${line.length} positions and ${stamps.length} times.`,
          "Give one time per position.",
        );
      for (const [i, position] of line.entries())
        this.add(position, Array.isArray(stamps) ? stamps[i] : null, into, segment);
    });
  }
}

function features(document: unknown): Fields[] {
  if (!isFields(document)) throw new SfumatoError("The JSON is not GeoJSON.", "Drop GPX or GeoJSON files.");
  for (const key of ["crs", "coordRefSys"]) {
    const crs = document[key];
    const name = isFields(crs) && isFields(crs["properties"]) ? crs["properties"]["name"] : null;
    if (typeof name === "string" && !WGS84.some((known) => name.includes(known)))
      throw new SfumatoError("The GeoJSON is not in WGS84 longitude and latitude.", "Reproject it to EPSG:4326 first.");
  }
  const kind = document["type"];
  if (kind === "FeatureCollection" && Array.isArray(document["features"])) return document["features"].filter(isFields);
  if (kind === "Feature") return [document];
  if (["LineString", "MultiLineString", "Point", "MultiPoint"].includes(String(kind)))
    return [{ geometry: document, properties: document }];
  throw new SfumatoError("The JSON is not GeoJSON.", "Drop GPX or GeoJSON files.");
}

export function readGeoJson(text: string): ReadTrack {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new SfumatoError("The GeoJSON file is not valid JSON.", "It may be cut off or damaged; export it again.");
  }
  const reader = new Reader();
  for (const feature of features(document)) reader.feature(feature);
  const used = reader.tracks.filter((track) => track.length);
  if (!used.length)
    throw new SfumatoError("The GeoJSON has no line and no point with times.", "Give a LineString with coordTimes.");
  const points = merged(used) as Timed[];
  const micros = mixedTimes(points.map(({ time }) => time));
  return settled(
    points.map((each, i) => ({ ...each, micros: micros[i]! })),
    reader.skipped,
  );
}

export function writeGeoJson(track: Track): string {
  const [lat, lon, times] = [degreeTexts(track.latDeg), degreeTexts(track.lonDeg), formatTimes(track.micros)];
  const [south, west, north, east] = boundsTexts(track.latDeg, track.lonDeg);
  const places = lat.map((y, i) => `[${lon[i]},${y}]`);
  const out = [`{"type":"FeatureCollection","bbox":[${west},${south},${east},${north}],"features":[\n`];
  for (let first = 0, last = 0; first < places.length; first = last) {
    last = first + 1;
    while (last < places.length && track.segment[last] === track.segment[first]) last++;
    const line = last - first > 1;
    const geometry = line
      ? `{"type":"LineString","coordinates":[${places.slice(first, last).join(",")}]}`
      : `{"type":"Point","coordinates":${places[first]}}`;
    const properties = line
      ? { coordTimes: times.slice(first, last) }
      : { time: times[first], segment: track.segment[first] };
    const comma = last < places.length ? "," : "";
    out.push(`{"type":"Feature","geometry":${geometry},"properties":${JSON.stringify(properties)}}${comma}\n`);
  }
  out.push("]}\n");
  return out.join("");
}
