// The pages without the bundle, with JavaScript off: complete, and asking for no place. Prints one JSON object.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { open } from "./browser.mjs";

const { url, campaign, pictures, executable, name } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
const { page, requests, problems, close } = await open({
  executable,
  viewport: { width: 1280, height: 900 },
  javaScriptEnabled: false,
});
const found = {};
for (const [part, address] of [
  ["participant", `/campaigns/${campaign}`],
  ["dashboard", `/campaigns/${campaign}/dashboard`],
])
  for (const [look, scheme, width] of [
    ["light", "light", 1280],
    ["dark", "dark", 1280],
    ["phone", "light", 390],
  ]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 844 });
    await page.goto(url + address);
    found[part] = await page.textContent("main"); // folded parts too
    found[`${part} shades`] = await page
      .locator("svg rect.cell")
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute("class")))
      .catch(() => null);
    await page.screenshot({ path: join(pictures, `${name}-${part}-${look}.png`), fullPage: true });
  }
found.inputs = await page.locator("input, form, button").count();
found.scripts = await page.locator("script").count();
await close();
console.log(JSON.stringify({ ...found, requests, problems }));
