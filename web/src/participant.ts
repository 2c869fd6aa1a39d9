/**
 * The participant's page. Order of things: the channel is fetched and checked (no place needed); the report is drawn, kept
 * and debited when the person asks for it; it is shown; it is sent only when they say so. A reload shows the same report.
 */
import { Device, locate, type Offer, Participant, type Prepared, SfumatoError } from "../../clients/js/src/index.js";
import { button, byId, digits, element, metres, numbers } from "./dom.js";
import { type CellMap, cellMap, centre } from "./map.js";

const section = byId("take-part");
const campaign = section.dataset["campaign"] ?? "";
const root = byId("participant");
const device = new Device();
const person = new Participant(location.origin, campaign, { device });

const status = element("p", { class: "status", role: "status", "aria-live": "polite", id: "status" });
const report = element("div", { id: "report" });
const actions = element("div", { class: "buttons" });
const budget = element("div", { id: "budget" });
const byHand = element("details", {}, element("summary", {}, "Type a place by hand instead"));
root.replaceChildren(status, report, actions, byHand, element("h3", {}, "Your budget on this site"), budget);

let map: CellMap | null = null;
let offer: Offer;

function say(words: string, bad = false): void {
  status.textContent = words;
  status.classList.toggle("bad", bad);
}

function complain(error: unknown): void {
  if (error instanceof SfumatoError) say(`${error.message} ${error.advice}`.trim(), true);
  else say("Something went wrong; nothing was sent.", true);
}

async function showBudget(): Promise<void> {
  const { capPerKm, spentPerKm, leftPerKm, entries } = await device.budget();
  const share = Math.min(100, (100 * spentPerKm) / capPerKm);
  const bar = element(
    "div",
    {
      class: "meter",
      role: "meter",
      "aria-valuemin": "0",
      "aria-valuemax": String(capPerKm),
      "aria-valuenow": spentPerKm.toFixed(3),
      "aria-label": "Budget spent, in epsilon per km",
    },
    element("div", { style: `width:${share}%` }),
  );
  const rows = entries.map((entry) =>
    element(
      "tr",
      {},
      element("td", {}, String(entry.what)),
      element("td", {}, entry["campaign"] ? `${String(entry["campaign"])}, cycle ${String(entry["epoch"])}` : ""),
      element("td", {}, digits(entry.epsilon_per_km)),
    ),
  );
  const head = element("tr", {}, ...["What", "Where", "ε per km"].map((name) => element("th", { scope: "col" }, name)));
  budget.replaceChildren(
    element(
      "p",
      {},
      `${digits(spentPerKm, 3)} of ${digits(capPerKm, 3)} ε per km spent; ${digits(leftPerKm, 3)} left. Everything this browser sends to this site adds up here, and past the cap nothing is drawn.`,
    ),
    bar,
    ...(rows.length
      ? [
          element(
            "div",
            { class: "scroll" },
            element(
              "table",
              {},
              element("caption", {}, "What it was spent on"),
              element("thead", {}, head),
              element("tbody", {}, ...rows),
            ),
          ),
        ]
      : []),
  );
}

function showReport(prepared: Prepared, here: number | null): void {
  const { grid } = offer;
  const [lat, lon] = centre(grid, prepared.cell);
  const row = Math.floor(prepared.cell / grid.columns);
  const told = prepared.reveals;
  report.replaceChildren(
    element("h3", { tabindex: "-1", id: "report-title" }, "What will be sent"),
    element(
      "p",
      {},
      "This and nothing else. It was drawn by chance around your place, is kept on this device, and will not be drawn again in this cycle, wherever you are: cancelling or reloading shows the same report.",
    ),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        { class: "words" },
        element(
          "tbody",
          {},
          ...(
            [
              [
                "Cell",
                `${prepared.cell} (row ${row}, column ${prepared.cell - row * grid.columns}; centre ${lat.toFixed(4)}, ${lon.toFixed(4)})`,
              ],
              ["Channel version", `${prepared.version.slice(0, 16)}…`],
              ["Key", "128 fresh random bits, so that a resend counts once"],
              ["Ticket", "asked for separately; carries no place"],
            ] as const
          ).map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value))),
        ),
      ),
    ),
    numbers([
      [
        "It costs",
        `${digits(told.epsilonPerKm)} ε per km`,
        told.exact ? "exact, computed on this device" : "upper bound 2β",
      ],
      [
        "Worst two-cell success",
        `${(100 * told.twoCellSuccess).toFixed(0)} of 100`,
        `telling two cells up to ${metres(told.twoCellWithinM)} apart; 50 is a coin`,
      ],
      ...(here === null
        ? []
        : ([["Moved by", metres(distance(here, prepared.cell)), "shown to you only, and forgotten"]] as [
            string,
            string,
            string,
          ][])),
    ]),
  );
  document
    .getElementById("area-legend")
    ?.replaceChildren(
      element(
        "span",
        {},
        element("span", { class: "swatch solid", "aria-hidden": "true" }),
        " the cell that will be sent",
      ),
      ...(here === null
        ? []
        : [
            element(
              "span",
              {},
              element("span", { class: "swatch dashed", "aria-hidden": "true" }),
              " your cell, which stays here",
            ),
          ]),
    );
  map?.mark(here === null ? { report: prepared.cell } : { here, report: prepared.cell });
}

