// In Chromium: every attack of clients/js/test/attacks.mjs on the published bundle; a person who takes part in a campaign
// with blind tickets; and the same page over plain http, where a browser checks no signature.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { open } from "./browser.mjs";

const { url, campaign, executable, place } = JSON.parse(process.argv[2]);
const root = new URL("../../", import.meta.url);
const files = {
  "/": ["text/html", () => "<!doctype html><title>attacks</title>"],
  "/sfumato.js": ["text/javascript", () => readFileSync(new URL("clients/js/dist/sfumato.js", root))],
  "/golden.js": ["text/javascript", () => readFileSync(new URL("clients/js/dist/golden.js", root))],
  "/attacks.mjs": ["text/javascript", () => readFileSync(new URL("clients/js/test/attacks.mjs", root))],
  "/offers.json": ["application/json", () => readFileSync(new URL("tests/golden/offers.json", root))],
  "/rfc9474.json": ["application/json", () => readFileSync(new URL("tests/golden/rfc9474.json", root))],
};
const server = createServer((request, reply) => {
  const [type, read] = files[request.url] ?? ["text/plain", () => ""];
  reply.writeHead(200, { "content-type": type });
  reply.end(read());
});
await new Promise((resume) => server.listen(0, "127.0.0.1", resume));
const at = (address) => address.replace("127.0.0.1", "plain.example");
const browser = await open({
  executable,
  geolocation: place,
  permissions: ["geolocation"],
  args: ["--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP plain.example 127.0.0.1"],
});
const { page } = browser;

await page.goto(`http://127.0.0.1:${server.address().port}/`);
const attacks = await page.evaluate(async () => {
  const [sfumato, inside, { attacks }] = await Promise.all(
    ["/sfumato.js", "/golden.js", "/attacks.mjs"].map((name) => import(name)),
  );
  const [offers, { vectors }] = await Promise.all(
    ["/offers.json", "/rfc9474.json"].map((name) => fetch(name).then((reply) => reply.json())),
  );
  const outcomes = {};
  for (const [name, attack] of Object.entries(attacks(sfumato, inside, offers, vectors)))
    try {
      await attack();
      outcomes[name] = "";
    } catch (error) {
      outcomes[name] = String(error);
    }
  return outcomes;
});

await page.goto(`${url}/campaigns/${campaign}`);
await page.click("#place");
await page.click("#draw");
await page.waitForSelector("#send");
await page.click("#send");
await page.waitForFunction(() => document.getElementById("send") === null, undefined, { timeout: 40_000 });
const told = await page.textContent("#status");
const kept = await page.evaluate(() => localStorage.getItem("sfumato-device"));
const asked = browser.requests.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body));

await page.goto(`${at(url)}/campaigns/${campaign}`);
await page.waitForFunction(() => document.querySelector("#aside span") !== null);
const plain = await page.textContent("#aside");
await browser.close();
server.close();
console.log(JSON.stringify({ attacks, told, kept, asked, plain }));
