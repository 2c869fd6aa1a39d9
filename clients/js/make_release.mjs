// What the page does, without a browser, for tests/collect/client/test_page_release.py: node make_release.mjs '{"inputs": [...], ...}'
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as page from "./dist/page.js";

const { inputs, table: file, out, choice, hide = [], places: known, keep = false } = JSON.parse(process.argv[2]);
const table = JSON.parse(readFileSync(file, "utf8"));
const sources = inputs.map((name) => {
  const text = readFileSync(name, "utf8");
  const format = name.endsWith(".gpx") ? "gpx" : "geojson";
  return { name, format, track: format === "gpx" ? page.readGpx(text) : page.readGeoJson(text) };
});
let places = known ? page.Places.read(readFileSync(known, "utf8")) : page.Places.none();
for (const [name, lat, lon, radius] of hide) places = places.add(name, lat, lon, radius);
const chosen = choice ? table.choices.find((one) => one.level === choice[0] && one.prior_class === choice[1]) : null;
const made = page.release(sources, places, chosen, table, keep);
mkdirSync(join(out, "shared"), { recursive: true });
for (const { name, bytes } of made.files) writeFileSync(join(out, "shared", name), bytes);
writeFileSync(join(out, "certificate.json"), made.certificate);
writeFileSync(join(out, "me.places"), places.text(), { mode: 0o600 });
const packed = [{ name: "certificate.json", bytes: page.utf8(made.certificate) }];
for (const { name, bytes } of made.files) packed.push({ name: `shared/${name}`, bytes });
writeFileSync(join(out, "release.zip"), page.zipped(packed));
console.log(JSON.stringify({ single: made.single, files: made.files.map(({ name }) => name), leaks: made.leaks }));