function distance(a: number, b: number): number {
  const { columns, cell_height, cell_width } = offer.grid;
  return Math.hypot(
    (Math.floor(a / columns) - Math.floor(b / columns)) * cell_height,
    ((a % columns) - (b % columns)) * cell_width,
  );
}

function offerToSend(prepared: Prepared): void {
  byHand.hidden = true;
  if (prepared.state === "sent") {
    actions.replaceChildren();
    say(`Your report is counted in cycle ${prepared.cycle}. Thank you.`);
    return;
  }
  if (prepared.state === "closed") {
    actions.replaceChildren();
    say("The cycle closed before your report arrived, so it was not counted. It will not be sent or drawn again.");
    return;
  }
  const send = button(
    "Send this report",
    () => {
      send.disabled = true;
      say("Asking for a ticket…");
      person
        .send(prepared.epoch, (seconds) =>
          say(`Waiting ${Math.ceil(seconds)} s, a random delay that keeps ticket and report apart…`),
        )
        .then(async (outcome) => {
          offerToSend({ ...prepared, state: outcome === "closed" ? "closed" : "sent" });
          await showBudget();
        })
        .catch((error: unknown) => {
          send.disabled = false;
          complain(error);
        });
    },
    { id: "send" },
  );
  actions.replaceChildren(
    send,
    element("span", { class: "soft" }, "Or simply leave: nothing is sent until you press."),
  );
}

async function drawAt(lat: number, lon: number): Promise<void> {
  // Whoever presses the button is here now: a page cannot come back by itself when it is this device's turn.
  const prepared = await person.prepare(lat, lon, offer, { early: true });
  showReport(prepared, prepared.drawnNow ? locate(offer.grid, lat, lon) : null);
  say(
    prepared.drawnNow
      ? "Your report is drawn and kept on this device. Nothing has been sent."
      : "This cycle's report was drawn before; here it is again.",
  );
  offerToSend(prepared);
  await showBudget();
  byId("report-title").focus();
}

function askForPlace(): void {
  say("Your browser asks whether this page may know your place. It stays on this device.");
  navigator.geolocation.getCurrentPosition(
    ({ coords }) => void drawAt(coords.latitude, coords.longitude).catch(complain),
    () => say("Your browser did not give a place. You can type one by hand below.", true),
    { enableHighAccuracy: false, timeout: 20000, maximumAge: 60000 },
  );
}

function handForm(): void {
  const lat = element("input", { type: "number", step: "any", min: "-90", max: "90", id: "lat", autocomplete: "off" });
  const lon = element("input", {
    type: "number",
    step: "any",
    min: "-180",
    max: "180",
    id: "lon",
    autocomplete: "off",
  });
  const draw = button(
    "Draw my report from this place",
    () => {
      if (lat.value === "" || lon.value === "" || !lat.checkValidity() || !lon.checkValidity())
        return say("Give a latitude and a longitude in degrees.", true);
      void drawAt(lat.valueAsNumber, lon.valueAsNumber)
        .then(() => {
          lat.value = lon.value = "";
        })
        .catch(complain);
    },
    { class: "quiet" },
  );
  byHand.append(
    element("p", { class: "soft" }, "The numbers stay in this page; there is no form to submit."),
    element(
      "div",
      { class: "fields" },
      element("div", {}, element("label", { for: "lat" }, "Latitude"), lat),
      element("div", {}, element("label", { for: "lon" }, "Longitude"), lon),
      draw,
    ),
  );
}

async function start(): Promise<void> {
  handForm();
  await showBudget();
  say("Checking the channel: signature, public log, limits…");
  offer = await person.look();
  map = cellMap(byId("area"), offer.grid, {
    label: "The campaign's area; the table above says which cell will be sent",
  });
  map?.show(offer.outputWeights);
  const kept = await person.drawn(offer);
  if (kept !== null) {
    showReport(kept, null);
    if (kept.state === "drawn") say("You drew this report before and have not sent it. It is not drawn again.");
    offerToSend(kept);
    return;
  }
  say("The channel is signed, listed in the public log and within this device's limits.");
  actions.replaceChildren(
    button("Draw my report", askForPlace, { id: "draw" }),
    element("span", { class: "soft" }, "Drawing sends nothing. You see the report first."),
  );
}

start().catch((error: unknown) => {
  byHand.hidden = true;
  complain(error);
});
