/** The operator's screens: sign in, then one screen for each part of the address after #. */
import "./operate/operate.css";
import { button, element } from "./dom.js";
import { campaign } from "./operate/campaign.js";
import { create } from "./operate/create.js";
import { labelled } from "./operate/fields.js";
import { attempt, show, tellNoMore, where } from "./operate/frame.js";
import { list } from "./operate/list.js";
import { server } from "./operate/server.js";
import { Refused, signedIn, signIn, signOut } from "./operate/session.js";
import { say } from "./operate/words.js";

const nav = document.querySelector("header nav") ?? document.body;
const ways = [
  element("a", { href: "#/" }, say("campaigns")),
  element("a", { href: "#/new" }, say("new_campaign")),
  element("a", { href: "#/server" }, say("server")),
  button(say("sign_out"), leave, { class: "quiet", id: "sign-out" }),
];
const switches = nav.querySelectorAll<HTMLAnchorElement>(".languages a");
const others = nav.querySelector(".languages");
if (others) others.before(...ways);
else nav.append(...ways);

function leave(): void {
  signOut();
  location.hash = "#/";
  void screen();
}

function door(): void {
  const token = element("input", {
    type: "password",
    id: "token",
    autocomplete: "off",
    spellcheck: "false",
    required: "",
  });
  const enter = button(say("sign_in"), () => undefined, { type: "submit" });
  const form = element(
    "form",
    { class: "form card" },
    labelled("token", token),
    element("div", { class: "buttons" }, enter),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(async () => {
      const who = await signIn(token.value.trim());
      await screen();
      return say("signed_in", { who });
    }, enter);
  });
  show(where(), say("operate"), form);
  token.focus();
}

async function screen(): Promise<void> {
  for (const way of ways) way.hidden = !signedIn();
  for (const other of switches) other.hash = location.hash;
  if (!signedIn()) return door();
  const [, part = "", name = ""] = location.hash.split("/");
  for (const way of ways) {
    if (way instanceof HTMLAnchorElement && way.hash === `#/${part}`) way.setAttribute("aria-current", "page");
    else way.removeAttribute("aria-current");
  }
  const shown =
    part === "new"
      ? create
      : part === "server"
        ? server
        : part === "c" && /^[a-z0-9-]+$/.test(name)
          ? () => campaign(name)
          : part === ""
            ? list
            : null;
  if (shown === null) {
    location.hash = "#/";
    return;
  }
  try {
    await shown();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status !== 401)
      show(where(), say("not_there"), element("p", {}, element("a", { href: "#/" }, say("all_campaigns"))));
    await attempt(() => Promise.reject(error));
  }
}

addEventListener("hashchange", () => {
  tellNoMore();
  void screen();
});
addEventListener("signed-out", () => void screen());
void screen();
