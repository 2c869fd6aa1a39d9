// One person's journey in a real browser. Called by tests/collect/service/test_browser.py with one JSON argument; prints one JSON object.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { url, campaign, token, place, pictures, executable } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
const { context, page, requests, problems, close } = await open({
  executable,
  viewport: { width: 1280, height: 900 },
  geolocation: place,
  permissions: ["geolocation"],
});
const found = {};

async function picture(name) {
  const size = page.viewportSize();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ ...size, height }); // taller, not "full page": a map redraws itself when the page is stitched
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(pictures, `${name}.png`) });
  await page.setViewportSize(size);
}

async function everyLook(name) {
  for (const [look, scheme, width] of [
    ["light", "light", 1280],
    ["dark", "dark", 1280],
    ["phone", "light", 390],
    ["phone-dark", "dark", 390],
  ]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 844 });
    await page.waitForTimeout(300);
    found[`${name} ${look} is too wide`] = await page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1,
    );
    found[`${name} ${look} is inaccessible`] = await violations(page);
    await picture(`${name}-${look}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

const operator = async () => {
  const reply = await fetch(`${url}/api/v1/campaigns/${campaign}/close`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: "{}",
  });
  return reply.json();
};
const memory = () => page.evaluate(() => localStorage.getItem("sfumato-device"));
const cellShown = () => page.locator("#report td").first().textContent(); // it is folded
const mapReady = (id) => page.waitForSelector(`#${id}[data-ready]`, { timeout: 30000 });

// 1. The dashboard before
await page.goto(`${url}/campaigns/${campaign}/dashboard`);
await page.waitForSelector("#dashboard[data-shown]");
await mapReady("map");
await page.waitForTimeout(800);
found.cycleBefore = await page.getAttribute("#dashboard", "data-shown");
found.tableBefore = await page.locator("#map-table table").first().textContent();
const squares = async () => {
  await page.getByRole("button", { name: "Every square" }).click(); // so few reports tell no areas apart
  await page.waitForTimeout(400);
  const seen = await page.locator("#map canvas").screenshot();
  await page.getByRole("button", { name: "Areas told apart" }).click();
  return seen;
};
const mapBefore = await squares();

// 2. The participant's page: the channel is checked, nothing is drawn until asked for
const began = Date.now();
await page.goto(`${url}/campaigns/${campaign}`);
await page.waitForSelector("#place");
found.interactiveMs = Date.now() - began;
await mapReady("area");
found.checked = await page.innerText("#status");
found.entriesBefore = JSON.parse(await memory()).entries.length;
await page.keyboard.press("Tab"); // the keyboard alone: skip link, links of the head, then the button
for (let i = 0; i < 10 && (await page.evaluate(() => document.activeElement?.id)) !== "place"; i++)
  await page.keyboard.press("Tab");
found.keyboardReachesDraw = (await page.evaluate(() => document.activeElement?.id)) === "place";
await page.keyboard.press("Enter");
await page.waitForSelector("#draw");
found.asked = await page.innerText("#status");
found.focusOnDraw = await page.evaluate(() => document.activeElement?.id);
found.entriesWhenAsked = JSON.parse(await memory()).entries.length;
await page.keyboard.press("Enter");
await page.waitForSelector("#send");
found.focusOnReport = await page.evaluate(() => document.activeElement?.id);
found.live = await page.getAttribute("#status", "aria-live");
found.cell = await cellShown();
found.shown = await page.textContent("#report");
found.sentence = await page.innerText("#status");
found.budget = await page.textContent("#budget");
found.foldsOpen = await page.locator("details[open]").count();
found.stateDrawn = Object.values(JSON.parse(await memory()).campaigns)[0].reports;
found.postsBeforeSend = requests.filter(({ method }) => method === "POST").length;
await page.waitForTimeout(800);
await everyLook("participant");

// 3. Reload, and again from another place: the same report, not drawn again
await page.reload();
await page.waitForSelector("#send");
found.cellAfterReload = await cellShown();
await context.setGeolocation({ latitude: place.latitude + 0.02, longitude: place.longitude - 0.03 });
await page.reload();
await page.waitForSelector("#send");
found.cellElsewhere = await cellShown();
found.entriesAfterReload = JSON.parse(await memory()).entries.length;

// 4. Send
await page.click("#send");
await page.waitForFunction(() => /counted in round/.test(document.getElementById("status")?.textContent ?? ""), null, {
  timeout: 30000,
});
found.sent = await page.innerText("#status");
found.memory = await memory();
await page.reload();
await page.waitForFunction(() => /counted in round/.test(document.getElementById("status")?.textContent ?? ""));
found.buttonsAfterSend = await page.locator("#send, #draw, #place").count();

// 5. Close the cycle and see the map change
await page.goto(`${url}/campaigns/${campaign}/dashboard`);
await page.waitForSelector("#dashboard[data-shown]");
found.closed = await operator();
await page.waitForFunction(
  (before) => document.getElementById("dashboard")?.dataset.shown !== before,
  found.cycleBefore,
  { timeout: 60000 },
);
await mapReady("map");
await page.waitForTimeout(800);
found.cycleAfter = await page.getAttribute("#dashboard", "data-shown");
found.tableAfter = await page.locator("#map-table table").first().textContent();
found.headline = await page.innerText("#headline");
found.mapChanged = Buffer.compare(mapBefore, await squares()) !== 0;
found.charts = await page.locator("#charts figure svg").count();
found.alarm = await page.innerText("#alarm");
await everyLook("dashboard");
await page.getByRole("button", { name: "Every square" }).click();
found.pressed = await page.getByRole("button", { name: "Every square" }).getAttribute("aria-pressed");
found.legend = await page.innerText("#legend");
await page.focus("#cycle");
await page.keyboard.press("ArrowLeft");
await page.waitForFunction(
  (before) => document.getElementById("dashboard")?.dataset.shown !== before,
  found.cycleAfter,
);
found.slid = await page.getAttribute("#dashboard", "data-shown");
await page.getByText("The map as a table").first().click();
await page.getByText(/All \d+ squares/).click();
await page.waitForSelector("#map-table details tbody tr");
found.rowsOfTwin = await page.locator("#map-table details tbody tr").count();
await picture("dashboard-squares");

found.unlabelled = await page.evaluate(() =>
  [...document.querySelectorAll("button, a, input, select")]
    .filter(
      (one) =>
        !(one.textContent?.trim() || one.getAttribute("aria-label") || one.getAttribute("title") || one.labels?.length),
    )
    .map((one) => one.outerHTML),
);
found.cookies = await context.cookies();
await close();
console.log(JSON.stringify({ ...found, requests, problems }));
