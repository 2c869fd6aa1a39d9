// An operator's day in a real browser. Called with one JSON argument; prints one JSON object.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { violations } from "./accessibility.mjs";
import { open } from "./browser.mjs";

const { url, token, pictures, executable } = JSON.parse(process.argv[2]);
mkdirSync(pictures, { recursive: true });
const { context, page, requests, problems, close } = await open({
  executable,
  viewport: { width: 1280, height: 900 },
  hasTouch: true,
});
const found = { looks: {}, said: {} };

async function everyLook(name) {
  for (const [look, scheme, width] of [
    ["light", "light", 1280],
    ["dark", "dark", 1280],
    ["phone", "light", 390],
  ]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 844 });
    await page.waitForTimeout(250);
    found.looks[`${name} ${look}`] = {
      wide: await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1),
      rules: await violations(page),
    };
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    if (!name.includes("dialog")) await page.setViewportSize({ width, height });
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(pictures, `operate-${name}-${look}.png`) });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.waitForTimeout(200);
}
const says = (words) => page.waitForFunction((w) => document.getElementById("said")?.textContent.includes(w), words);
const said = () => page.innerText("#said");
const state = () => page.getAttribute("#state", "data-state");
const go = async (hash) => {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
};
const edges = () =>
  page.evaluate(() =>
    ["South", "West", "North", "East"].map((side) => document.querySelector(`#f-${side.toLowerCase()}`).value),
  );

// 1. Refused, then accepted; by keyboard alone
await page.goto(`${url}/operate`);
await page.waitForSelector("#token");
found.focusOnToken = await page.evaluate(() => document.activeElement?.id);
found.navBefore = await page.locator("header nav a:visible, header nav button:visible").allInnerTexts();
await page.keyboard.type("not-the-token");
await page.keyboard.press("Enter");
await says("not an operator's token");
found.said.refused = await said();
found.keptAfterRefusal = await page.evaluate(() => ({ ...sessionStorage }));
await everyLook("sign-in");
await page.fill("#token", token);
await page.keyboard.press("Enter");
await page.waitForSelector("#campaigns");
await says("Signed in");
found.said.accepted = await said();
found.kept = await page.evaluate(() => [Object.values(sessionStorage), Object.keys(localStorage), document.cookie]);
found.focusOnHeading = await page.evaluate(() => document.activeElement?.id);
await everyLook("campaigns");

// 2. A new campaign: the area by mouse, by finger, by keyboard and by numbers
await page.click("#new");
await page.waitForSelector("#draw-map[data-ready]");
await page.fill("#go-to", "45.7500, 4.8500");
await page.press("#go-to", "Enter");
await page.waitForSelector('#draw-map[data-ready="streets"]');
const tileRequests = () => requests.filter((one) => one.url.endsWith(".pmtiles")).length;
const askedBefore = tileRequests();
await page.getByRole("button", { name: "Nearer" }).click();
await page.getByRole("button", { name: "Further away" }).click();
await page.waitForTimeout(500);
found.tilesAskedAgain = tileRequests() - askedBefore;
const box = await page.locator("#draw-map").boundingBox();
const at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
await page.click("#draw-area");
await page.mouse.move(...at(0.3, 0.3));
await page.mouse.down();
await page.mouse.move(...at(0.5, 0.6), { steps: 4 });
await page.mouse.move(...at(0.7, 0.75), { steps: 4 });
await page.mouse.up();
await page.waitForSelector("#plan-words");
found.byMouse = await edges();
found.plan = await page.innerText("#plan");
found.live = await page.getAttribute("#plan", "aria-live");

const finger = await context.newCDPSession(page);
const touch = (type, point) =>
  finger.send("Input.dispatchTouchEvent", { type, touchPoints: point ? [{ x: point[0], y: point[1] }] : [] });
await page.click("#draw-area");
await touch("touchStart", at(0.4, 0.4));
await touch("touchMove", at(0.5, 0.5));
await touch("touchMove", at(0.6, 0.65));
await touch("touchEnd");
await page.waitForFunction((before) => document.querySelector("#f-south").value !== before, found.byMouse[0]);
found.byFinger = await edges();

await page.focus("#draw-map");
await page.keyboard.press("Enter");
for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
await page.keyboard.press("Enter");
await page.waitForFunction((before) => document.querySelector("#f-south").value !== before, found.byFinger[0]);
found.byKeyboard = await edges();

for (const [side, value] of [
  ["south", "45.70"],
  ["west", "4.78"],
  ["north", "45.80"],
  ["east", "4.92"],
])
  await page.fill(`#f-${side}`, value);
await page.press("#f-east", "Tab");
await page.waitForFunction(() => /23 × 22 cells/.test(document.getElementById("plan")?.textContent ?? ""));
found.planByNumbers = await page.innerText("#plan-words");
await page.fill("#f-title", "Où roulez-vous à Lyon ?");
found.slug = await page.inputValue("#f-name");
await page.fill("#f-question", "Where do you cycle most often?");
await page.fill("#f-organiser", "City of Lyon");
await page.fill("#f-contact", "velo@example.org");
await page.selectOption("#f-language", "fr");
found.costWords = await page.innerText("#cost-words");
await page.click("#create"); // the privacy notice is not complete: nothing is sent
found.openedWithBrackets = await page.locator("#qr svg").count();
for (const [field, value] of [
  ["legal_basis", "Art. 6(1)(e) GDPR"],
  ["officer", "Office for data protection, Lyon"],
  ["processor", "the city itself"],
  ["retention", "2041-12-31"],
])
  await page.fill(`#f-${field}`, value);
