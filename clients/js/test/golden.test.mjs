// The same golden files as tests/collect/client/test_client_golden.py: same cells for every word, same probabilities, same noise.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as client from "../dist/golden.js";

const golden = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/golden/${name}.json`, import.meta.url), "utf8"));
const words = (text) => BigUint64Array.from(text.match(/.{16}/g) ?? [], (word) => BigInt(`0x${word}`));
const near = (found, wanted, tolerance, what) =>
  assert.ok(
    Math.abs(found - wanted) <= tolerance * Math.max(1, Math.abs(wanted)),
    `${what}: ${found} is not ${wanted}`,
  );

for (const channel of golden("reports").channels) {
  test(`${channel.name}: every golden word draws the same cell as in Python`, () => {
    for (const { cell, draws } of channel.cases) {
      const weighted = client.weights(channel.grid, channel.output_weights, cell, channel.beta_per_m);
      for (const [text, drawn] of draws) assert.equal(client.cellFromWords(weighted, words(text)), drawn);
    }
  });
  test(`${channel.name}: probabilities agree to 1e-12, relative`, () => {
    for (const { cell, probabilities } of channel.cases) {
      const found = client.probabilities(
        client.weights(channel.grid, channel.output_weights, cell, channel.beta_per_m),
      );
      for (const [y, p] of Object.entries(probabilities))
        assert.ok(Math.abs(found[y] / p - 1) <= 1e-12, `P(${y} | ${cell}) is ${found[y]}, not ${p}`);
    }
  });
  test(`${channel.name}: what a report reveals agrees with Python`, () => {
    const found = client.reveals(channel.grid, channel.output_weights, channel.beta_per_m);
    near(found.epsilonPerKm, channel.reveals.epsilon_per_km, 1e-11, "epsilon");
    near(found.twoCellSuccess, channel.reveals.two_cell_success, 1e-11, "two-cell success");
    assert.equal(found.exact, channel.reveals.exact);
    assert.equal(found.twoCellExact, channel.reveals.two_cell_exact);
    assert.equal(found.twoCellWithinM, channel.reveals.two_cell_within_m);
  });
}

test("every golden place falls in the same cell, also outside the grid and over the date line", () => {
  for (const { grid, points } of golden("places").grids)
    for (const [lat, lon, cell] of points) assert.equal(client.locate(grid, lat, lon), cell);
});

test("every golden device has the same turn in its epoch", async () => {
  for (const { campaign, epoch, secret, epoch_cycles, turn } of golden("turns").turns)
    assert.equal(await client.epochTurn(campaign, epoch, secret, epoch_cycles), turn);
});

test("every golden word gives the same standard normal to 1e-12", () => {
  for (const [word, value] of golden("normals").draws)
    near(client.normalsFromWords(words(word))[0], value, 1e-12, word);
});

test("the live trace adds the same noise to a nanometre and releases the same places", () => {
  const { ladder, rows, noise_m, budget } = golden("multiscale");
  let state = null;
  for (const row of rows) {
    const given = words(row.words.join(""));
    assert.equal(given.length, client.normalsNeeded(ladder, state, row.time_s));
    state = client.advance(ladder, state, row.time_s, client.normalsFromWords(given));
    const moved = client.displacement(ladder, state, noise_m);
    near(moved[0], row.east_north_m[0], 1e-9, "east");
    near(moved[1], row.east_north_m[1], 1e-9, "north");
    const [lat, lon] = client.snap(...client.displace(row.lat, row.lon, ...moved));
    near(lat, row.released[0], 1e-9, "latitude");
    near(lon, row.released[1], 1e-9, "longitude");
  }
  const found = client.liveBudget(noise_m);
  near(found.epsilonPerKm, budget.epsilon_per_km, 1e-12, "epsilon per km");
});

const offers = golden("offers");

test("a signed channel within the caps is accepted and its log checks out", async () => {
  const offer = await client.checkOffer(offers.good, client.DEFAULT_CAPS, offers.public_key);
  assert.equal(offer.cycle, 3);
  await client.checkLog(offers.log, offer);
  await assert.rejects(client.checkLog(offers.log.slice(0, 2), offer), /does not list exactly this version/);
  const forged = structuredClone(offers.log);
  forged[1].version = "33".repeat(32);
  await assert.rejects(client.checkLog(forged, offer), /does not match its hash/);
});

for (const [name, { document, word }] of Object.entries(offers.refused))
  test(`a channel with ${name} is refused`, async () => {
    await assert.rejects(client.checkOffer(document, client.DEFAULT_CAPS), (error) => {
      assert.equal(error.name, "Refused");
      assert.match(error.message, new RegExp(word, "i"));
      return true;
    });
  });

test("another pinned key is refused", async () => {
  await assert.rejects(client.checkOffer(offers.good, client.DEFAULT_CAPS, "A".repeat(43)), /another key/);
});

test("a second version within a cycle and a jump between cycles are refused; the next cycle is not", async () => {
  const offer = await client.checkOffer(offers.good, client.DEFAULT_CAPS);
  const memory = {
    versions: { 3: offer.version },
    last_cycle: 3,
    log_weights: client.packLogWeights(offer.outputWeights),
  };
  const check = async (document) =>
    client.checkAgainstMemory(await client.checkOffer(document, client.DEFAULT_CAPS), memory, client.DEFAULT_CAPS);
  await check(offers.good);
  await check(offers.next_cycle);
  await assert.rejects(check(offers.second_version), /two channel versions/);
  await assert.rejects(check(offers.next_cycle_jumped), /log c moved/);
});
