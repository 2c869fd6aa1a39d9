/** The server itself: backups on its disk, who may operate, what was done. */
import type { AuditAnswer, BackupsAnswer, OperatorsAnswer } from "../../../clients/js/src/api.js";
import { element } from "../dom.js";
import { log } from "./campaign.js";
import { confirmed } from "./confirm.js";
import { size } from "./fields.js";
import { actButton, card, show, table } from "./frame.js";
import { ask } from "./session.js";
import { say, when } from "./words.js";

export async function server(): Promise<void> {
  const [kept, { operators, you }, { entries }] = await Promise.all([
    ask<BackupsAnswer>("/api/v1/backups"),
    ask<OperatorsAnswer>("/api/v1/operators"),
    ask<AuditAnswer>("/api/v1/audit?latest=100"),
  ]);
  const names = operators.map(({ name }) => (name === you ? say("you", { name }) : name)).join(", ");
  show(
    "#/server",
    say("server"),
    card("backups", say("backups"), ...backups(kept)),
    card(
      "operators",
      say("operators"),
      element("p", {}, names),
      element(
        "p",
        { class: "soft" },
        say("operators_about"),
        " ",
        element("code", {}, "sfumato campaign operators --add ada"),
      ),
    ),
    card("log", say("log"), log(entries)),
  );
}

function backups({ backups: kept, folder }: BackupsAnswer): HTMLElement[] {
  if (folder === null)
    return [element("p", {}, say("no_backups"), " ", element("code", {}, "sfumato collector backup FILE"))];
  const make = actButton(say("back_up"), async () => {
    await ask("/api/v1/backups", {});
    await server();
    return say("backed_up");
  });
  const remove = (name: string) =>
    actButton(
      say("delete"),
      async () => {
        if (
          !(await confirmed({
            title: say("delete_backup_title"),
            lines: [say("delete_backup_about", { name })],
            act: say("delete_backup"),
          }))
        )
          return "";
        await ask(`/api/v1/backups/${name}/delete`, {});
        await server();
        return say("backup_deleted");
      },
      { class: "quiet", "aria-label": say("delete_named", { name }) },
    );
  return [
    element(
      "p",
      {},
      say("backups_about"),
      " ",
      element("code", {}, folder),
      " · ",
      element("code", {}, "sfumato collector restore"),
    ),
    element("div", { class: "buttons" }, make),
    ...(kept.length
      ? [
          table(
            say("backups"),
            [say("made"), say("file"), say("size"), ""],
            kept.map(({ name, made_at_s, bytes }) => [when(made_at_s), name, size(bytes), remove(name)]),
          ),
        ]
      : [element("p", { id: "no-backup" }, say("no_backup"))]),
  ];
}
