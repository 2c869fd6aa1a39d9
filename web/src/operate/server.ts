/** The server itself: backups on its disk, who may operate, what was done. */
import type { AuditAnswer, BackupsAnswer, OperatorsAnswer } from "../../../clients/js/src/api.js";
import { element } from "../dom.js";
import { log } from "./campaign.js";
import { confirmed } from "./confirm.js";
import { size, when } from "./fields.js";
import { actButton, card, show, table } from "./frame.js";
import { ask } from "./session.js";

export async function server(): Promise<void> {
  const [kept, { operators, you }, { entries }] = await Promise.all([
    ask<BackupsAnswer>("/api/v1/backups"),
    ask<OperatorsAnswer>("/api/v1/operators"),
    ask<AuditAnswer>("/api/v1/audit?latest=100"),
  ]);
  const names = operators.map(({ name }) => (name === you ? `${name} (you)` : name)).join(", ");
  show(
    "#/server",
    "Server",
    card("backups", "Backups", ...backups(kept)),
    card(
      "operators",
      "Operators",
      element("p", {}, names),
      element(
        "p",
        { class: "soft" },
        "Add, remove and give new tokens in a terminal: ",
        element("code", {}, "sfumato campaign operators --add ada"),
        ".",
      ),
    ),
    card("log", "Who did what", log(entries)),
  );
}

function backups({ backups: kept, folder }: BackupsAnswer): HTMLElement[] {
  if (folder === null)
    return [
      element(
        "p",
        {},
        "This server makes no backups from here (its setting backup_folder is empty). In a terminal: ",
        element("code", {}, "sfumato collector backup FILE"),
      ),
    ];
  const make = actButton("Back up now", async () => {
    await ask("/api/v1/backups", {});
    await server();
    return "The backup is made and checked.";
  });
  const remove = (name: string) =>
    actButton(
      "Delete",
      async () => {
        if (
          !(await confirmed({
            title: "Delete this backup?",
            lines: [`${name} cannot be brought back.`],
            act: "Delete the backup",
          }))
        )
          return "";
        await ask(`/api/v1/backups/${name}/delete`, {});
        await server();
        return "The backup is deleted.";
      },
      { class: "quiet", "aria-label": `Delete ${name}` },
    );
  return [
    element(
      "p",
      {},
      "A backup is one file on the server's own disk, in ",
      element("code", {}, folder),
      ", and holds the collector's keys: it is never sent by this page. Copy it to another machine, and restore it with ",
      element("code", {}, "sfumato collector restore"),
      ".",
    ),
    element("div", { class: "buttons" }, make),
    ...(kept.length
      ? [
          table(
            "Backups",
            ["Made", "File", "Size", ""],
            kept.map(({ name, made_at_s, bytes }) => [when(made_at_s), name, size(bytes), remove(name)]),
          ),
        ]
      : [element("p", { id: "no-backup" }, "There is none yet.")]),
  ];
}
