// The golden file of the browser page, which tests/client/test_page_golden.py makes anew in Python and compares.
import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { normalsFromWords } from "../dist/golden.js";
import * as page from "../dist/page.js";

const golden = JSON.parse(readFileSync(new URL("../../../tests/golden/page.json", import.meta.url), "utf8"));
const words = (text) => BigUint64Array.from(text.match(/.{16}/g) ?? [], (word) => BigInt(`0x${word}`));
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const near = (found, wanted, tolerance, what) =>
  assert.ok(Math.abs(found - wanted) <= tolerance, `${what}: ${found} is not ${wanted}`);
const read = (ending, text) => (ending === ".gpx" ? page.readGpx(text) : page.readGeoJson(text));
const write = (ending, track) => (ending === ".gpx" ? page.writeGpx(track) : page.writeGeoJson(track));

test("SHA-256 and HMAC are Node's, at every length around a block", () => {
  for (const length of [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 1000, 100_000]) {
    const [key, data] = [randomBytes(length % 150), randomBytes(length)];
    assert.equal(page.hexOf(page.sha256(data)), createHash("sha256").update(data).digest("hex"));
    assert.equal(page.hexOf(page.hmac(key, data)), createHmac("sha256", key).update(data).digest("hex"));
  }
});

test("numbers and texts are written as Python writes them", () => {
  for (const [value, text] of golden.texts.floats) assert.equal(page.pythonFloat(value), text);
  for (const [value, ten, seven] of golden.texts.fixed) {
    assert.equal(page.fixed(value, 10), ten);
    assert.equal(page.fixed(value, 7), seven);
  }
  assert.equal(page.sortedJson(page.parseJson(golden.texts.json)), golden.texts.json);
  for (const bad of ["", "[1,]", "{,}", '{"a"}', "[1 2]", "nan", '{"a":1}x', "[01e]"])
    assert.throws(() => page.parseJson(bad), { name: "SfumatoError" });
});

test("the same words draw the same zone, key and margins", () => {
  for (const item of golden.zones) {
    const zone = page.zoneFromWords(item.place, item.radius_m, words(item.words));
    near(zone.around.latDeg, item.lat, 1e-11, "latitude");
    near(zone.around.lonDeg, item.lon, 1e-7, "longitude"); // of a zone at a pole, whose longitudes are millimetres apart
    assert.equal(page.hexOf(zone.key), item.key);
    assert.deepEqual([...zone.marginsM], item.margins_m);
  }
});

for (const world of golden.cuts) {
  const places = page.Places.read(world.places);
  test(`${world.world}: a places file is read and written byte for byte`, () => {
    assert.equal(places.text(), world.places);
    assert.throws(() => page.Places.read(world.places.replace(/"lat": (-?\d)/, '"lat": $17')), /changed by hand/);
    assert.throws(() => page.Places.read(world.places.replace('"warning"', '"other"')), /does not know/);
  });
  const named = [];
  for (const item of world.cases) {
    test(`${world.world}, ${item.name} (${item.ending}): the cut is Python's, and so is every byte`, () => {
      const track = read(item.ending, item.input);
      assert.equal(track.latDeg.length, item.read);
      assert.deepEqual(Object.fromEntries(track.skipped), item.skipped);
      const left = page.withhold(track, places.zones);
      assert.deepEqual(left.kept, item.kept);
      assert.deepEqual(left.byZone, item.by_zone);
      if (item.output === null) return assert.equal(left.track, null);
      assert.equal(write(item.ending, left.track), item.output);
      assert.equal(page.contentSha256(left.track), item.content_sha256);
      named.push(page.keyedName(places.derived("names"), bytes(item.content_sha256), ".gpx"));
      places.zones.forEach((zone, z) => {
        const view = { radiusM: zone.radiusM, innerRadiusM: zone.innerRadiusM, gates: page.look(zone, left.track) };
        const guesses = page.guessesM(view);
        assert.deepEqual([...guesses.keys()].sort(), Object.keys(item.guesses[z]).sort());
        for (const [name, guess] of guesses)
          for (const axis of [0, 1]) near(guess[axis], item.guesses[z][name][axis], 0.01, name);
      });
    });
  }
  test(`${world.world}: names are keyed by what is published`, () => assert.deepEqual(named, world.names));
}

test("what is inside the zones is never in the output: any other inside gives the same bytes", () => {
  const world = golden.cuts[0];
  const places = page.Places.read(world.places);
  const track = page.readGpx(world.cases[0].input);
  const { kept } = page.withhold(track, places.zones);
  const stays = new Set(kept);
  const home = places.active[0];
  const other = { ...track, latDeg: track.latDeg.slice(), lonDeg: track.lonDeg.slice() };
  let moved = 0;
  track.latDeg.forEach((lat, i) => {
    if (stays.has(i) || !places.zones[0].holds(page.surface(lat, track.lonDeg[i]))) return;
    [other.latDeg[i], other.lonDeg[i]] = [home.latDeg + 1e-6 * moved++, home.lonDeg];
  });
  assert.ok(moved > 20);
  const out = (each) => page.writeGpx(page.withhold(each, places.zones).track);
  assert.equal(out(other), out(track));
});