await page.fill("#f-last_day", "2039-06-30");
await everyLook("new");
await page.click("#create");
await page.waitForSelector("#qr svg");
found.said.created = await said();
found.address = await page.inputValue("#link");
found.qr = await page.locator("#qr svg").evaluate((one) => one.outerHTML);
const saved = page.waitForEvent("download");
await page.click("#qr-file");
found.qrFile = readFileSync(await (await saved).path(), "utf8");
found.notices = await page.locator("#share a[lang]").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
await everyLook("campaign");
found.noStreets = await page.locator("#no-streets").count();
await page.setViewportSize({ width: 390, height: 844 });
await page.click("#show-stand");
await page.waitForSelector("#stand-count:not(:empty)");
found.stand = [await page.innerText("#stand-count"), (await page.locator("#stand svg").boundingBox()).width];
found.standRules = await violations(page);
await page.click("#stand-close");
await page.setViewportSize({ width: 1280, height: 900 });
await page.emulateMedia({ media: "print" });
found.poster = await page.locator(".poster").innerText();
await page.emulateMedia({ media: "screen" });
found.created = await (await fetch(`${url}/api/v1/campaigns/${found.slug}`)).json();

// 3. A name that is taken is refused in words, and nothing typed is lost
await go("#/new");
await page.waitForSelector("#draw-map[data-ready]");
await page.fill("#f-title", "Old");
for (const [side, value] of [
  ["south", "45.70"],
  ["west", "4.78"],
  ["north", "45.80"],
  ["east", "4.92"],
])
  await page.fill(`#f-${side}`, value);
await page.click("#rehearse");
await says("Not done");
found.said.taken = await said();
found.titleStays = await page.inputValue("#f-title");

// 4. Close, texts, pause, resume, end, archive, delete
await go("#/c/old");
await page.waitForSelector("#act-buttons");
const act = (label) => page.getByRole("button", { name: label, exact: true }).click();
await act("Close this cycle now");
await says("is closed");
found.said.closed = await said();
found.files = await page.locator("#links a[download]").allInnerTexts();
await act("Close this cycle now");
await says("stays open");
found.said.notClosed = await said();
await page.fill("#f-question", "Another question?");
await act("Save");
await says("Saved");
await act("Pause");
await says("Paused");
found.paused = await state();
await act("Resume");
await says("runs again");
await act("End the campaign…");
await page.waitForSelector("dialog[open]");
found.focusInDialog = await page.evaluate(() => document.activeElement?.id);
found.endDialog = await page.innerText("dialog");
await page.keyboard.press("Escape");
await page.waitForSelector("dialog", { state: "detached" });
await page.waitForTimeout(300);
found.afterEscape = await state();
await act("End the campaign…");
await page.click("#confirm-yes");
await says("It has ended");
found.said.ended = await said();
found.ended = await state();
await act("Archive it");
await says("Archived");
found.archived = await state();
await act("Delete everything…");
await page.waitForSelector("dialog[open]");
found.deleteDialog = await page.innerText("dialog");
found.disabledBefore = await page.isDisabled("#confirm-yes");
await page.fill("#confirm-typed", "old");
await everyLook("delete-dialog");
await page.click("#confirm-yes");
await says("is deleted");
found.said.deleted = await said();
found.gone = (await fetch(`${url}/api/v1/campaigns/old`)).status;

// 5. Backups
await go("#/server");
await page.waitForSelector("#no-backup");
await act("Back up now");
await says("made and checked");
found.backups = await page.locator("#backups tbody tr").count();
await everyLook("server");
await page.getByRole("button", { name: /^Delete sfumato-/ }).click();
await page.click("#confirm-yes");
await says("backup is deleted");
found.backupsAfter = await page.locator("#backups tbody tr").count();
found.log = await page.innerText("#log");

// 6. A token that stopped working leads to the door; signing out forgets
await page.evaluate(() => sessionStorage.setItem("sfumato-operator-token", "rotated-away"));
await go(`#/c/${found.slug}`);
await page.waitForSelector("#token");
await page.fill("#token", token);
await page.keyboard.press("Enter");
await page.waitForSelector("#act-buttons"); // where the operator was
await page.click("#sign-out");
await page.waitForSelector("#token");
found.keptAfterSignOut = await page.evaluate(() => ({ ...sessionStorage }));
found.unlabelled = await page.evaluate(() =>
  [...document.querySelectorAll("button, a, input, select, textarea")]
    .filter((one) => !(one.textContent?.trim() || one.getAttribute("aria-label") || one.labels?.length))
    .map((one) => one.outerHTML),
);
found.cookies = await context.cookies();
await close();
console.log(JSON.stringify({ ...found, requests, problems }));
