// Pictures of the collector's pages for the docs: a phone in French, a desk in English, light and dark.
import { join } from "node:path";
import { open } from "./browser.mjs";

const { url, campaign, pictures, executable, place } = JSON.parse(process.argv[2]);
const { page, close } = await open({ executable, geolocation: place, permissions: ["geolocation"] });
const look = async (width, scheme) => {
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
  await page.waitForTimeout(500);
};
const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });

await look(390, "light");
await page.goto(`${url}/campaigns/${campaign}?language=fr`);
await page.waitForSelector("#place");
await page.waitForSelector("#area[data-ready]");
await page.waitForTimeout(300);
await picture("participant_phone");
await page.click("#place");
await page.click("#draw");
await page.waitForSelector("#send");
await look(390, "dark");
await picture("participant_phone_dark");
await page.goto(`${url}/campaigns/${campaign}?language=en`);
await page.waitForSelector("#send");
await page.waitForSelector("#area[data-ready]");
for (const [width, scheme, name] of [
  [1280, "light", "participant"],
  [1280, "dark", "participant_dark"],
]) {
  await look(width, scheme);
  await picture(name);
}
await page.goto(`${url}/campaigns/${campaign}/dashboard`);
await page.waitForSelector("#map[data-ready]");
for (const [width, scheme, name] of [
  [1280, "light", "dashboard"],
  [1280, "dark", "dashboard_dark"],
  [390, "light", "dashboard_phone"],
  [390, "dark", "dashboard_phone_dark"],
]) {
  await look(width, scheme);
  await picture(name);
}
console.log(await page.innerText("#headline"));
await close();
