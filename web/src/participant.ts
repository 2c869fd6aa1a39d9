/**
 * The participant's page. Order of things: the channel is fetched and checked (no place needed); the person gives a place,
 * from the device or by tapping; the report is drawn, kept and debited; it is shown; it is sent only when they say so. A
 * reload shows the same report.
 */
import { probabilities, weights } from "../../clients/js/src/draw.js";
import {
  BudgetExceeded,
  Device,
  locate,
  NotSent,
  type Offer,
  Participant,
  type Prepared,
  Refused,
  SfumatoError,
  TermsChanged,
} from "../../clients/js/src/index.js";
import { button, byId, element } from "./dom.js";
import { AreaMap, cells } from "./map.js";
import { type Known, knownNames } from "./names.js";
import { budgetFold, findField, handFold, legend, reportFold } from "./participant_parts.js";
import { tongue } from "./words.js";

const device = new Device();
const campaign = byId("take-part").dataset["campaign"] ?? "";
const person = new Participant(location.origin, campaign, { device });
const words = await tongue();
const { say } = words;

const status = element("p", { class: "status", role: "status", "aria-live": "polite", id: "status", tabindex: "-1" });
const aside = element("p", { class: "soft", id: "aside" });
const actions = element("div", { class: "buttons" });
byId("participant").replaceChildren(status, actions, aside);
const folds = byId("folds");

let map: AreaMap;
let offer: Offer;
let tapped: readonly [number, number] | null = null;
/** The question is not *where are you now?*: the device is not asked. */
const tapOnly = byId("take-part").dataset["tapOnly"] !== undefined;

function tell(text: string, bad = false): void {
  status.textContent = text;
  status.classList.toggle("bad", bad);
}

/** What went wrong in the reader's language; the client's own words, which are English, behind it. */
function complain(error: unknown): void {
  if (error instanceof TermsChanged)
    actions.replaceChildren(button(say("join_again"), () => void start(true).catch(complain), { id: "join-again" }));
  const key =
    error instanceof TermsChanged
      ? "terms_changed"
      : error instanceof BudgetExceeded
        ? "error_budget"
        : error instanceof NotSent
          ? "error_not_sent"
          : error instanceof Refused
            ? "error_refused"
            : "error";
  tell(say(key), true);
  aside.replaceChildren(
    ...(error instanceof SfumatoError
      ? [element("span", { lang: "en" }, `${error.message} ${error.advice}`.trim())]
      : []),
  );
}

async function showFolds(prepared: Prepared | null): Promise<void> {
  const open = new Set([...folds.querySelectorAll("details[open]")].map(({ id }) => id));
  const parts = [
    ...(prepared === null ? [handFold(words, drawAt, complain)] : [reportFold(words, offer, prepared)]),
    budgetFold(words, await device.budget()),
  ];
  for (const part of parts) part.open = open.has(part.id);
  folds.replaceChildren(...parts);
}

/** One sentence about the square that was drawn: how far off it is, or how often one's own is drawn. */
function aboutSquare(prepared: Prepared, here: number | null): string {
  if (here === null) return say("kept");
  if (here !== prepared.cell) return say("moved", { distance: words.length(distance(here, prepared.cell)) });
  const own = 100 * probabilities(weights(offer.grid, offer.outputWeights, here, offer.betaPerM))[here]!;
  return own < 0.95 ? say("own_square_rare") : say("own_square", { count: words.number(Math.round(own)) });
}

function distance(a: number, b: number): number {
  const { columns, cell_height, cell_width } = offer.grid;
  return Math.hypot(
    (Math.floor(a / columns) - Math.floor(b / columns)) * cell_height,
    ((a % columns) - (b % columns)) * cell_width,
  );
}

/** The map, in the language that was chosen by the switch, if one was. */
const seeMap = () => element("a", { href: `/campaigns/${campaign}/dashboard${location.search}` }, say("see_map"));

function offerToSend(prepared: Prepared): void {
  if (prepared.state !== "drawn") {
    actions.replaceChildren(seeMap());
    tell(prepared.state === "sent" ? say("sent", { cycle: prepared.cycle }) : say("too_late"));
    aside.replaceChildren();
    return;
  }
  const send = button(
    say("send"),
    () => {
      send.disabled = true;
      tell(say("ticket"));
      aside.replaceChildren();
      person
        .send(prepared.epoch, (seconds) => tell(say("waiting", { seconds: Math.ceil(seconds) })))
        .then(async (outcome) => {
          offerToSend({ ...prepared, state: outcome === "closed" ? "closed" : "sent" });
          await showFolds(prepared);
        })
        .catch((error: unknown) => {
          send.disabled = false;
          complain(error);
        });
    },
    { id: "send" },
  );
  actions.replaceChildren(send, element("span", { class: "soft" }, say("or_leave")));
}

