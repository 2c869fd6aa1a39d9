// A person protects tracks on the page, opened from the disk: drop, hide, blur, look, save. Prints what was seen as JSON.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { page: file, inputs, packed, short, out, pictures, executable, home, places } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
mkdirSync(out, { recursive: true });
const address = pathToFileURL(file).href;
const found = { axe: {}, overflow: {} };

const browser = await open({ executable, acceptDownloads: true, viewport: { width: 1280, height: 900 } });
browser.context.setDefaultTimeout(120_000);

async function session(name, act, { width = 1280, height = 900, colorScheme = "light" } = {}) {
  const page = await browser.context.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  const [requests, problems] = [browser.requests.length, browser.problems.length];
  await page.goto(address);
  const seen = await act(page);
  await page.close();
  const urls = browser.requests.slice(requests).map(({ url }) => url);
  const outside = urls.filter((url) => url !== address && !/^(data|blob):/.test(url));
  found[name] = { ...seen, outside, requests: urls.length, problems: browser.problems.slice(problems) };
}

const look = async (page, name) => {
  found.axe[name] = await violations(page);
  found.overflow[name] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
};
const picture = async (page, name) => {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
};
const saved = async (page, label, name) => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: label }).click(),
  ]);
  const target = join(out, name ?? download.suggestedFilename());
  await download.saveAs(target);
  return target;
};
const protect = async (page) => {
  await page.getByRole("button", { name: "Protect these tracks" }).click();
  await page.waitForFunction(
    () => !document.getElementById("result").hidden || document.querySelector("#status.problem"),
  );
  return page.locator("#status").innerText();
};

// 1. Several tracks, one home hidden by typing, the rest blurred; dark, by mouse and by keyboard.
await session("hidden", async (page) => {
  await look(page, "empty");
  const refused = await protect(page);
  await page.setInputFiles("#files", inputs);
  await page.waitForFunction((count) => document.querySelectorAll("#tracks li").length === count, inputs.length);
  const stillRefused = await protect(page);
  await page.fill("#lat", String(home[0]));
  await page.fill("#lon", String(home[1]));
  await page.selectOption("#radius", "800");
  await page.getByRole("button", { name: "Hide this place" }).click();
  await page.fill("#lat", String(home[0] + 0.0005));
  await page.fill("#lon", String(home[1]));
  await page.getByRole("button", { name: "Hide this place" }).click();
  const second = await page.locator("#status").innerText();
  await picture(page, "protect-page-before");
  await protect(page);
  const focus = await page.evaluate(() => document.activeElement?.id);
  const lockedBefore = await page.getByRole("button", { name: "Save all as a ZIP" }).isDisabled();
  const privateFile = await saved(page, "Save the places file", "me.places");
  const zip = await saved(page, "Save all as a ZIP", "hidden.zip");
  await look(page, "protected");
  await picture(page, "protect-page");
  const outcome = await page.locator("#outcome").innerText();
  // Go back, blur too: the circle is the same.
  await page.getByRole("button", { name: "Change something" }).click();
  await page.getByRole("radio", { name: /Medium/ }).check();
  const promise = await page.locator("#promise").innerText();
  await protect(page);
  const both = await saved(page, "Save all as a ZIP", "both.zip");
  await picture(page, "protect-page-blurred");
  const changeable = await page.getByRole("button", { name: "Change something" }).isVisible();
  return { refused, stillRefused, second, focus, lockedBefore, privateFile, zip, both, outcome, promise, changeable };
});

// 2. One track, blurred only, from a drop; on a phone, dark.
await session(
  "blurred",
  async (page) => {
    const text = readFileSync(inputs[0], "utf8");
    await page.evaluate((content) => {
      const data = new DataTransfer();
      data.items.add(new File([content], "From home.gpx"));
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer: data }));
    }, text);
    await page.waitForSelector("#tracks li");
    await page.getByRole("radio", { name: /Light/ }).check();
    await protect(page);
    await look(page, "phone, dark");
    await picture(page, "protect-page-phone");
    return {
      release: await saved(page, "Save shared.gpx", "shared.gpx"),
      certificate: await saved(page, "Save certificate.json", "certificate.json"),
      command: await page.locator("#command").textContent(),
      outcome: await page.locator("#outcome").innerText(),
    };
  },
  { width: 390, height: 844, colorScheme: "dark" },
);
// An hour of a point a minute: what it holds cannot be told, and the page says so.
await session(
  "short",
  async (page) => {
    await page.setInputFiles("#files", [short]);
    await page.waitForSelector("#tracks li");
    await page.getByRole("radio", { name: /Light/ }).check();
    await protect(page);
    await picture(page, "protect-page-short-phone");
    await saved(page, "Save shared.gpx", "short/shared.gpx");
    await saved(page, "Save certificate.json", "short.json");
    return { outcome: await page.locator("#outcome").innerText() };
  },
  { width: 390, height: 844 },
);

