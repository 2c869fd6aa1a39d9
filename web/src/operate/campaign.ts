/** One campaign: how it stands, what to give away, what to take home, and every act an operator can do to it. */
import type {
  AuditAnswer,
  BackupsAnswer,
  CampaignAnswer,
  CampaignView,
  CloseAnswer,
  ClosedCycleView,
  EndAnswer,
  HistoryAnswer,
} from "../../../clients/js/src/api.js";
import { button, element, numbers } from "../dom.js";
import { confirmed } from "./confirm.js";
import { choice, dayOf, endOfDay, LANGUAGES, labelled, NOTICE, noticeFields, slug, text, valuesOf } from "./fields.js";
import { actButton, attempt, card, show, table } from "./frame.js";
import { STATES } from "./list.js";
import { ask } from "./session.js";
import { share } from "./share.js";
import { count, decimal, known, length, many, say, when } from "./words.js";

export async function campaign(name: string): Promise<void> {
  const [{ campaign: one }, { history }, { entries }] = await Promise.all([
    ask<CampaignAnswer>(`/api/v1/campaigns/${name}`),
    ask<HistoryAnswer>(`/api/v1/campaigns/${name}/cycles`),
    ask<AuditAnswer>(`/api/v1/audit?campaign=${name}`),
  ]);
  const alive = one.state === "running" || one.state === "paused";
  show(
    `#/c/${name}`,
    one.title,
    element("p", { class: "lead", id: "state", "data-state": one.state }, STATES[one.state], ended(one)),
    ...(one.rehearsal ? [rehearsed(one)] : []),
    card("standing", say("standing"), standing(one, history), links(name, history)),
    card("acts", say("acts"), ...acts(one, history)),
    ...(alive ? await share(one) : []),
    ...(one.state === "archived" ? [] : [card("texts", say("texts"), texts(one))]),
    card("log", say("log"), log(entries)),
  );
}

/** What a rehearsal is for, and how it becomes the real campaign: by a copy that takes none of its reports along. */
function rehearsed(one: CampaignView): HTMLElement {
  const name = text({ value: slug(one.name.replace(/-?(rehearsal|test)$/, "") || `${one.name}-1`) });
  if (name.value === one.name) name.value = `${one.name}-1`;
  const make = actButton(
    say("make_real"),
    async () => {
      const { campaign: made } = await ask<CampaignAnswer>(`/api/v1/campaigns/${one.name}/copy`, { name: name.value });
      location.hash = `#/c/${made.name}`;
      return say("made_real");
    },
    { id: "make-real" },
  );
  const command = `sfumato collect crowd --url ${location.origin} --campaign ${one.name}`;
  return card(
    "rehearsal",
    say("rehearsal"),
    element("p", { class: "alarm" }, say("rehearsal_about"), " ", element("code", {}, command)),
    labelled("real_name", name),
    element("div", { class: "buttons" }, make),
  );
}

const ended = ({ ends_at_s, state }: CampaignView) =>
  ends_at_s && (state === "running" || state === "paused")
    ? ` · ${say("ends_by_itself", { when: when(ends_at_s) })}`
    : "";

function standing(one: CampaignView, history: ClosedCycleView[]): HTMLElement {
  const reports = history.reduce((sum, cycle) => sum + cycle.reports, 0);
  const alive = one.state === "running" || one.state === "paused";
  return numbers([
    [say("published_cycles"), count(history.length), say("reports_in_them", { reports: many("reports", reports) })],
    ...(alive
      ? ([
          [
            say("open_cycle"),
            count(one.cycle.number),
            say("told_to_operators", { reports: many("reports", one.cycle.reports ?? 0) }),
          ],
          [
            say("due"),
            when(one.cycle.due_at_s),
            say("due_not_before", {
              people: count(one.minimum_tickets),
              when: when(one.cycle.opened_at_s + one.minimum_cycle_s),
            }),
          ],
        ] as [string, string, string][])
      : []),
    [say("each_costs"), say("per_km", { level: decimal(one.two_beta_per_km, 4) }), say("each_costs_about")],
    [
      say("area_word"),
      say("so_many_cells", { cells: count(one.cells) }),
      say("so_wide", { width: length(one.grid.cell_width) }),
    ],
  ]);
}

function links(name: string, history: ClosedCycleView[]): HTMLElement {
  const files = ["geojson", "csv", "parquet", "json"].map((ending) =>
    element("a", { href: `/api/v1/campaigns/${name}/estimate.${ending}`, download: "" }, ending),
  );
  const report = element("a", { href: `/campaigns/${name}/report` }, say("report"));
  const between = files.flatMap((one, index) => (index ? [" · ", one] : [one]));
  return element(
    "p",
    { id: "links" },
    element("a", { href: `/campaigns/${name}` }, say("page_people_see")),
    " · ",
    element("a", { href: `/campaigns/${name}/dashboard` }, say("the_map")),
    ...(history.length ? [` · ${say("map_as_file")} `, ...between, " · ", report] : []),
  );
}