async function showReport(prepared: Prepared, here: number | null, outside: boolean): Promise<void> {
  tell(aboutSquare(prepared, here));
  aside.textContent = outside ? say("outside") : "";
  document.getElementById("find")?.remove();
  legend(words, here !== null);
  map.mark(here === null ? { report: prepared.cell } : { here, report: prepared.cell });
  offerToSend(prepared);
  await showFolds(prepared);
}

async function drawAt(lat: number, lon: number): Promise<void> {
  if (cellsOutside(lat, lon) > 1) {
    turnAway();
    return;
  }
  // Whoever presses the button is here now: a page cannot come back by itself when it is this device's turn.
  const prepared = await person.prepare(lat, lon, offer, { early: true });
  tapped = null;
  await showReport(
    prepared,
    prepared.drawnNow ? locate(offer.grid, lat, lon) : null,
    prepared.drawnNow && cellsOutside(lat, lon) > 0,
  );
  status.focus();
}

/** How many squares a place is away from the map; 0 on it. */
function cellsOutside(lat: number, lon: number): number {
  const { north_deg, west_deg, rows, columns, cell_height_deg, cell_width_deg } = offer.grid;
  const beyond = (at: number, end: number) => Math.max(0, -at, at - end);
  const eastward = (((lon - west_deg) % 360) + 360) % 360;
  // West of the map is east of it the long way round.
  const right = eastward > (columns * cell_width_deg) / 2 + 180 ? eastward - 360 : eastward;
  return Math.max(beyond((north_deg - lat) / cell_height_deg, rows), beyond(right / cell_width_deg, columns));
}

/** Whoever is elsewhere is no part of this campaign: nothing is drawn, and nothing sent. */
function turnAway(): void {
  tapped = null;
  map.mark({});
  offerToDraw();
  tell(say("far_outside"), true);
}

function askForPlace(): void {
  tell(say("asking"));
  navigator.geolocation.getCurrentPosition(
    ({ coords }) => chosen(coords.latitude, coords.longitude, "found"),
    () => tell(say("no_place"), true),
    { enableHighAccuracy: false, timeout: 20000, maximumAge: 60000 },
  );
}

function offerToDraw(): void {
  const place = tapped;
  if (place === null) {
    const locate = button(say("use_place"), askForPlace, { id: "place" });
    const hint = element("span", { class: "soft", id: "tap-hint" }, say(tapOnly ? "tap_first" : "or_tap"));
    actions.replaceChildren(...(tapOnly ? [hint] : [locate, hint]));
    return;
  }
  const draw = button(say("use_tapped"), () => void drawAt(...(place as [number, number])).catch(complain), {
    id: "draw",
  });
  const other = button(say("other_place"), () => another(), { class: "quiet", id: "other-place" });
  actions.replaceChildren(draw, other);
}

function another(): void {
  tapped = null;
  map.mark({});
  tell(say("tap_first"));
  offerToDraw();
  byId("area").focus();
}

/** A place is only marked, and can be corrected: nothing is drawn until the button is pressed. */
function chosen(lat: number, lon: number, how: "tapped" | "found" = "tapped"): void {
  if (["draw", "tap-hint"].every((id) => document.getElementById(id) === null)) return;
  if (cellsOutside(lat, lon) > 1) {
    turnAway();
    return;
  }
  tapped = [lat, lon];
  map.mark({}, tapped);
  tell(say(how));
  offerToDraw();
  if (how === "found") byId("draw").focus();
}

/** A search among the names on the map that never leaves this device. */
function offerSearch(known: Known): void {
  if (known.names.length === 0 || ["draw", "tap-hint"].every((id) => document.getElementById(id) === null)) return;
  const found = ({ lat, lon }: { lat: number; lon: number }) => {
    map.lookAt(lat, lon);
    chosen(lat, lon);
  };
  byId("area").before(findField(words, known.names, found, (text) => tell(text, true)));
}

async function start(again = false): Promise<void> {
  tell(say("checking"));
  aside.replaceChildren();
  const fresh = await device.isNew();
  offer = await (again ? person.joinAgain() : person.look());
  const box = byId("area");
  map = new AreaMap(box, offer.grid, {
    words: { label: say("map_label"), nearer: say("zoom_in"), further: say("zoom_out") },
    tiles: box.dataset["tiles"] ?? "",
    outline: box.dataset["outline"] ?? "",
    onTap: (lat, lon) => chosen(lat, lon),
  });
  map.show(cells(offer.grid, new Array(offer.grid.rows * offer.grid.columns).fill(0), 0));
  const names = knownNames(campaign, offer.grid);
  void names.then((known) => map.call(known));
  const kept = await person.drawn(offer);
  if (kept !== null) return showReport(kept, null, false);
  tell(say("ready"));
  if (fresh) aside.textContent = say("new_device");
  offerToDraw();
  void names.then(offerSearch);
  await showFolds(null);
}

start().catch(complain);
