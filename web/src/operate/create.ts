/** A new campaign: an area drawn on a map, what is asked, and beside it what so many people would learn. */
import type {
  CampaignAnswer,
  CampaignRequest,
  CampaignsAnswer,
  CheaperView,
  PlanAnswer,
  PlanView,
} from "../../../clients/js/src/api.js";
import { button, byId, element } from "../dom.js";
import { districtFields, districtsTold } from "./districts.js";
import { type Area, DrawMap } from "./draw_map.js";
import { choice, endOfDay, LANGUAGES, labelled, NOTICE, noticeFields, number, slug, text, valuesOf } from "./fields.js";
import { attempt, card, show } from "./frame.js";
import { overWeeks } from "./over_weeks.js";
import { placeSearch } from "./place_search.js";
import { ask, Refused } from "./session.js";
import { count, decimal, length, say } from "./words.js";

const SIDES = ["south", "west", "north", "east"] as const;
const HOUR = 3600;
const HIDES = [
  ["hides_town_part", 0.7],
  ["hides_neighbourhood", 2],
  ["hides_street", 6],
] as const;

export async function create(): Promise<void> {
  const { campaigns } = await ask<CampaignsAnswer>("/api/v1/campaigns?archived=true");
  const last = campaigns.at(-1)?.grid;
  const sides = Object.fromEntries(
    SIDES.map((side) => [
      side,
      number("", {
        step: "any",
        min: side === "south" || side === "north" ? "-90" : "-180",
        max: side === "south" || side === "north" ? "90" : "180",
        required: "",
      }),
    ]),
  ) as Record<(typeof SIDES)[number], HTMLInputElement>;
  const cell = number("500", { min: "1", max: "1000000", step: "any", required: "" });
  const epsilon = number("2", { min: "0.01", max: "20000", step: "any", required: "" });
  const cost = choice(
    [
      ...HIDES.map(([key, level]) => [String(level), say(key, { level: decimal(level) })] as const),
      ["", say("hides_other")],
    ],
    "2",
  );
  const costWords = element("p", { class: "soft", id: "cost-words" });
  const own = labelled("epsilon", epsilon);
  const people = number("500", { min: "1", step: "1", required: "" });
  const days = number("7", { min: "1", max: "3650", step: "1", required: "" });
  const title = text({ maxlength: "200", required: "" });
  const name = text({ maxlength: "63", required: "", pattern: "[a-z0-9][a-z0-9\\-]*", spellcheck: "false" });
  const question = text({ maxlength: "200", placeholder: say("question_example") });
  const description = element("textarea", { rows: "3", maxlength: "2000" });
  const organiser = text({ maxlength: "200", required: "" });
  const contact = text({ maxlength: "200", required: "" });
  const language = choice(LANGUAGES);
  const notice = noticeFields();
  const position = choice(
    [
      ["yes", say("yes")],
      ["", say("no")],
    ],
    "yes",
  );
  const ends = element("input", { type: "date", min: new Date(Date.now() + 864e5).toISOString().slice(0, 10) });
  const reporting = choice([
    ["once", say("once")],
    ["every-cycle", say("every_cycle")],
    ["once-per-epoch", say("once_per_epoch")],
  ]);
  const epoch = number("4", { min: "2", max: "100000", step: "1", required: "" });
  const epochField = labelled("epoch", epoch);
  const epochs = () => (reporting.value === "once-per-epoch" ? { epoch_cycles: epoch.valueAsNumber } : {});
  const paced = () => {
    epochField.hidden = reporting.value !== "once-per-epoch";
    epoch.disabled = epochField.hidden;
  };
  reporting.addEventListener("change", paced);
  paced();
  const cycle = choice(
    [
      [String(HOUR), say("an_hour")],
      [String(6 * HOUR), say("a_quarter_day")],
      [String(24 * HOUR), say("a_day")],
      [String(7 * 24 * HOUR), say("a_week")],
    ],
    String(24 * HOUR),
  );
  const least = number("50", { min: "1", max: "1000000000", step: "1", required: "" });
  const soonest = number("60", { min: "0", max: "525600", step: "1", required: "" });
  const box = element("div", { class: "map", id: "draw-map" });
  const planBox = element("div", { id: "plan", role: "status", "aria-live": "polite" });

  const area = (): Area | null => {
    const [south, west, north, east] = SIDES.map((side) => sides[side].valueAsNumber);
    return [south, west, north, east].every(Number.isFinite) && north! > south! && east! > west!
      ? { south: south!, west: west!, north: north!, east: east! }
      : null;
  };
  const grid = () => ({ ...area()!, cell_size_m: cell.valueAsNumber });
  const wanted = () =>
    area() === null || ![cell, epsilon, people, days, epoch].every((field) => field.checkValidity())
      ? null
      : {
          grid: grid(),
          epsilon_per_km: epsilon.valueAsNumber,
          people: people.valueAsNumber,
          after_s: days.valueAsNumber * 24 * HOUR,
          cycle_duration_s: Number(cycle.value),
          reporting: reporting.value,
          ...epochs(),
          ...districts.asked(),
        };
  const take = (one: CheaperView) => {
    reporting.value = one.reporting;
    if (one.epoch_cycles !== null) epoch.value = String(one.epoch_cycles);
    paced();
    plan();
  };
  const plan = planner(planBox, wanted, () => cell.valueAsNumber, take);
  const priced = () => {
    own.hidden = cost.value !== "";
    if (cost.value) epsilon.value = cost.value;
    const level = epsilon.valueAsNumber;
    costWords.textContent = level > 0 ? say("cost_sentence", { distance: length(1000), factor: factor(level) }) : "";
  };
  for (const field of [cost, epsilon]) field.addEventListener("change", priced);
  priced();
  const map = new DrawMap(box, {
    view: last
      ? {
          south: last.north_deg - last.rows * last.cell_height_deg,
          west: last.west_deg,
          north: last.north_deg,
          east: last.west_deg + last.columns * last.cell_width_deg,
        }
      : null,
    tiles: byId("operate").dataset["tiles"] ?? "",
    outline: byId("operate").dataset["outline"] ?? "",
    drawn: (found) => {
      for (const side of SIDES) sides[side].value = found[side].toFixed(4);
      plan();
    },
  });
  const [searchField, searchTold] = placeSearch(map) as [HTMLElement, HTMLElement];
  const districts = districtFields(
    (found, rings) => {
      for (const side of SIDES) sides[side].value = found[side].toFixed(4);
      map.districts(rings);
      map.show(area());
    },
    () => plan(),
  );
  const begins = choice(
    [["", say("begins_any")], ...Array.from({ length: 24 }, (_, hour) => [String(hour), `${hour}:00`] as const)],
    "8",
  );
  const zone = text({
    value: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    maxlength: "64",
    required: "",
  });
  const classes = choice([
    ["none", say("classes_none")],
    ["weekday-weekend", say("classes_week")],
    ["parts-of-day", say("classes_day")],
    ["weekday-weekend-parts-of-day", say("classes_both")],
  ]);
  // Parts of the day begin at midnight and last six hours: rounds that do not would lie in none of them.
  classes.addEventListener("change", () => {
    const parts = classes.value.endsWith("parts-of-day");
    if (parts) [begins.value, cycle.value] = ["0", String(6 * HOUR)];
    else if (classes.value !== "none" && Number(cycle.value) > 24 * HOUR) cycle.value = String(24 * HOUR);
    if (classes.value === "weekday-weekend") begins.value = "0";
    plan();
  });
  const typed = () => {
    map.show(area());
    plan();
  };
  for (const side of SIDES) sides[side].addEventListener("change", typed);
  cell.addEventListener("change", () => map.cells(cell.valueAsNumber));
  map.cells(500);
  for (const field of [cell, cost, epsilon, people, days, reporting, epoch, cycle])
    field.addEventListener("change", plan);
  let named = false;
  name.addEventListener("input", () => (named = name.value !== ""));
  title.addEventListener("input", () => {
    if (!named) name.value = slug(title.value);
  });

  const submit = button(say("create"), () => undefined, { type: "submit", id: "create" });
  // A rehearsal may have an incomplete notice and close at once: its form is sent without the browser's checks of those.
  const rehearse = button(say("rehearse"), () => undefined, { type: "submit", id: "rehearse", class: "quiet" });
  const optional = [question, organiser, contact, ...Object.values(notice)];
  const forPeople = (yes: boolean) => {
    for (const field of optional) field.toggleAttribute("required", yes);
  };
  submit.addEventListener("click", () => forPeople(true));
  rehearse.addEventListener("click", () => forPeople(false));
  const form = element(
    "form",
    { class: "form" },
    element(
      "div",
      { class: "columns" },
      card(
        "area",
        `1 · ${say("area")}`,
        element("div", { class: "buttons" }, map.drawButton, searchField, here(map)),
        searchTold,
        box,
        element(
          "fieldset",
          {},
          element("legend", {}, say("edges")),
          element("div", { class: "sides" }, ...SIDES.map((side) => labelled(side, sides[side]))),
        ),
        labelled("cell", cell),
        districts.node,
      ),
      card(
        "planned",
        `2 · ${say("planned")}`,
        element("div", { class: "sides" }, labelled("people", people), labelled("days", days)),
        labelled("cost", cost),
        own,
        costWords,
        planBox,
      ),
    ),
    card(
      "words",
      `3 · ${say("read")}`,
      element(
        "div",
        { class: "pairs" },
        labelled("title", title),
        labelled("name", name),
        labelled("question", question),
        labelled("description", description),
        labelled("organiser", organiser),
        labelled("contact", contact),
        labelled("language", language),
        labelled("last_day", ends),
        labelled("offers_position", position),
      ),
      element("h3", {}, say("notice_fields")),
      element("div", { class: "pairs" }, ...NOTICE.map((key) => labelled(key, notice[key]))),
      element(
        "details",
        {},
        element("summary", {}, say("rhythm")),
        labelled("reporting", reporting),
        epochField,
        labelled("cycle", cycle),
        labelled("begins_hour", begins),
        labelled("time_zone", zone),
        labelled("cycle_classes", classes),
        labelled("least", least),
        labelled("soonest", soonest),
      ),
      element(
        "div",
        { class: "buttons" },
        submit,
        rehearse,
        element("a", { class: "button quiet", href: "#/" }, say("cancel")),
      ),
      element("p", { class: "soft" }, say("never_changed")),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(
      async () => {
        if (area() === null) throw new Refused(0, say("no_area"));
        const body: CampaignRequest = {
          name: name.value,
          title: title.value,
          question: question.value,
          description: description.value,
          organiser: organiser.value,
          contact: contact.value,
          ...valuesOf(notice),
          offers_position: position.value !== "",
          ...(event.submitter === rehearse ? { rehearsal: true } : {}),
          language: language.value as NonNullable<CampaignRequest["language"]>,
          ...(ends.value ? { ends_at_s: endOfDay(ends.value) } : {}),
          grid: grid(),
          epsilon_per_km: epsilon.valueAsNumber,
          cycle_duration_s: Number(cycle.value),
          minimum_tickets: least.valueAsNumber,
          minimum_cycle_s: 60 * soonest.valueAsNumber,
          reporting: reporting.value as NonNullable<CampaignRequest["reporting"]>,
          ...epochs(),
          ...districts.asked(),
          ...(begins.value ? { begins_hour: Number(begins.value) } : {}),
          time_zone: zone.value,
          cycle_classes: classes.value as NonNullable<CampaignRequest["cycle_classes"]>,
        };
        const { campaign } = await ask<CampaignAnswer>("/api/v1/campaigns", body);
        location.hash = `#/c/${campaign.name}`;
        return say("created");
      },
      event.submitter === rehearse ? rehearse : submit,
    );
  });
  show("#/new", say("new_campaign"), form);
  planBox.append(element("p", {}, say("plan_first")));
}

