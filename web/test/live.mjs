// The live trace in a real browser: watchPosition moves, only noisy positions come out, a reload goes on with the same noise.
import { readFileSync } from "node:fs";
import { open } from "./browser.mjs";

const { url, executable } = JSON.parse(process.argv[2]);
const client = readFileSync(new URL("../../clients/js/dist/sfumato.js", import.meta.url), "utf8");
const start = { latitude: 48.85, longitude: 2.34 };
// The server's own pages do not load the live client, so the test brings it along; bypassCSP lets it.
const { context, page, requests, problems, close } = await open({
  executable,
  geolocation: start,
  permissions: ["geolocation"],
  bypassCSP: true,
});

async function watch(places) {
  await page.goto(`${url}/`);
  await page.evaluate(async (source) => {
    const { LiveTrace } = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    globalThis.released = [];
    globalThis.errors = [];
    new LiveTrace({ noiseM: 1000 }).watch(
      (position) => globalThis.released.push(position),
      (error) => globalThis.errors.push(`${error.code ?? ""} ${error.name ?? error.constructor.name} ${error.message}`),
    );
  }, client);
  for (const [index, place] of places.entries()) {
    await context.setGeolocation(place);
    await page.waitForFunction((count) => globalThis.released.length > count, index, { timeout: 15000 });
    await page.waitForTimeout(300);
  }
  return page.evaluate(() => ({
    released: globalThis.released,
    errors: globalThis.errors,
    memory: JSON.parse(localStorage.getItem("sfumato-device")),
  }));
}

const places = (from) => [0, 1, 2].map((i) => ({ latitude: from + i / 1000, longitude: 2.34 + i / 1000 }));
const first = await watch(places(48.85));
const second = await watch(places(48.86));
await close();
console.log(JSON.stringify({ first, second, requests, problems }));
