// The published bundle (dist/sfumato.js) against a scripted server: drawn once, debited once, resent unchanged.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gzipSync } from "node:zlib";
import * as inside from "../dist/golden.js";
import * as sfumato from "../dist/sfumato.js";
import { attacks } from "./attacks.mjs";

const offers = JSON.parse(readFileSync(new URL("../../../tests/golden/offers.json", import.meta.url), "utf8"));
const HOME = "https://collector.example/api/v1/campaigns/golden/";

function server(t, { report = () => [200, { ok: true, duplicate: false }] } = {}) {
  const seen = [];
  t.mock.method(globalThis, "fetch", async (address, init = {}) => {
    assert.ok(address.startsWith(HOME));
    const route = address.slice(HOME.length);
    const body = init.body === undefined ? undefined : JSON.parse(init.body);
    seen.push({ route, body, init });
    const [status, answer] =
      route === "channel"
        ? [200, offers.good]
        : route === "log"
          ? [200, { log: offers.log }]
          : route === "tickets"
            ? [200, { ticket: `1-3-0-${"0".repeat(32)}-${"0".repeat(64)}` }]
            : report(seen);
    return new Response(JSON.stringify(answer), { status });
  });
  return seen;
}

const taking = (store, options = {}) =>
  new sfumato.Participant("https://collector.example/", "golden", {
    device: new sfumato.Device(store, options),
    longestDelayS: 0,
  });

