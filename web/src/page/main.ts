/**
 * The page that protects tracks where they are. Order of things: files are read; places get circles and a blur is chosen; one
 * button makes the release (noise is drawn once for one set of wishes); the places file is saved before the release can be.
 */
import { SfumatoError } from "../../../clients/js/src/errors.js";
import {
  type Choice,
  DEFAULT_RADIUS_M,
  distanceM,
  type PageTable,
  Places,
  RADII_M,
  type Release,
  release,
  surface,
} from "../../../clients/js/src/page/index.js";
import { button, byId, element, metres } from "../dom.js";
import { TrackMap } from "./map.js";
import { ends, type Opened, opened, type Spot, unpacked } from "./reading.js";
import { save, showSaving } from "./saving.js";
import shipped from "./table.json";

const MOST_POINTS = 500_000;
const DAY_MICROS = 86_400e6;
const table: PageTable = shipped;
const LEVELS: Record<string, string> = { low: "Light", medium: "Medium", high: "Strong" };
const SPANS: Record<string, string> = { day: "one day or less", week: "up to a week", year: "up to a year" };

let sources: Opened[] = [];
let places = Places.none();
let placesOnDisk: Places | null = null;
let made: Release | null = null;
let blurReleased = false;
let level = "";
let spanChosen = false;
let spot: Spot | null = null;
const drawn = new Map<string, Release>();

const input = (id: string) => byId(id) as HTMLInputElement;
const select = (id: string) => byId(id) as HTMLSelectElement;
const map = new TrackMap(byId("map"), (lat, lon) => choose([lat, lon]));

function say(id: string, words: string, problem = false): void {
  byId(id).textContent = words;
  byId(id).classList.toggle("problem", problem);
}

const wordsOf = (error: unknown) =>
  error instanceof SfumatoError ? `${error.message} ${error.advice}`.trim() : "Something went wrong in this page.";

function choiceNow(): Choice | null {
  return table.choices.find((one) => one.level === level && one.prior_class === select("span").value) ?? null;
}

function draw(): void {
  map.show({
    before: sources.map(({ track }) => track),
    after: made?.shown.filter((track) => track !== null) ?? [],
    dots: made !== null && level !== "",
    places: places.active,
    spot,
    show: { before: input("before").checked, after: input("after").checked },
  });
  const parts = [`${sources.length} track${sources.length === 1 ? "" : "s"} before`];
  parts.push(made ? `${made.files.length} after` : "nothing protected yet");
  for (const { name, zone } of places.active) parts.push(`a circle of ${metres(zone.radiusM)} hides ${name}`);
  byId("seen").textContent = sources.length ? `On the map: ${parts.join(", ")}.` : "";
}

function choose(at: Spot): void {
  if (made) return;
  spot = at;
  input("lat").value = at[0].toFixed(5);
  input("lon").value = at[1].toFixed(5);
  say("status", "A place is chosen. Name it, choose a radius, and press Hide this place.");
  draw();
}

/** Anything that changes the wishes takes the release away: what is saved is what was asked for last. */
function changed(): void {
  made = null;
  byId("result").hidden = true;
  (byId("wishes") as HTMLFieldSetElement).disabled = false;
  (byId("files") as HTMLInputElement).disabled = false;
  byId("change").hidden = true;
  (byId("protect") as HTMLButtonElement).disabled = false;
  listTracks();
  listPlaces();
  promise();
  draw();
}

function listTracks(): void {
  const rows = sources.map((source) => {
    const skipped = [...source.track.skipped].map(([why, count]) => `${count} ${why}`).join(", ");
    const about = `${source.track.latDeg.length.toLocaleString("en")} points${skipped ? `; left out: ${skipped}` : ""}`;
    const gone = () => {
      sources = sources.filter((one) => one !== source);
      changed();
    };
    const away = button("Remove", gone, { "aria-label": `Remove ${source.name}` });
    away.disabled = made !== null;
    return element("li", {}, element("span", {}, source.name, " ", element("small", {}, about)), away);
  });
  byId("tracks").replaceChildren(...rows);
  byId("tracks").tabIndex = rows.length > 6 ? 0 : -1; // a box that scrolls is reached by keys
  const apart = (a: Spot, b: Spot) => distanceM(surface(...a), surface(...b));
  const hidden = (at: Spot) => places.zones.some((zone) => zone.beyondM(surface(...at)) <= 0);
  const found = ends(sources, apart).filter((one) => !hidden(one.spot));
  const buttons = found.slice(0, 4).map(({ spot: at, words }) => button(words, () => choose(at)));
  byId("suggestions").replaceChildren(element("div", { class: "buttons" }, ...buttons));
}

