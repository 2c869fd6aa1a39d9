// Without streets, in French: an officer finds a town and uploads districts; a person on a phone finds a name on the page.
// Prints one JSON object.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { url, token, file, wrong, pictures, executable } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
const { context, page, requests, problems, close } = await open({
  executable,
  viewport: { width: 1280, height: 1100 },
  locale: "fr-FR",
});
const found = {};
const picture = (name, whole = true) => page.screenshot({ path: join(pictures, `names-${name}.png`), fullPage: whole });
const look = async (width, scheme) => {
  await page.setViewportSize({ width, height: width < 500 ? 844 : 1100 });
  await page.emulateMedia({ colorScheme: scheme });
  await page.waitForTimeout(300);
};

// The officer: a town by its name, districts from the city's GIS, a rehearsal
await page.goto(`${url}/operate`);
await page.fill("#token", token);
await page.press("#token", "Enter");
await page.click("#new");
await page.waitForSelector("#draw-map[data-ready]");
await page.fill("#go-to", "nantes");
await page.press("#go-to", "Enter");
await page.waitForSelector("#places-found button", { timeout: 60000 });
found.places = await page.innerText("#places-found");
await page.waitForFunction(() => document.querySelector("#draw-map")?.getAttribute("data-named") > 3);
await page.waitForTimeout(300);
await picture("search");
await page.fill("#go-to", "xyzzy");
await page.press("#go-to", "Enter");
await page.waitForFunction(() => /500/.test(document.getElementById("places-found")?.textContent ?? ""));
found.unknown = await page.innerText("#places-found");
const districts = page.locator("#districts [role=status]");
await page.setInputFiles("#f-areas", wrong);
await page.waitForFunction(() => /:/.test(document.querySelector("#districts [role=status]")?.textContent ?? ""));
found.wrong = await districts.innerText();
await page.setInputFiles("#f-areas", file);
await page.waitForSelector("#f-name_field", { state: "visible", timeout: 60000 });
found.read = await districts.innerText();
found.nameField = await page.inputValue("#f-name_field");
await page.waitForSelector("#plan-districts", { timeout: 60000 });
found.plan = await page.innerText("#plan-districts");
found.operateInaccessible = await violations(page);
await picture("districts");
await look(390, "dark");
found.wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1);
await picture("districts-phone-dark");
await look(1280, "light");
await page.fill("#f-cell", "700");
await page.fill("#f-title", "Nantes à vélo");
await page.fill("#f-question", "Où roulez-vous le plus ?");
await page.selectOption("#f-language", "fr");
await page.locator("details:has(#f-least) > summary").click();
await page.fill("#f-least", "1");
await page.fill("#f-soonest", "0");
await page.click("#rehearse");
await page.waitForSelector("#no-streets");
found.warned = await page.innerText("#no-streets");
const campaign = new URL(await page.inputValue("#link")).pathname;
// At a stand, on a phone
await look(390, "dark");
await page.click("#show-stand");
await page.waitForFunction(() => document.getElementById("stand-count")?.textContent);
found.stand = await page.innerText("#stand");
found.standFills = await page.evaluate(() => {
  const { width, height } = document.getElementById("stand").getBoundingClientRect();
  const { width: code } = document.querySelector("#stand svg").getBoundingClientRect();
  return [width / innerWidth, height / innerHeight, code / innerWidth];
});
await picture("stand-phone-dark", false);
await page.click("#stand-close");

// The person: no position is given; a name is found on the page, and nobody is asked for it
await page.goto(url + campaign);
await page.waitForSelector("#area[data-named]");
await page.waitForSelector("#find");
await page.waitForTimeout(300);
await picture("page-phone-dark");
found.pageRequests = requests.length;
await context.clearPermissions();
await page.click("#place");
await page.waitForSelector("#status.bad");
found.denied = await page.innerText("#status");
// Somewhere else now: told, and nothing is drawn; here, but asked about another place: corrected before anything is drawn
await page.click("#by-hand summary");
await page.fill("#lat", "48.85");
await page.fill("#lon", "2.35");
await page.click("#by-hand button");
await page.waitForFunction((before) => document.getElementById("status")?.textContent !== before, found.denied);
found.far = [await page.innerText("#status"), await page.locator("#draw, #send").count()];
await page.click("#by-hand summary");
await context.grantPermissions(["geolocation"], { origin: url });
await context.setGeolocation({ latitude: 47.2, longitude: -1.55 });
await page.click("#place");
await page.waitForSelector("#draw");
found.now = await page.innerText("#status");
await page.click("#other-place");
found.corrected = [await page.innerText("#status"), await page.locator("#draw, #send").count()];
await page.fill("#name", "Pitcairn");
await page.press("#name", "Enter");
found.notHere = await page.innerText("#status");
await page.fill("#name", "dervallieres");
await page.press("#name", "Enter");
await page.waitForSelector("#draw");
found.asked = await page.innerText("#status");
await page.waitForTimeout(300);
found.inaccessible = await violations(page);
await picture("found-phone-dark");
found.askedMeanwhile = requests.slice(found.pageRequests).map((one) => one.url);
await look(1280, "light");
await picture("found-light");
await page.click("#draw");
await page.waitForSelector("#send");
found.beforeSending = await page.innerText("#participant");
found.searchAfter = await page.locator("#find").count();
await picture("drawn-light");
await page.click("#send");
await page.waitForSelector("#send", { state: "detached", timeout: 60000 });
const closed = await context.request.post(`${url}/api/v1${campaign}/close`, {
  headers: { Authorization: `Bearer ${token}` },
  data: {},
});
found.closed = (await closed.json()).closed;
await page.goto(`${url}${campaign}/dashboard`);
await page.waitForSelector("#map[data-named]");
found.mapNames = await page.getAttribute("#map", "data-named");
await page.waitForTimeout(300);
await picture("map-light");
await close();
console.log(JSON.stringify({ ...found, campaign, requests, problems }));