/** Ask for a plan a moment after the last change; an answer that came too late is dropped. */
function planner(
  box: HTMLElement,
  wanted: () => object | null,
  cell: () => number,
  take: (one: CheaperView) => void,
): () => void {
  let asked = 0;
  let timer = 0;
  return () => {
    clearTimeout(timer);
    const mine = ++asked;
    timer = window.setTimeout(async () => {
      const body = wanted();
      if (body === null) return;
      box.setAttribute("aria-busy", "true");
      try {
        const { plan } = await ask<PlanAnswer>("/api/v1/plans", body);
        if (mine === asked) box.replaceChildren(...told(plan, cell()), ...overWeeks(plan, take));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (mine === asked) box.replaceChildren(element("p", { class: "bad" }, say("no_plan", { why: error.message })));
      } finally {
        box.removeAttribute("aria-busy");
      }
    }, 400);
  };
}

/** e to the power of a level, in figures that stay readable. */
const factor = (level: number) =>
  level < 12 ? decimal(Math.exp(level), 2) : `10^${count(Math.ceil(level / Math.LN10))}`;

function told(plan: PlanView, cell: number): HTMLElement[] {
  const grid = { rows: count(plan.rows), columns: count(plan.columns) };
  // Who moves at all moves at least one cell: on average less than half a cell, and most stay where they are.
  const moved =
    plan.displacement_m < cell / 2
      ? say("plan_stays", grid)
      : say("plan_moved", { ...grid, distance: length(plan.displacement_m) });
  const needed = plan.finer.filter(({ people }) => people <= 1e7).slice(0, 6);
  return [
    element("p", { class: "headline", id: "plan-words" }, plan.words),
    element("p", { class: "soft", id: "plan-map-words" }, plan.map_words),
    ...plan.advice.map((line) => element("p", { class: "advice" }, line)),
    ...districtsTold(plan),
    element("p", { class: "soft" }, `${moved} ${say("plan_apart")}`),
    ...(needed.length
      ? [
          element(
            "table",
            {},
            element("caption", {}, say("plan_table")),
            element(
              "thead",
              {},
              element(
                "tr",
                {},
                element("th", { scope: "col" }, say("plan_width")),
                element("th", { scope: "col" }, say("plan_people")),
              ),
            ),
            element(
              "tbody",
              {},
              ...needed.map(({ width_m, people }) =>
                element("tr", {}, element("td", {}, length(width_m)), element("td", {}, count(people))),
              ),
            ),
          ),
        ]
      : []),
  ];
}

function here(map: DrawMap): HTMLElement {
  return button(
    say("my_position"),
    () => navigator.geolocation?.getCurrentPosition(({ coords }) => map.centreOn(coords.latitude, coords.longitude)),
    { class: "quiet" },
  );
}