test("the noise is Python's path from the same words, at times in any order, released on the same grid", () => {
  const { ladder, times_s, words: hex, noise_m, path_m, lat, lon, released } = golden.noise;
  const all = normalsFromWords(words(hex));
  let used = 0;
  const path = page.noisePath(
    ladder,
    noise_m,
    times_s.map((t) => t * 1000),
    (count) => {
      used += count;
      return all.slice(used - count, used);
    },
  );
  assert.equal(used, all.length);
  times_s.forEach((time, i) => {
    for (const axis of [0, 1]) near(path.get(time * 1000)[axis], path_m[i][axis], 1e-8, "metres");
  });
  const track = {
    latDeg: Float64Array.from(lat),
    lonDeg: Float64Array.from(lon),
    micros: Float64Array.from(times_s, (t) => t * 1e6),
    segment: new Int32Array(lat.length),
  };
  const blurred = page.blurred(track, path);
  assert.deepEqual([[...blurred.latDeg], [...blurred.lonDeg]], released);
});

test("normals of the page come from the CSPRNG, with the spread of a normal", () => {
  const ladder = golden.noise.ladder;
  const one = page.noisePath(ladder, 1, [0]).get(0);
  assert.notDeepEqual(one, page.noisePath(ladder, 1, [0]).get(0));
  let sum = 0;
  for (let k = 0; k < 2000; k++) for (const x of page.noisePath(ladder, 1, [0]).get(0)) sum += x * x;
  near(sum / 4000, 1, 0.12, "the variance"); // five standard errors
});

test("places: one zone each, for ever", () => {
  const home = page.Places.none().add("home", 48.85, 2.35, 1600);
  assert.ok(page.distanceM(home.zones[0].around.origin, page.surface(48.85, 2.35)) <= 1280.001);
  assert.throws(() => home.add("near home", 48.851, 2.35, 400), /less than 200 m/);
  assert.throws(() => home.add("home", 48.9, 2.35, 400), /already a place/);
  assert.throws(() => home.add("x", 48.9, 2.35, 500), /public list/);
  const gone = home.remove("home");
  assert.equal(gone.active.length, 0);
  assert.equal(gone.add("again", 48.8501, 2.35, 400).zones[0], home.zones[0]);
  assert.equal(page.Places.read(gone.text()).places[0].retired, true);
});

test("damaged, foreign and attacking files are refused with words that hold no place", () => {
  const point = '<trkpt lat="48.85" lon="2.35"><time>2024-05-01T12:00:00Z</time></trkpt>';
  const gpx = (inner) => `<gpx><trk><trkseg>${inner}</trkseg></trk></gpx>`;
  for (const [text, words] of [
    ["<!DOCTYPE x><gpx/>", /document type/],
    [gpx(point).slice(0, -3), /well-formed/],
    [gpx(`${point}<b></c>`), /well-formed/],
    [gpx(`${point}&x;`), /well-formed/],
    ["<kml/>", /not GPX/],
    ["<gpx/>", /no track points/],
    [gpx(point.replace("Z<", "<")), /no time zone/],
    [gpx(point.replace("48.85", "x")), /only 0 can be used/],
    [gpx(point + point.replace("12:00", "11:00")), /backwards/],
  ])
    assert.throws(
      () => page.readGpx(text),
      (error) => error.name === "SfumatoError" && words.test(error.message) && !/48\.85/.test(error.message),
    );
  for (const text of ["", "[]", "{}", '{"type":"Polygon"}', '{"type":"FeatureCollection","features":[]}'])
    assert.throws(() => page.readGeoJson(text), { name: "SfumatoError" });
  assert.equal(page.readGpx(gpx(point)).latDeg[0], 48.85);
});

test("tracks in two places at one time are not one person's; two recorders of one ride are", () => {
  const ride = (lat, lon, beginS) => ({
    latDeg: Float64Array.from({ length: 300 }, (_, i) => lat + 1e-4 * i),
    lonDeg: new Float64Array(300).fill(lon),
    micros: Float64Array.from({ length: 300 }, (_, i) => (1.7e9 + beginS + 5 * i) * 1e6),
  });
  page.refuseTwoPeople([ride(48.85, 2.35, 0), ride(48.8503, 2.3502, 2), null, ride(45.76, 4.83, 86_400)]);
  assert.throws(() => page.refuseTwoPeople([ride(48.85, 2.35, 0), ride(48.9, 2.35, 3)]), /two places at the same time/);
});
