// Streets from the operator's own file, on a phone in French: drawn, tapped, moved, and never asked for again. Prints one JSON object.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { url, campaign, pictures, executable } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
const { page, requests, problems, close } = await open({
  executable,
  viewport: { width: 390, height: 844 },
  locale: "fr-FR",
});
const found = {};
const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });

await page.goto(`${url}/campaigns/${campaign}`);
await page.waitForSelector("#place");
await page.waitForSelector("#area[data-ready]", { timeout: 30000 });
await page.waitForTimeout(300);
found.streets = await page.getAttribute("#area", "data-ready");
found.language = await page.getAttribute("html", "lang");
found.button = await page.innerText("#place");
found.inaccessible = await violations(page);
const before = requests.length;
const box = await page.locator("#area canvas").boundingBox();
await page.locator("#area .zoom button").first().click();
await page.locator("#area .zoom button").first().click();
await page.mouse.move(box.x + 150, box.y + 200);
await page.mouse.down();
await page.mouse.move(box.x + 80, box.y + 160, { steps: 4 });
await page.mouse.up();
await page.mouse.click(box.x + 150, box.y + 220);
await page.waitForTimeout(300);
found.tapped = await page.innerText("#draw");
found.askedMeanwhile = requests.length - before;
found.drawnByTap = await page.locator("#send").count();
await picture("streets-tapped");
await page.click("#draw");
await page.waitForSelector("#send");
found.sentence = await page.innerText("#status");
found.askedUntilDrawn = requests.length - before;
await picture("streets-drawn");
await page.goto(`${url}/campaigns/${campaign}?language=de`);
await page.waitForSelector("#send");
found.german = await page.innerText("#send");
await page.goto(`${url}/campaigns/${campaign}/dashboard`);
await page.waitForSelector("#map[data-ready]", { timeout: 30000 });
found.dashboardStreets = await page.getAttribute("#map", "data-ready");
await page.waitForSelector("#map-controls button");
found.dashboardLanguage = await page.getAttribute("html", "lang");
found.dashboardHeadline = await page.innerText("#headline");
found.dashboardTitle = await page.innerText("#map-section-title");
found.dashboardButtons = await page.locator("#map-controls button").allInnerTexts();
found.dashboardInaccessible = await violations(page);
await picture("streets-dashboard");
// A language chosen by the switch goes along from page to page: nothing else remembers it.
await page.goto(`${url}/campaigns/${campaign}?language=de`);
await page.locator("header nav a").nth(1).click();
await page.waitForSelector("#dashboard[data-shown]");
found.chosenMap = page.url();
found.chosenLanguage = await page.getAttribute("html", "lang");
await close();
console.log(JSON.stringify({ ...found, requests, problems }));
