/** The operator's screens: sign in, then one screen for each part of the address after #. */
import "./operate/operate.css";
import { button, element } from "./dom.js";
import { campaign } from "./operate/campaign.js";
import { create } from "./operate/create.js";
import { labelled } from "./operate/fields.js";
import { attempt, sayNoMore, show, where } from "./operate/frame.js";
import { list } from "./operate/list.js";
import { server } from "./operate/server.js";
import { Refused, signedIn, signIn, signOut } from "./operate/session.js";

const nav = document.querySelector("header nav") ?? document.body;
const ways = [
  element("a", { href: "#/" }, "Campaigns"),
  element("a", { href: "#/new" }, "New campaign"),
  element("a", { href: "#/server" }, "Server"),
  button("Sign out", leave, { class: "quiet", id: "sign-out" }),
];
nav.append(...ways);

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
  const enter = button("Sign in", () => undefined, { type: "submit" });
  const form = element(
    "form",
    { class: "form card" },
    labelled(
      "The operator's token",
      token,
      "sfumato serve printed it at its first start (or wrote it to --token-file). It stays in this tab until you close it.",
    ),
    element("div", { class: "buttons" }, enter),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(async () => {
      const who = await signIn(token.value.trim());
      await screen();
      return `Signed in as ${who}.`;
    }, enter);
  });
  show(where(), "Operate this collector", form);
  token.focus();
}

async function screen(): Promise<void> {
  for (const way of ways) way.hidden = !signedIn();
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
      show(where(), "Not there", element("p", {}, element("a", { href: "#/" }, "All campaigns")));
    await attempt(() => Promise.reject(error));
  }
}

addEventListener("hashchange", () => {
  sayNoMore();
  void screen();
});
addEventListener("signed-out", () => void screen());
void screen();
