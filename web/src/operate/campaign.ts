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
import { choice, dayOf, endOfDay, LANGUAGES, labelled, text, when } from "./fields.js";
import { actButton, attempt, card, show, table } from "./frame.js";
import { STATES } from "./list.js";
import { ask } from "./session.js";
import { share } from "./share.js";

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
    card("standing", "How it stands", standing(one, history), links(name, history)),
    card("acts", "What you can do", ...acts(one, history)),
    ...(alive ? await share(one) : []),
    ...(one.state === "archived" ? [] : [card("texts", "What is said about it", texts(one))]),
    card("log", "Who did what", log(entries)),
  );
}

const ended = ({ ends_at_s, state }: CampaignView) =>
  ends_at_s && (state === "running" || state === "paused") ? ` · ends by itself ${when(ends_at_s)}` : "";

function standing(one: CampaignView, history: ClosedCycleView[]): HTMLElement {
  const reports = history.reduce((sum, cycle) => sum + cycle.reports, 0);
  const alive = one.state === "running" || one.state === "paused";
  return numbers([
    ["Published cycles", String(history.length), `${reports.toLocaleString("en")} reports in them`],
    ...(alive
      ? ([
          ["Open cycle", String(one.cycle.number), `${one.cycle.reports ?? 0} reports, told to operators only`],
          [
            "Due",
            when(one.cycle.due_at_s),
            `not before ${one.minimum_tickets} people took part, nor before ${when(one.cycle.opened_at_s + one.minimum_cycle_s)}`,
          ],
        ] as [string, string, string][])
      : []),
    ["Each report costs", `${one.two_beta_per_km.toLocaleString("en")} per km`, "at most; it never changes"],
    ["Area", `${one.cells.toLocaleString("en")} cells`, `${Math.round(one.grid.cell_width)} m wide`],
  ]);
}