test("the published bundle is below 27 kB gzipped, has no import and takes no seed", () => {
  const text = readFileSync(new URL("../dist/sfumato.js", import.meta.url));
  assert.ok(gzipSync(text, { level: 9 }).length < 27000);
  assert.doesNotMatch(text.toString(), /\bimport\b|\brequire\(/);
  // One: in sjcl's own generator, which nothing calls; the RFC's vectors show that blinding draws from crypto alone.
  assert.equal(text.toString().match(/Math\.random/g).length, 1);
  assert.doesNotMatch(text.toString(), /\bseed\b|\brng\b/);
  for (const name of Object.keys(sfumato)) assert.doesNotMatch(name, /words|seed|random/i);
});

test("a report is drawn, kept and debited once, whatever the place and however often it is asked for", async (t) => {
  server(t);
  const store = sfumato.forgetfulStore();
  const first = taking(store);
  const offer = await first.look();
  const report = await first.prepare(48.85, 2.34, offer);
  assert.equal(report.drawnNow, true);
  for (let i = 0; i < 20; i++) {
    const again = taking(store); // a reload
    const shown = await again.prepare(48.87 - i / 1000, 2.3 + i / 100, await again.look());
    assert.equal(shown.drawnNow, false);
    assert.equal(shown.cell, report.cell);
    assert.equal((await again.drawn(offer)).cell, report.cell);
  }
  const budget = await first.device.budget();
  assert.equal(budget.entries.length, 1);
  assert.equal(budget.spentPerKm, report.reveals.epsilonPerKm);
  assert.doesNotMatch(await store.read(), /48\.85|2\.34/);
});

test("another spelling or another address of the same server never draws a second report", async (t) => {
  t.mock.method(
    globalThis,
    "fetch",
    async (address) => new Response(JSON.stringify(address.endsWith("/log") ? { log: offers.log } : offers.good)),
  );
  const device = new sfumato.Device(sfumato.forgetfulStore());
  const at = (url) => new sfumato.Participant(url, "golden", { device, longestDelayS: 0 });
  const first = at("https://collector.example");
  const offer = await first.look();
  const { cell } = await first.prepare(48.85, 2.34, offer);
  for (const url of ["HTTPS://Collector.Example:443//", "https://collector.example./"]) {
    const again = at(url);
    const shown = await again.prepare(48.83, 2.39, await again.look());
    assert.deepEqual([shown.cell, shown.drawnNow], [cell, false]);
  }
  const other = at("https://mirror.example");
  await assert.rejects(other.prepare(48.83, 2.39, await other.look()), /another address/);
  assert.equal((await device.budget()).entries.length, 1);
  for (const url of ["ftp://collector.example", "collector.example", "https://me@collector.example"])
    assert.throws(() => at(url), /not a plain/);
});

test("a log that forgets or changes what this device saw is refused", async (t) => {
  server(t);
  const store = sfumato.forgetfulStore();
  await taking(store).look();
  const memory = JSON.parse(store.read());
  Object.values(memory.campaigns)[0].versions["1"] = "0".repeat(64);
  store.write(JSON.stringify(memory));
  await assert.rejects(taking(store).look(), /rewritten/);
});

test("a kept report shows what its own channel gives away", async (t) => {
  server(t);
  const store = sfumato.forgetfulStore();
  const first = taking(store);
  const offer = await first.look();
  const report = await first.prepare(48.85, 2.34, offer);
  const later = { ...offer, reveals: { ...offer.reveals, epsilonPerKm: 0.1 } };
  assert.deepEqual((await taking(store).drawn(later)).reveals, report.reveals);
});

test("the report is on the device before it is shown", async (t) => {
  server(t);
  const kept = sfumato.forgetfulStore();
  const failing = {
    read: () => kept.read(),
    write: (text) => {
      if (text.includes('"drawn"')) throw new Error("disk full");
      return kept.write(text);
    },
  };
  const person = taking(failing);
  const offer = await person.look();
  await assert.rejects(person.prepare(48.85, 2.34, offer), /disk full/);
  assert.equal(await person.drawn(offer), null);
});

test("a resent report keeps cell, version and key, and two tickets share nothing with it", async (t) => {
  let tries = 0;
  const seen = server(t, {
    report: () => (++tries === 1 ? [503, { error: "busy" }] : [200, { duplicate: tries > 2 }]),
  });
  const person = taking(sfumato.forgetfulStore());
  const { epoch } = await person.prepare(48.85, 2.34, await person.look());
  await assert.rejects(person.send(epoch), { name: "NotSent" });
  assert.equal(await person.send(epoch), "counted");
  assert.equal(await person.send(epoch), "counted before");
  const sent = seen.filter(({ route }) => route === "reports").map(({ body }) => body);
  assert.deepEqual(Object.keys(sent[0]).sort(), ["cell", "key", "ticket", "version"]);
  for (const body of sent)
    assert.deepEqual([body.cell, body.version, body.key], [sent[0].cell, offers.good.version, sent[0].key]);
  assert.match(sent[0].key, /^[0-9a-f]{32}$/);
  const asked = seen.filter(({ route }) => route === "tickets").map(({ body }) => body);
  for (const body of asked) assert.deepEqual(Object.keys(body).sort(), ["cycle", "device"]);
  for (const { init } of seen) assert.equal(init.credentials, "omit");
});

test("a report whose cycle closed is not drawn again", async (t) => {
  server(t, { report: () => [410, { error: "closed" }] });
  const person = taking(sfumato.forgetfulStore());
  const offer = await person.look();
  const { epoch, cell } = await person.prepare(48.85, 2.34, offer);
  assert.equal(await person.send(epoch), "closed");
  assert.equal((await person.prepare(48.86, 2.3, offer)).cell, cell);
});

test("a report is kept while its campaign is paused, sent when it goes on, and paid once", async (t) => {
  let paused = true;
  const answer = () =>
    paused ? [409, { error: "The campaign is paused by its operator." }] : [200, { duplicate: false }];
  server(t, { report: answer });
  const person = taking(sfumato.forgetfulStore());
  const offer = await person.look();
  const { epoch, cell } = await person.prepare(48.85, 2.34, offer);
  const spent = (await person.device.budget()).spentPerKm;
  await assert.rejects(person.send(epoch), /paused by its operator/);
  paused = false;
  const again = await person.prepare(48.86, 2.3, offer);
  assert.equal(again.cell, cell);
  assert.equal(await person.send(epoch), "counted");
  assert.equal((await person.device.budget()).spentPerKm, spent);
});

test("past the cap nothing is drawn, whoever spent the budget", async (t) => {
  server(t);
  const person = taking(sfumato.forgetfulStore(), { capPerKm: 3 });
  const offer = await person.look();
  await person.device.debit("another app", 1.5);
  await assert.rejects(person.prepare(48.85, 2.34, offer), { name: "BudgetExceeded" });
  assert.equal(await person.drawn(offer), null);
  assert.equal((await person.device.budget()).entries.length, 1);
});

test("the refusal names its remedy, and what it names is enough", async (t) => {
  server(t);
  const person = taking(sfumato.forgetfulStore(), { capPerKm: 3 });
  const offer = await person.look();
  await person.device.debit("another app", 1.5);
  let cap;
  await assert.rejects(person.prepare(48.85, 2.34, offer), (error) => {
    assert.match(error.message, /^This costs [\d.]+ per km; 1\.50 of 3 is left\./);
    cap = Number(/^Nothing was drawn\. .*raise the cap: device\.setCap\((\d+)\)\.$/.exec(error.advice)[1]);
    return true;
  });
  await person.device.setCap(cap);
  assert.equal((await person.prepare(48.85, 2.34, offer)).drawnNow, true);
});

test("two tabs preparing at once draw one report", async (t) => {
  server(t);
  const device = new sfumato.Device(sfumato.forgetfulStore());
  const person = new sfumato.Participant("https://collector.example", "golden", { device });
  const offer = await person.look();
  const both = await Promise.all([person.prepare(48.85, 2.34, offer), person.prepare(48.83, 2.39, offer)]);
  assert.equal(both[0].cell, both[1].cell);
  assert.equal(both.filter(({ drawnNow }) => drawnNow).length, 1);
});

test("a damaged memory is refused, never replaced", async () => {
  const device = new sfumato.Device({ read: () => "{", write: () => assert.fail("written") });
  await assert.rejects(device.budget(), /damaged/);
});

test("the live trace releases in order, is debited once, and repeats a repeated time", async () => {
  const store = sfumato.forgetfulStore();
  const device = new sfumato.Device(store, { capPerKm: 50 });
  let emit;
  const watchPosition = (found) => {
    emit = found;
    return 7;
  };
  const geolocation = { watchPosition, clearWatch: (id) => assert.equal(id, 7) };
  const released = [];
  const errors = [];
  const stop = new sfumato.LiveTrace({ noiseM: 1000, device }).watch(
    (p) => released.push(p),
    (e) => errors.push(e),
    {},
    geolocation,
  );
  for (const s of [0, 1, 1, 2])
    emit({ coords: { latitude: 48.85, longitude: 2.34 + s / 100 }, timestamp: 1.79e12 + 1000 * s });
  while (released.length + errors.length < 4) await new Promise((resume) => setTimeout(resume, 5));
  stop();
  assert.deepEqual(errors, []);
  assert.deepEqual(released[1], released[2]);
  assert.notDeepEqual(released[0], released[1]);
  assert.equal((await device.budget()).entries.length, 1);
  await assert.rejects(new sfumato.LiveTrace({ noiseM: 500, device }).release(48.85, 2.34, 1.79e9 + 9), /adds 1000 m/);
  await assert.rejects(new sfumato.LiveTrace({ noiseM: 1000, device }).release(48.85, 2.34, 1.79e9), /runs forward/);
});

test("the live noise has the promised size", async () => {
  let square = 0;
  const people = 300;
  for (let i = 0; i < people; i++) {
    const trace = new sfumato.LiveTrace({ noiseM: 1000, device: new sfumato.Device(sfumato.forgetfulStore()) });
    const { latDeg } = await trace.release(48.5, 2.5, 1.79e9);
    square += (((latDeg - 48.5) * 111.2e3) / 1000) ** 2 / people;
  }
  // chi-square with 300 degrees of freedom: 5 sigma is 0.41
  assert.ok(Math.abs(square - 1) < 0.41, `mean square ${square}`);
});

test("once per epoch: one report in so many cycles, another in the next epoch, and the epochs may not change", async (t) => {
  const keys = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
  const base64url = (bytes) => Buffer.from(bytes).toString("base64url");
  const publicKey = base64url(await crypto.subtle.exportKey("raw", keys.publicKey));
  const sign = async (text) => base64url(await crypto.subtle.sign("Ed25519", keys.privateKey, Buffer.from(text)));
  const sha256 = async (text) => Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(text))).toString("hex");
  const golden = JSON.parse(offers.good.payload);
  const log = [];
  let current;
  const open = async (epochCycles) => {
    const cycle = log.length + 1;
    const { beta_per_m, campaign, floor, grid, output_weights } = golden;
    const published = { beta_per_m, campaign, cycle, epoch_cycles: epochCycles, floor, grid, output_weights };
    const payload = JSON.stringify({ ...published, reporting: "once-per-epoch" });
    const version = await sha256(payload);
    const entry = { campaign, cycle, index: cycle - 1, previous: log.at(-1)?.entry ?? "0".repeat(64), version };
    const hash = await sha256(JSON.stringify(entry));
    log.push({ ...entry, entry: hash, signature: await sign(hash) });
    current = { payload, version, signature: await sign(payload), public_key: publicKey };
  };
  t.mock.method(
    globalThis,
    "fetch",
    async (address) => new Response(JSON.stringify(address.endsWith("channel") ? current : { log }), { status: 200 }),
  );
  const person = new sfumato.Participant("https://collector.example/", "golden", {
    device: new sfumato.Device(sfumato.forgetfulStore()),
    caps: { minimumEpochS: 0 },
  });
  const drawn = [];
  for (let cycle = 1; cycle <= 5; cycle++) {
    await open(2);
    const report = await person.prepare(48.85, 2.34, await person.look(), { early: true });
    drawn.push([report.epoch, report.drawnNow]);
  }
  assert.deepEqual(drawn, [
    ["epoch 1", true],
    ["epoch 1", false],
    ["epoch 2", true],
    ["epoch 2", false],
    ["epoch 3", true],
  ]);
  assert.equal((await person.device.budget()).entries.length, 3);
  // Left to themselves, devices spread their reports over the epoch (cycles 5 and 6), each drawing once.
  const devices = Array.from(
    { length: 60 },
    () =>
      new sfumato.Participant("https://collector.example/", "golden", {
        device: new sfumato.Device(sfumato.forgetfulStore()),
      }),
  );
  const turns = [];
  for (let round = 0; round < 2; round++) {
    let now = 0;
    for (const device of devices) {
      const offer = await device.look();
      try {
        if ((await device.prepare(48.85, 2.34, offer)).drawnNow) now += 1;
      } catch (error) {
        assert.equal(error.name, "NotYet");
        assert.equal(await device.turn(offer), 6);
      }
    }
    turns.push(now);
    if (round === 0) await open(2);
  }
  assert.equal(turns[0] + turns[1], 60);
  assert.ok(Math.min(...turns) >= 12, `drawn in ${turns}`);
  await open(3);
  await assert.rejects(person.look(), /asked each device once-per-epoch 2 before/);
});

const { vectors } = JSON.parse(readFileSync(new URL("../../../tests/golden/rfc9474.json", import.meta.url), "utf8"));
for (const [name, attack] of Object.entries(attacks(sfumato, inside, offers, vectors)))
  test(`a device does not fall for ${name}`, attack);
