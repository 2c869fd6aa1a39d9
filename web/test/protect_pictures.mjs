// Pictures of the page for the documentation, from the sample rides: run by scripts/page_pictures.py.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { open } from "./browser.mjs";

const { page: file, inputs, pictures, executable, home } = JSON.parse(process.argv[2]);
const browser = await open({ executable, viewport: { width: 1280, height: 1250 } });
browser.context.setDefaultTimeout(120_000);

async function picture(name, { blur, width = 1280, colorScheme = "light", fullPage = true }) {
  const page = await browser.context.newPage();
  await page.setViewportSize({ width, height: 1250 });
  await page.emulateMedia({ colorScheme });
  await page.goto(pathToFileURL(file).href);
  await page.setInputFiles("#files", inputs);
  await page.waitForFunction((count) => document.querySelectorAll("#tracks li").length === count, inputs.length);
  await page.fill("#lat", String(home[0]));
  await page.fill("#lon", String(home[1]));
  await page.selectOption("#radius", "800");
  await page.getByRole("button", { name: "Hide this place" }).click();
  if (blur) await page.getByRole("radio", { name: blur }).check();
  await page.getByRole("button", { name: "Protect these tracks" }).click();
  await page.waitForFunction(() => !document.getElementById("result").hidden);
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage });
  await page.close();
}

await picture("protect_page", {});
await picture("protect_page_blurred_dark", { blur: /Light/, colorScheme: "dark" });
await picture("protect_page_phone", { width: 390, fullPage: false });
await browser.close();