function acts(one: CampaignView, history: ClosedCycleView[]): HTMLElement[] {
  const { name, state } = one;
  const path = `/api/v1/campaigns/${name}`;
  const act = (label: string, does: () => Promise<string>, attributes: Record<string, string> = {}) =>
    actButton(
      label,
      async () => {
        const said = await does();
        if (said) await campaign(name);
        return said;
      },
      attributes,
    );
  const simple = (label: string, route: string, said: string) =>
    act(label, async () => {
      await ask(`${path}/${route}`, {});
      return said;
    });
  const close = act(say("close"), async () => {
    const { closed, cycle, reason } = await ask<CloseAnswer>(`${path}/close`, {});
    return closed ? say("closed", { cycle }) : say("not_closed", { cycle, reason });
  });
  const end = act(`${say("end")}…`, () => endIt(one), { class: "danger" });
  const archive = act(say("archive_it"), async () => {
    await ask(`${path}/archive`, {});
    return say("archived_it");
  });
  const remove = actButton(`${say("delete_all")}…`, () => deleteIt(one, history), { class: "danger" });
  const offered: Record<CampaignView["state"], HTMLButtonElement[]> = {
    running: [close, simple(say("pause"), "pause", say("paused_it")), end],
    paused: [simple(say("resume"), "resume", say("resumed_it")), end, remove],
    ended: [archive, remove],
    archived: [remove],
  };
  return [
    element("p", {}, say(`about_${state}`)),
    element("div", { class: "buttons", id: "act-buttons" }, ...offered[state]),
  ];
}

async function endIt(one: CampaignView): Promise<string> {
  const yes = await confirmed({
    title: say("end_title", { title: one.title }),
    lines: [say("end_about"), ...unpublished(one)],
    act: say("end"),
  });
  if (!yes) return "";
  const { published, reason } = await ask<EndAnswer>(`/api/v1/campaigns/${one.name}/end`, {});
  return published ? say("ended_published") : say("ended_unpublished", { reason });
}

/** What ending now would do to the open cycle. */
function unpublished({ cycle, minimum_tickets, minimum_cycle_s }: CampaignView): string[] {
  const ripe = cycle.opened_at_s + minimum_cycle_s;
  if (cycle.state !== "open") return [say("lost_closing")];
  const tickets = cycle.tickets ?? 0;
  if (tickets < minimum_tickets)
    return [say("lost_few", { reports: many("reports", tickets), least: count(minimum_tickets) })];
  if (ripe > Date.now() / 1000) return [say("lost_young", { when: when(ripe), reports: many("reports", tickets) })];
  return [say("lost_never", { least: count(minimum_tickets) })];
}

async function deleteIt(one: CampaignView, history: ClosedCycleView[]): Promise<string> {
  const { backups } = await ask<BackupsAnswer>("/api/v1/backups");
  const holding = backups.filter(({ made_at_s }) => made_at_s >= one.created_at_s).length;
  const reports = history.reduce((sum, cycle) => sum + cycle.reports, 0);
  const yes = await confirmed({
    title: say("delete_title", { title: one.title }),
    lines: [
      say("delete_lost", { cycles: many("cycles", history.length), reports: many("reports", reports) }),
      say(reports + (one.cycle.reports ?? 0) ? "delete_name" : "delete_name_free", { name: one.name }),
      holding ? say("delete_backups_here", { count: holding }) : say("delete_backups"),
    ],
    act: say("delete_all"),
    typed: one.name,
  });
  if (!yes) return "";
  await ask(`/api/v1/campaigns/${one.name}/delete`, { confirm: one.name });
  location.hash = "#/";
  return say("deleted", { title: one.title });
}

function texts(one: CampaignView): HTMLElement {
  const title = text({ value: one.title, maxlength: "200", required: "" });
  const question = text({ value: one.question ?? "", maxlength: "200" });
  const description = element("textarea", { rows: "3", maxlength: "2000" }, one.description ?? "");
  const organiser = text({ value: one.organiser ?? "", maxlength: "200" });
  const contact = text({ value: one.contact ?? "", maxlength: "200" });
  const language = choice(LANGUAGES, one.language ?? "");
  const ends = element("input", { type: "date", value: one.ends_at_s ? dayOf(one.ends_at_s) : "" });
  const notice = noticeFields(one);
  const position = choice(
    [
      ["yes", say("yes")],
      ["", say("no")],
    ],
    one.offers_position === false ? "" : "yes",
  );
  const save = button(say("save"), () => undefined, { type: "submit" });
  const form = element(
    "form",
    { class: "form" },
    element(
      "div",
      { class: "pairs" },
      labelled("title", title),
      labelled("question", question),
      labelled("description", description),
      labelled("organiser", organiser),
      labelled("contact", contact),
      labelled("language", language),
      ...(one.state === "ended" ? [] : [labelled("last_day", ends)]),
      labelled("offers_position", position),
      ...NOTICE.map((key) => labelled(key, notice[key])),
    ),
    element("div", { class: "buttons" }, save),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const body = {
      title: title.value,
      question: question.value,
      description: description.value,
      organiser: organiser.value,
      contact: contact.value,
      language: language.value,
      offers_position: position.value !== "",
      ...valuesOf(notice),
      ...(one.state === "ended" ? {} : { ends_at_s: endOfDay(ends.value) }),
    };
    void attempt(async () => {
      await ask(`/api/v1/campaigns/${one.name}/texts`, body);
      await campaign(one.name);
      return say("saved");
    }, save);
  });
  return form;
}

/** A word of the log in the operator's language, or as the server wrote it. */
function worded(kind: "did" | "detail", word: string): string {
  const key = `${kind}_${word.replaceAll(" ", "_")}`;
  return known(key) ? say(key) : word;
}

export function log(entries: AuditAnswer["entries"]): HTMLElement {
  if (!entries.length) return element("p", {}, say("nothing_done"));
  const rows = [...entries].reverse().slice(0, 100);
  const told = (detail: string) =>
    Object.entries(JSON.parse(detail) as Record<string, unknown>)
      .map(([key, value]) => `${worded("detail", key)}: ${String(value)}`)
      .join(", ");
  return table(
    say("log"),
    [say("log_when"), say("log_who"), say("log_what"), say("campaign"), say("log_details")],
    rows.map(({ at_s, operator, action, campaign: of, detail }) => [
      when(at_s),
      operator,
      worded("did", action),
      of ?? "",
      told(detail),
    ]),
  );
}
