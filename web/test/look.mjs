// Look at pages as a person does, at 1280 and 390 px; prints per page its text, axe's findings, overflow and requests.
import { join } from "node:path";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { pages, pictures, executable } = JSON.parse(process.argv[2]);
const browser = await open({ executable });
const found = {};
for (const [name, address] of Object.entries(pages)) {
  const page = await browser.context.newPage();
  const [requests, problems] = [browser.requests.length, browser.problems.length];
  let overflow = 0;
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(address, { waitUntil: "networkidle", timeout: 120000 });
    overflow = Math.max(overflow, await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
    await page.screenshot({ path: join(pictures, `${name}_${width}.png`), fullPage: true });
  }
  const axe = await violations(page);
  const origin = new URL(address).origin;
  const outside = browser.requests
    .slice(requests)
    .map(({ url }) => url)
    .filter((url) => url !== address && !/^(data|blob):/.test(url) && new URL(url).origin !== origin);
  const text = await page.evaluate(() => document.body.innerText);
  found[name] = { text, axe, overflow_px: overflow, outside, problems: browser.problems.slice(problems) };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
