/** GPX 1.0 and 1.1: tracks in (timed routes where there is no track), positions and times out, byte for byte as Python. */
import { SfumatoError } from "../errors.js";
import { boundsTexts, degreeTexts } from "./degrees.js";
import { formatTimes, mixedTimes } from "./times.js";
import { merged, type RawPoint, type ReadTrack, settled, type Track } from "./track.js";
import { readXml } from "./xml.js";

interface Timed extends RawPoint {
  time: string | null;
}

const HEART_RATES = ["hr", "heartrate", "heartratebpm", "bpm"];
const GARMIN = ' xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2"';
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** A coordinate's text as a number; null where there is none, NaN where it is no number. */
export function coordinate(text: string | undefined): number | null {
  const clean = text?.trim() ?? "";
  return clean === "" ? null : NUMBER.test(clean) ? Number(clean) : Number.NaN;
}

export function readGpx(text: string): ReadTrack {
  const tracks: Timed[][] = [];
  const routes: Timed[][] = [];
  let root = "";
  let point = "";
  let segment = -1;
  let waypoints = 0;
  let current: Timed[] | null = null;
  const start = (name: string, attributes: Record<string, string>) => {
    if (name === "trkpt" || name === "rtept") {
      if (current === null)
        throw new SfumatoError("A GPX point lies outside any track.", "The file is damaged; export it again.");
      point = name;
      const number = name === "trkpt" ? Math.max(segment, 0) : 0;
      const [lat, lon] = [coordinate(attributes["lat"]), coordinate(attributes["lon"])];
      current.push({ lat, lon, micros: null, segment: number, time: null });
    } else if (name === "trkseg") segment++;
    else if (name === "trk" || name === "rte") {
      current = [];
      (name === "trk" ? tracks : routes).push(current);
      segment = -1;
    } else if (name === "wpt") {
      point = name;
      waypoints++;
    } else if (root === "") root = name;
  };
  const end = (name: string, words: string) => {
    if (name === point) point = "";
    else if (name === "trk" || name === "rte") current = null;
    else if (point !== "" && point !== "wpt" && name === "time" && current?.length)
      current[current.length - 1]!.time = words.trim();
    else if (point !== "wpt" && current?.length && HEART_RATES.includes(name.toLowerCase().replace(/[^a-z0-9]/g, ""))) {
      const beats = coordinate(words);
      if (beats === 0 || (beats !== null && beats >= 1 && beats < 1000)) current[current.length - 1]!.heartRate = beats;
    }
  };
  readXml(text, start, end, "GPX");
  if (root !== "gpx") throw new SfumatoError("The file is XML but not GPX.", "Drop GPX or GeoJSON files.");
  let used = tracks.filter((track) => track.length);
  let unused = routes.filter((route) => route.length);
  if (!used.length) [used, unused] = [unused, []];
  if (!used.length)
    throw new SfumatoError(
      `The GPX file has no track points (${waypoints ? `it has ${waypoints} waypoint(s) only` : "it is empty"}).`,
      "Record or export a track with times.",
    );
  const skipped = new Map<string, number>();
  if (waypoints) skipped.set("waypoints", waypoints);
  const left = unused.reduce((sum, route) => sum + route.length, 0);
  if (left) skipped.set("points of routes", left);
  const points = merged(used) as Timed[];
  const micros = mixedTimes(points.map(({ time }) => time));
  return settled(
    points.map((each, i) => ({ ...each, micros: micros[i]! })),
    skipped,
  );
}

export function writeGpx(track: Track): string {
  const [lat, lon, times] = [degreeTexts(track.latDeg), degreeTexts(track.lonDeg), formatTimes(track.micros)];
  const [south, west, north, east] = boundsTexts(track.latDeg, track.lonDeg);
  const beats = track.heartRate;
  const space = beats?.some((value) => !Number.isNaN(value)) ? GARMIN : "";
  const out = [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<gpx version="1.1" creator="sfumato" xmlns="http://www.topografix.com/GPX/1/1"${space}>\n`,
    `<metadata><bounds minlat="${south}" minlon="${west}" maxlat="${north}" maxlon="${east}"/></metadata>\n<trk>\n`,
  ];
  for (let i = 0; i < lat.length; i++) {
    if (i === 0 || track.segment[i] !== track.segment[i - 1]) out.push(i ? "</trkseg>\n<trkseg>\n" : "<trkseg>\n");
    const beat = beats?.[i] ?? Number.NaN;
    const tag = `<gpxtpx:hr>${Number(beat.toPrecision(10))}</gpxtpx:hr>`;
    const more = Number.isNaN(beat)
      ? ""
      : `<extensions><gpxtpx:TrackPointExtension>${tag}</gpxtpx:TrackPointExtension></extensions>`;
    out.push(`<trkpt lat="${lat[i]}" lon="${lon[i]}"><time>${times[i]}</time>${more}</trkpt>\n`);
  }
  out.push("</trkseg>\n</trk>\n</gpx>\n");
  return out.join("");
}