function links(name: string, history: ClosedCycleView[]): HTMLElement {
  const files = ["geojson", "csv", "parquet", "json"].map((ending) =>
    element("a", { href: `/api/v1/campaigns/${name}/estimate.${ending}`, download: "" }, ending),
  );
  const between = files.flatMap((one, index) => (index ? [" · ", one] : [one]));
  return element(
    "p",
    { id: "links" },
    element("a", { href: `/campaigns/${name}` }, "The page people see"),
    " · ",
    element("a", { href: `/campaigns/${name}/dashboard` }, "The map"),
    ...(history.length ? [" · The map as a file: ", ...between] : []),
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
  const close = act("Close this cycle now", async () => {
    const { closed, cycle, reason } = await ask<CloseAnswer>(`${path}/close`, {});
    return closed ? `Cycle ${cycle} is closed and its map is published.` : `Cycle ${cycle} stays open: ${reason}.`;
  });
  const end = act("End the campaign…", () => endIt(one), { class: "danger" });
  const archive = act("Archive it", async () => {
    await ask(`${path}/archive`, {});
    return "Archived: it is out of the lists; its pages and files stay.";
  });
  const remove = actButton("Delete everything…", () => deleteIt(one, history), { class: "danger" });
  const offered: Record<CampaignView["state"], HTMLButtonElement[]> = {
    running: [close, simple("Pause", "pause", "Paused: no report is taken until you resume."), end],
    paused: [simple("Resume", "resume", "It runs again."), end, remove],
    ended: [archive, remove],
    archived: [remove],
  };
  const about: Record<CampaignView["state"], string> = {
    running: "A campaign that runs is not deleted: end it first.",
    paused: "No report is taken. Devices keep theirs and send them when you resume.",
    ended: "It takes no reports any more. Its maps stay where they are.",
    archived: "It is out of the lists. Its maps stay where they are until you delete it.",
  };
  return [element("p", {}, about[state]), element("div", { class: "buttons", id: "act-buttons" }, ...offered[state])];
}

async function endIt(one: CampaignView): Promise<string> {
  const yes = await confirmed({
    title: `End “${one.title}”?`,
    lines: ["It never takes another report, and this cannot be taken back.", ...unpublished(one)],
    act: "End the campaign",
  });
  if (!yes) return "";
  const { published, reason } = await ask<EndAnswer>(`/api/v1/campaigns/${one.name}/end`, {});
  return published
    ? "It has ended; its last cycle is published."
    : `It has ended; its last cycle is not published: ${reason}.`;
}

/** What ending now would do to the open cycle. */
function unpublished({ cycle, minimum_tickets, minimum_cycle_s }: CampaignView): string[] {
  const ripe = cycle.opened_at_s + minimum_cycle_s;
  if (cycle.state !== "open") return ["Its open cycle is being closed already and will be published."];
  const tickets = cycle.tickets ?? 0;
  if (tickets < minimum_tickets)
    return [
      `Its open cycle has ${tickets} reports, fewer than the ${minimum_tickets} that a published map needs: they are lost.`,
    ];
  if (ripe > Date.now() / 1000)
    return [
      `Its open cycle is too young to be published before ${when(ripe)}: ended now, its ${tickets} reports are lost.`,
    ];
  return [`Its open cycle is published if at least ${minimum_tickets} people took part; otherwise it never is.`];
}

async function deleteIt(one: CampaignView, history: ClosedCycleView[]): Promise<string> {
  const { backups } = await ask<BackupsAnswer>("/api/v1/backups");
  const holding = backups.filter(({ made_at_s }) => made_at_s >= one.created_at_s).length;
  const reports = history.reduce((sum, cycle) => sum + cycle.reports, 0).toLocaleString("en");
  const yes = await confirmed({
    title: `Delete “${one.title}”?`,
    lines: [
      `Lost for good: ${history.length === 1 ? "1 published cycle" : `${history.length} published cycles`} with ${reports} reports, their maps and files, and the campaign's part of the public log.`,
      `Links to its page stop working, and the name ${one.name} is never given again.`,
      holding
        ? `${holding} backups on this server still hold it, and any made elsewhere: delete those too.`
        : "Backups made elsewhere keep what they hold: delete those too.",
    ],
    act: "Delete everything",
    typed: one.name,
  });
  if (!yes) return "";
  await ask(`/api/v1/campaigns/${one.name}/delete`, { confirm: one.name });
  location.hash = "#/";
  return `${one.title} is deleted.`;
}

function texts(one: CampaignView): HTMLElement {
  const title = text({ value: one.title, maxlength: "200", required: "" });
  const question = text({ value: one.question ?? "", maxlength: "200" });
  const description = element("textarea", { rows: "3", maxlength: "2000" }, one.description ?? "");
  const organiser = text({ value: one.organiser ?? "", maxlength: "200" });
  const contact = text({ value: one.contact ?? "", maxlength: "200" });
  const language = choice(LANGUAGES, one.language ?? "");
  const ends = element("input", { type: "date", value: one.ends_at_s ? dayOf(one.ends_at_s) : "" });
  const save = button("Save", () => undefined, { type: "submit" });
  const form = element(
    "form",
    { class: "form" },
    element(
      "div",
      { class: "pairs" },
      labelled("Title", title),
      labelled("Question", question),
      labelled("What it is for", description),
      labelled("Organiser", organiser),
      labelled("Contact", contact),
      labelled("Language of its pages", language),
      ...(one.state === "ended"
        ? []
        : [labelled("Last day", ends, "At its end (UTC) the campaign ends by itself; empty: when you end it.")]),
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
      ...(one.state === "ended" ? {} : { ends_at_s: endOfDay(ends.value) }),
    };
    void attempt(async () => {
      await ask(`/api/v1/campaigns/${one.name}/texts`, body);
      await campaign(one.name);
      return "Saved.";
    }, save);
  });
  return form;
}

export function log(entries: AuditAnswer["entries"]): HTMLElement {
  if (!entries.length) return element("p", {}, "Nothing was done yet.");
  const rows = [...entries].reverse().slice(0, 100);
  const told = (detail: string) =>
    Object.entries(JSON.parse(detail) as Record<string, unknown>)
      .map(([key, value]) => `${key}: ${String(value)}`)
      .join(", ");
  return table(
    "Audit log",
    ["When", "Who", "What", "Campaign", "Details"],
    rows.map(({ at_s, operator, action, campaign: of, detail }) => [
      when(at_s),
      operator,
      action,
      of ?? "",
      told(detail),
    ]),
  );
}
