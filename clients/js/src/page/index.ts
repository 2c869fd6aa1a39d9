/** Protect tracks in the browser: what the page of `web/protect.html` is built from. Nothing here makes a request. */
export { ATTACKERS, guessesM } from "./attackers.js";
export { blurred, milliseconds, noisePath } from "./blur.js";
export { archiveCertificate, type Choice, contentSha256, type PageTable, type ReleasedFile } from "./certificate.js";
export { look } from "./gates.js";
export { readGeoJson, writeGeoJson } from "./geojson.js";
export { Around, distanceM, surface } from "./globe.js";
export { readGpx, writeGpx } from "./gpx.js";
export { canonicalJson, fixed, indentedJson, parseJson, pythonFloat, sortedJson } from "./json.js";
export { refuseTwoPeople } from "./one_person.js";
export { type Place, Places, SAME_PLACE_M } from "./places.js";
export { keyedName, type Leak, type Release, release, type Source } from "./release.js";
export { hexOf, hmac, sha256, utf8 } from "./sha256.js";
export { formatTimes, microsOf, mixedTimes } from "./times.js";
export type { ReadTrack, Track } from "./track.js";
export { type Withheld, withhold } from "./withhold.js";
export { zipped } from "./zip.js";
export { DEFAULT_RADIUS_M, keyedMarginsM, RADII_M, Zone, zoneFromWords } from "./zones.js";
