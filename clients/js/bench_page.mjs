// How long the page takes for 100 rides of 1,000 points: node bench_page.mjs ../../web/src/page/table.json (after a build)
import { readFileSync } from "node:fs";
import * as page from "./dist/page.js";

const table = JSON.parse(readFileSync(process.argv[2] ?? "../../web/src/page/table.json", "utf8"));
const [rides, points] = [100, 1000];
const sources = Array.from({ length: rides }, (_, ride) => {
  const track = {
    latDeg: Float64Array.from({ length: points }, (_, i) => 48.85 + 7e-5 * i * Math.sin(ride)),
    lonDeg: Float64Array.from({ length: points }, (_, i) => 2.35 + 1e-4 * i * Math.cos(ride)),
    micros: Float64Array.from({ length: points }, (_, i) => (1.7e9 + 86400 * ride + i) * 1e6),
    segment: new Int32Array(points),
  };
  return { name: `${ride}.gpx`, format: "gpx", track };
});
const texts = sources.map(({ track }) => page.writeGpx(track));
const places = page.Places.none().add("home", 48.85, 2.35, 800);
const choice = table.choices.find((one) => one.level === "medium" && one.prior_class === "year");

function seconds(act) {
  const before = process.cpuUsage();
  act();
  return process.cpuUsage(before).user / 1e6;
}

const read = seconds(() => texts.forEach(page.readGpx));
const hide = seconds(() => page.release(sources, places, null, table));
const blur = seconds(() => page.release(sources, places, choice, table));
const said = (value) => `${value.toFixed(2)} s (${(value / read).toFixed(1)} times reading)`;
console.log(`read ${read.toFixed(2)} s, hide ${said(hide)}, hide and blur ${said(blur)}: processor time`);
