/** Asking once more before something that cannot be taken back. */
import { button, element } from "../dom.js";
import { say } from "./words.js";

interface Question {
  readonly title: string;
  /** What happens, one sentence each. */
  readonly lines: readonly string[];
  /** What the button says: the act itself, never "OK". */
  readonly act: string;
  /** A word to type before the button works. */
  readonly typed?: string;
}

/** Whether the operator said yes; Escape, the other button and closing say no. */
export function confirmed({ title, lines, act, typed }: Question): Promise<boolean> {
  const yes = button(act, () => dialog.close("yes"), { class: "danger", id: "confirm-yes" });
  const no = button(say("cancel"), () => dialog.close(""), { class: "quiet", id: "confirm-no" });
  const parts: HTMLElement[] = [
    element("h2", { id: "confirm-title" }, title),
    element("div", { id: "confirm-about" }, ...lines.map((line) => element("p", {}, line))),
  ];
  if (typed !== undefined) {
    const field = element("input", { type: "text", id: "confirm-typed", autocomplete: "off", spellcheck: "false" });
    yes.disabled = true;
    field.addEventListener("input", () => (yes.disabled = field.value !== typed));
    parts.push(
      element("div", { class: "field" }, element("label", { for: field.id }, say("type_it", { word: typed })), field),
    );
  }
  const dialog = element(
    "dialog",
    { "aria-labelledby": "confirm-title", "aria-describedby": "confirm-about" },
    ...parts,
    element("div", { class: "buttons" }, yes, no),
  );
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
    if (typed === undefined) no.focus();
  });
}