// 3. Next week: the same places file, a suggestion refused because it is hidden already, a place picked on the map by key.
await session("again", async (page) => {
  await page.setInputFiles("#files", inputs);
  await page.waitForSelector("#suggestions button");
  const suggestions = await page.locator("#suggestions button").allInnerTexts();
  await page.locator("summary", { hasText: "open my places file" }).click();
  await page.setInputFiles("#places-file", places ?? join(out, "me.places"));
  await page.waitForSelector("#places li");
  const opened = await page.locator("#places").innerText();
  const afterwards = await page.locator("#suggestions button").allInnerTexts();
  await page.locator("#map").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("+");
  await page.keyboard.press("Enter");
  const picked = await page.inputValue("#lat");
  await page.locator("#map").click({ position: { x: 40, y: 60 } });
  const tapped = await page.inputValue("#lat");
  await protect(page);
  const zip = await saved(page, "Save all as a ZIP", "again.zip");
  const placesButton = await page.locator("#save-places").count();
  return { suggestions, opened, afterwards, picked, tapped, zip, placesButton };
});

// With heart rates, places cut out.
await session("kept", async (page) => {
  await page.setInputFiles("#files", inputs);
  await page.waitForSelector("#suggestions button");
  const offered = await page.locator("#keep").isVisible();
  await page.locator("summary", { hasText: "open my places file" }).click();
  await page.setInputFiles("#places-file", places ?? join(out, "me.places"));
  await page.waitForSelector("#places li");
  await page.locator("#keep").check();
  await protect(page);
  await saved(page, "Save all as a ZIP", "kept.zip");
  await picture(page, "protect-page-kept");
  return { offered, outcome: await page.locator("#outcome").innerText() };
});

// 4. Files that are no tracks.
const bad = join(out, "bad.gpx");
writeFileSync(bad, "<!DOCTYPE gpx><gpx><trk/></gpx>");
await session("bad", async (page) => {
  await page.setInputFiles("#files", [bad]);
  await page.waitForSelector("#status.problem");
  return { words: await page.locator("#status").innerText(), rows: await page.locator("#tracks li").count() };
});

// 5. A phone: two hundred tracks of a ZIP and one packed alone, in a box that scrolls; the page saved from a server runs as well.
await session(
  "packed",
  async (page) => {
    await page.setInputFiles("#files", packed);
    let seen = 0;
    while ((await page.locator("#tracks li").count()) === 0) {
      seen += await page.locator("#reading").isVisible();
      await page.waitForTimeout(5);
    }
    const words = await page.locator("#status").innerText();
    await look(page, "many, phone");
    await picture(page, "protect-page-many-phone");
    const box = await page.locator("#tracks").evaluate((list) => [list.scrollHeight, list.clientHeight]);
    const said = await page.locator("#offline").innerText();
    return { rows: await page.locator("#tracks li").count(), words, box, seen, said };
  },
  { width: 390, height: 844 },
);
await session("saved", async (page) => {
  await page.route("http://page.test/", (route) =>
    route.fulfill({ body: readFileSync(file), contentType: "text/html" }),
  );
  await page.goto("http://page.test/");
  const copy = await saved(page, "Save this page", "copy.html");
  await page.goto(pathToFileURL(copy).href);
  await page.setInputFiles("#files", inputs);
  await page.waitForSelector("#tracks li");
  return { copy, said: await page.locator("#offline").innerText(), rows: await page.locator("#tracks li").count() };
});

await browser.close();
console.log(JSON.stringify(found));
