// A city officer from /operate to the printed report, by keyboard alone. One JSON argument; prints one JSON object.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { url, token, language, areas, field, texts, crowd, pictures, executable } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
const words = (name) =>
  JSON.parse(readFileSync(new URL(`../../src/sfumato/collect/service/pages/words/${name}.json`, import.meta.url)));
const operate = words(`operate.${language}`);
const { page, requests, problems, close } = await open({
  executable,
  viewport: { width: 1280, height: 900 },
  locale: language,
  timezoneId: "Europe/Paris",
  acceptDownloads: true,
});
page.on("filechooser", (chosen) => chosen.setFiles(areas));
const found = { looks: {}, texts: {} };

async function everyLook(name) {
  for (const [look, scheme, width] of [
    ["light", "light", 1280],
    ["dark", "dark", 1280],
    ["phone", "light", 390],
    ["phone-dark", "dark", 390],
  ]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 844 });
    await page.waitForTimeout(250);
    found.looks[`${name} ${look}`] = {
      wide: await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1),
      cut: await page.evaluate(cutInTables),
      rules: await violations(page),
    };
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(pictures, `${name}-${look}.png`) });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
  found.texts[name] = await page.evaluate(() => document.querySelector("main").textContent);
}

/** The words and numbers of tables that go over more than one line. */
function cutInTables() {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.closest("td, th")) continue;
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/[^\s-]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (range.getClientRects().length > 1) found.push(word);
    }
  }
  return found;
}

/** Tab until this has the focus. */
async function reach(selector) {
  for (let step = 0; step < 150; step++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${selector}`);
}
const press = async (selector) => {
  await reach(selector);
  await page.keyboard.press("Enter");
};
const type = async (selector, text) => {
  await reach(selector);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(text);
};
/** The option of a list, with the arrows. */
const choose = async (selector, value) => {
  await reach(selector);
  await page.keyboard.press("Home");
  for (let step = 0; step < 40; step++) {
    if (await page.evaluate((wanted) => document.activeElement.value === wanted, value)) return;
    await page.keyboard.press("ArrowDown");
  }
  throw new Error(`${selector} has no ${value}`);
};
const says = (wanted) =>
  page.waitForFunction((w) => document.getElementById("said")?.textContent.includes(w), wanted, { timeout: 60000 });
const named = async (id, key) =>
  page.evaluate(
    ([box, label]) => {
      const wanted = [...document.querySelectorAll(`#${box} button`)].find((one) => one.textContent === label);
      wanted.dataset.wanted = "yes";
    },
    [id, operate[key]],
  );
const answered = (city) =>
  execFileSync(crowd[0], [...crowd.slice(1), "--city", city], { stdio: ["ignore", "ignore", "inherit"] });

// 1. The door, and a campaign with districts
await page.goto(`${url}/operate`);
await page.waitForSelector("#token");
found.language = await page.evaluate(() => document.documentElement.lang);
await page.keyboard.type(token);
await page.keyboard.press("Enter");
await page.waitForSelector("#campaigns, #new");
await press("#new");
await page.waitForSelector("#draw-map[data-ready]");
await reach("#f-areas");
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelectorAll("#f-name_field option").length > 0);
await choose("#f-name_field", field);
await type("#f-people", "1500");
await choose("#f-cost", "2");
await page.waitForSelector("#plan-districts", { timeout: 60000 });
await type("#f-title", texts.title);
await type("#f-question", texts.question);
await type("#f-organiser", texts.organiser);
await type("#f-contact", "velo@example.org");
await choose("#f-language", language);
for (const key of ["legal_basis", "officer", "processor", "retention"]) await type(`#f-${key}`, texts[key]);
await press("#rhythm summary, details:has(#f-soonest) summary");
await type("#f-soonest", "0");
await everyLook("new");
found.plan = await page.innerText("#plan");
found.zone = await page.inputValue("#f-time_zone");
await press("#rehearse");
await page.waitForSelector("#qr svg");
found.address = await page.inputValue("#link");
await page.emulateMedia({ media: "print" });
found.poster = await page.locator(".poster").innerText();
await page.pdf({ path: join(pictures, "poster.pdf"), preferCSSPageSize: true, format: "A4" });
await page.emulateMedia({ media: "screen" });

// 2. Two rounds of people
for (const [round, city] of [
  [1, "paris"],
  [2, "sf"],
]) {
  answered(city);
  await page.reload();
  await page.waitForSelector("#act-buttons");
  await named("act-buttons", "close");
  await press("[data-wanted]");
  await says(String(round));
  await page.waitForTimeout(500);
}
await everyLook("campaign-closed");

// 3. The map and what changed
await page.goto(`${found.address}/dashboard`);
await page.waitForSelector("#dashboard[data-shown]");
await page.waitForSelector("#map[data-ready]");
await page.waitForTimeout(500);
await page.evaluate(() =>
  document.querySelectorAll("details").forEach((one) => {
    one.open = true;
  }),
);
await everyLook("dashboard");

// 4. The report: other rounds compared, then on paper, where no column is cut
await page.goto(`${found.address}/report`);
await page.waitForSelector("#print:not([hidden])");
await everyLook("report");
found.reportMs = Date.now();
await page.goto(`${found.address}/report`);
found.reportMs = Date.now() - found.reportMs;
await type("#before", "2");
await type("#after", "1");
await press("#changes form button");
await page.waitForURL(/before=2&after=1/);
found.turned = await page.innerText("#changes");
await type("#after", "2");
await press("#changes form button");
await page.waitForURL(/before=2&after=2/);
found.refused = await page.innerText("#changes .bad");
await page.goto(`${found.address}/report`);
await page.emulateMedia({ media: "print" });
await page.setViewportSize({ width: 673, height: 1000 }); // A4 but for its margins
found.cut = await page.evaluate(() =>
  [...document.querySelectorAll(".scroll, main")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.className),
);
found.legendOnPaper = await page.evaluate(() =>
  [...document.querySelectorAll(".legend .ramp, .legend .fade")].map((one) => [
    getComputedStyle(one).printColorAdjust,
    one.getBoundingClientRect().width > 20,
    getComputedStyle(one).backgroundImage !== "none",
  ]),
);
found.onPaper = await page.evaluate(() =>
  [...document.querySelectorAll("form, button, nav, footer, .buttons")]
    .filter((one) => one.getBoundingClientRect().height > 0)
    .map((one) => one.outerHTML.slice(0, 80)),
);
await page.pdf({ path: join(pictures, "report.pdf"), preferCSSPageSize: true });
await page.emulateMedia({ media: "screen" });
await page.setViewportSize({ width: 1280, height: 900 });
const files = {};
for (const selector of ["#png", 'a[href*="map.svg"]', 'a[href*="report.csv"]']) {
  const saved = page.waitForEvent("download");
  await press(selector);
  const file = await saved;
  files[file.suggestedFilename()] = await file.path();
  await file.saveAs(join(pictures, file.suggestedFilename()));
}
found.files = Object.keys(files);

const before = requests.length;
await page.goto(`${found.address}`);
await page.waitForSelector("#place, #marked, main button");
await page.waitForTimeout(500);
found.loaded = requests.slice(before).map((one) => one.url);
await everyLook("participant");
await page.goto(`${found.address}/privacy-notice`);
await everyLook("notice");
await close();
console.log(JSON.stringify({ ...found, requests, problems }));