function listPlaces(): void {
  const rows = places.active.map(({ name, zone }) => {
    const stop = () => {
      places = places.remove(name);
      changed();
      say("status", `${name} is no longer hidden. Its circle is remembered: hide it again and it is the same.`);
    };
    const about = element("span", {}, name, " ", element("small", {}, `circle of ${metres(zone.radiusM)}`));
    return element("li", {}, about, button("Stop hiding", stop, { "aria-label": `Stop hiding ${name}` }));
  });
  byId("places").replaceChildren(...rows);
}

function promise(): void {
  const choice = choiceNow();
  byId("span-row").hidden = level === "";
  byId("keep-row").hidden = !sources.some(({ track }) => track.heartRate);
  byId("promise").textContent = choice
    ? `Every point moves by about ${metres(choice.noise_m)} east or west and as much north or south. ${choice.headline}`
    : "";
}

async function take(files: Iterable<File>): Promise<void> {
  if (made) {
    say("status", "Press Change something first: these tracks are protected already.", true);
    return;
  }
  const problems: string[] = [];
  const known = new Set(sources.map(({ digest }) => digest));
  const listed = [...files];
  const owner = listed.find((file) => file.name.endsWith(".places"));
  if (owner) await openPlaces(owner);
  if (owner && listed.length === 1) return;
  const bar = byId("reading") as HTMLProgressElement;
  for (const [number, file] of listed.entries()) {
    if (file === owner) continue;
    try {
      const { files: inside, others } = await unpacked(file);
      if (others)
        problems.push(`${file.name}: ${others} files in it are neither GPX nor GeoJSON; the command line reads them.`);
      for (const [k, one] of inside.entries()) {
        bar.hidden = false;
        bar.value = (number + k / inside.length) / listed.length;
        if (k % 10 === 0) {
          say("status", `Reading ${one.name} …`);
          await new Promise((resolve) => setTimeout(resolve)); // let the bar be seen
        }
        try {
          const source = await opened(one);
          if (!known.has(source.digest)) sources.push(source);
          known.add(source.digest);
        } catch (error) {
          problems.push(`${one.name}: ${wordsOf(error)}`);
        }
      }
    } catch (error) {
      problems.push(`${file.name}: ${wordsOf(error)}`);
    }
  }
  bar.hidden = true;
  const [first, last] = sources.reduce(
    ([a, b], { track }) => [Math.min(a, track.micros[0]!), Math.max(b, track.micros[track.micros.length - 1]!)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  // The times are released, so a class chosen by their span tells nothing more.
  if (!spanChosen && sources.length)
    select("span").value = last - first <= DAY_MICROS ? "day" : last - first <= 7 * DAY_MICROS ? "week" : "year";
  changed();
  map.fit();
  const count = `${sources.length} track${sources.length === 1 ? "" : "s"} read.`;
  const most = problems.slice(0, 5).join(" ") + (problems.length > 5 ? ` … and ${problems.length - 5} more.` : "");
  say("status", problems.length ? `${count} ${most}` : count, problems.length > 0);
}

function addPlace(): void {
  try {
    const [lat, lon] = ["lat", "lon"].map((id) => input(id).value.trim().replace(",", "."));
    if (!/^[+-]?\d+(\.\d+)?$/.test(lat!) || !/^[+-]?\d+(\.\d+)?$/.test(lon!))
      throw new SfumatoError(
        "No place is chosen.",
        "Tap the map, take a suggestion, or type degrees like 48.85 and 2.35.",
      );
    const name = input("name").value.trim();
    places = places.add(name, Number(lat), Number(lon), Number(select("radius").value));
    spot = null;
    input("lat").value = input("lon").value = "";
    input("name").value = `place ${places.places.length + 1}`;
    changed();
    map.fit();
    say("status", `${name} will be hidden.`);
  } catch (error) {
    say("status", wordsOf(error), true);
  }
}

async function openPlaces(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    if (places.places.length)
      throw new SfumatoError("Circles were drawn here already.", "Reload the page, then open the places file first.");
    places = Places.read(await file.text());
    placesOnDisk = places;
    changed();
    say("status", `${places.active.length} place(s) opened, with the circles they have.`);
  } catch (error) {
    say("status", wordsOf(error), true);
  }
}

async function protect(): Promise<void> {
  const choice = choiceNow();
  try {
    const points = sources.reduce((sum, { track }) => sum + track.latDeg.length, 0);
    if (points > MOST_POINTS)
      throw new SfumatoError(
        `${points.toLocaleString("en")} points are more than this page takes (${MOST_POINTS.toLocaleString("en")}).`,
        "Take fewer files, or use the command line, which takes any number: sfumato hide.",
      );
    say("status", "Working …");
    await new Promise((resolve) => setTimeout(resolve, 30)); // let the words be seen and read out
    // The same wishes give the same draw: nobody picks the noise they like best by pressing again.
    const wish = JSON.stringify([
      sources.map(({ digest }) => digest),
      places.text(),
      level,
      select("span").value,
      input("keep").checked,
    ]);
    made = drawn.get(wish) ?? release(sources, places, choice, table, input("keep").checked);
    drawn.set(wish, made);
    (byId("wishes") as HTMLFieldSetElement).disabled = true;
    input("files").disabled = true;
    (byId("protect") as HTMLButtonElement).disabled = true;
    byId("change").hidden = false;
    listTracks();
    showSaving({
      table,
      made,
      choice,
      read: points,
      placesText: places.places.length && places !== placesOnDisk ? places.text() : null,
      placesSaved: () => {
        placesOnDisk = places;
      },
      released: () => {
        blurReleased ||= choice !== null;
        if (blurReleased) byId("change").hidden = true;
      },
    });
    draw();
    say("status", "Protected. Look at the map, then save.");
    byId("result-title").focus();
  } catch (error) {
    made = null;
    draw();
    say("status", wordsOf(error), true);
  }
}

// As it came, before anything on it changed: saved, it runs without a network, under the same policy.
const asItCame = `<!doctype html>\n${document.documentElement.outerHTML}\n`;
if (location.protocol === "file:")
  byId("offline").textContent = "This page runs from your disk: it works without a network.";
else
  byId("offline").append(
    button("Save this page", () => save("sfumato-protect.html", asItCame, "text/html")),
    " and open it from your disk: it works without a network.",
  );

for (const radius of RADII_M)
  select("radius").append(
    element(
      "option",
      radius === DEFAULT_RADIUS_M ? { value: String(radius), selected: "" } : { value: String(radius) },
      metres(radius),
    ),
  );
for (const [name, words] of Object.entries(SPANS)) select("span").append(element("option", { value: name }, words));
for (const name of ["", ...Object.keys(LEVELS)]) {
  const one = element("input", { type: "radio", name: "level", value: name });
  one.checked = name === "";
  one.addEventListener("change", () => {
    level = name;
    promise();
  });
  const odds = table.choices.find((choice) => choice.level === name)?.odds;
  const words = odds
    ? `${LEVELS[name]}: odds of ${odds} : 1 between places ${metres(table.radius_m)} apart`
    : "No blur: the rest stays exact";
  byId("levels").append(element("label", {}, one, words));
}
select("span").addEventListener("change", () => {
  spanChosen = true;
  promise();
});
input("files").addEventListener("change", () => void take(input("files").files ?? []));
input("places-file").addEventListener("change", () => void openPlaces(input("places-file").files?.[0]));
for (const type of ["dragover", "drop"])
  addEventListener(type, (event) => {
    event.preventDefault();
    if (event instanceof DragEvent && type === "drop") void take(event.dataTransfer?.files ?? []);
  });
byId("add").addEventListener("click", addPlace);
byId("middle").addEventListener("click", () => choose(map.middle));
byId("protect").addEventListener("click", () => void protect());
byId("change").addEventListener("click", () => {
  changed();
  say("status", "");
});
byId("nearer").addEventListener("click", () => map.zoom(0.6));
byId("further").addEventListener("click", () => map.zoom(1 / 0.6));
byId("all").addEventListener("click", () => map.fit());
for (const id of ["before", "after"]) input(id).addEventListener("change", draw);
changed();
