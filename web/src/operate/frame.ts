/** The frame of the operator's screens: one heading, one line that says what happened, and what is shown now. */
import { button, byId, element } from "../dom.js";
import { Refused, signedIn, signOut } from "./session.js";
import { say } from "./words.js";

const root = byId("operate");
const status = element("p", { class: "status", role: "status", "aria-live": "polite", id: "said" });

let saidAt = 0;

/** Forget what was said, unless it was said just now: an act may lead to another screen. */
export function tellNoMore(): void {
  if (performance.now() - saidAt > 1000) tell("");
}

/** Say what happened; what went wrong is said to be wrong by more than its colour. */
export function tell(words: string, bad = false): void {
  status.textContent = bad && words ? say("not_done", { why: words }) : words;
  status.classList.toggle("bad", bad);
  saidAt = performance.now();
}

/** Do something that may be refused, once: the button waits meanwhile. Returns whether it was done. */
export async function attempt(act: () => Promise<string>, waiting?: HTMLButtonElement): Promise<boolean> {
  if (waiting?.getAttribute("aria-busy") === "true") return false;
  waiting?.setAttribute("aria-busy", "true");
  try {
    tell(await act());
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 && signedIn()) {
      signOut();
      dispatchEvent(new Event("signed-out"));
    }
    tell(error.message, true);
    return false;
  } finally {
    waiting?.removeAttribute("aria-busy");
  }
}

/** A button that does something at the collector. */
export function actButton(label: string, act: () => Promise<string>, attributes: Record<string, string> = {}) {
  const made: HTMLButtonElement = button(label, () => void attempt(act, made), attributes);
  return made;
}

/** Where the operator is: the part of the address after #. */
export const where = () => location.hash || "#/";

/**
 * Put the screen of an address up, unless the operator has gone elsewhere while it was fetched. The focus goes to its
 * heading, so that screen readers begin there.
 */
export function show(at: string, title: string, ...parts: (Node | string)[]): void {
  if (where() !== at) return;
  const heading = element("h1", { tabindex: "-1", id: "screen" }, title);
  document.title = `${title} · sfumato`;
  root.replaceChildren(heading, status, ...parts);
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** A card with its heading. */
export function card(id: string, title: string, ...parts: (Node | string)[]): HTMLElement {
  const heading = element("h2", { id: `${id}-title` }, title);
  return element("section", { class: "card", id, "aria-labelledby": `${id}-title` }, heading, ...parts);
}

/** A table that can be scrolled by keyboard. */
export function table(label: string, heads: string[], rows: (Node | string)[][]): HTMLElement {
  const head = element("tr", {}, ...heads.map((one) => element("th", { scope: "col" }, one)));
  const body = rows.map((row) => element("tr", {}, ...row.map((one) => element("td", {}, one))));
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    element("table", { class: "words" }, element("thead", {}, head), element("tbody", {}, ...body)),
  );
}
