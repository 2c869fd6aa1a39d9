// Every page of the built documentation on a phone: how wide it is, what sticks out, formulas that were not drawn, and
// whom it asked. Called by scripts/docs_phone.py with {url, pages, width, pictures, executable}.
import { open } from "./browser.mjs";

const { url, pages, width, dark, pictures, executable } = JSON.parse(process.argv[2]);
const { page, requests, problems, close } = await open({
  executable,
  viewport: { width, height: 844 },
  colorScheme: dark ? "dark" : "light",
});

/** In the page: its width, the elements that make it so wide, TeX that is still text, and how many formulas are drawn. */
function look() {
  const room = window.innerWidth;
  const inBox = (element) => {
    for (let box = element.parentElement; box; box = box.parentElement) {
      if (box !== document.documentElement && box !== document.body) {
        const { overflowX, position } = getComputedStyle(box);
        if (overflowX !== "visible" || position === "fixed") return true;
      }
    }
    return false;
  };
  const wide = [...document.querySelectorAll("article *")]
    .filter((element) => element.getBoundingClientRect().right > room + 1 && !inBox(element))
    .map(
      (element) => `${element.tagName.toLowerCase()}.${element.className}: ${element.textContent.trim().slice(0, 60)}`,
    );
  const raw = [];
  const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("code, pre, script, style, math, svg")) continue;
    const found = node.data.match(/\\[([]|\$\$|\\(frac|sum|int|sigma|mathrm)\b|\$[^$\s][^$]*\$/);
    if (found) raw.push(node.data.slice(found.index, found.index + 40));
  }
  const drawn = [...document.querySelectorAll("article math")];
  const unread = drawn.map((formula) => formula.textContent).filter((text) => /[\\&$]/.test(text)); // TeX in MathML
  const flat = drawn.filter((formula) => formula.getBoundingClientRect().height < 4).length;
  return {
    width: document.scrollingElement.scrollWidth,
    room,
    wide: wide.slice(0, 5),
    raw: [...raw, ...unread],
    formulas: drawn.length,
    flat,
  };
}

const found = [];
for (const path of pages) {
  await page.goto(url + path, { waitUntil: "load" });
  found.push({ path, ...(await page.evaluate(look)) });
  if (pictures) {
    await page.screenshot({ path: `${pictures}/${path.replaceAll("/", "_") || "home_"}${width}.png` });
  }
}
await close();
console.log(
  JSON.stringify({ found, requests: [...new Set(requests.map((one) => new URL(one.url).origin))], problems }),
);
