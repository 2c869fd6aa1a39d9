/** Labelled fields, dates and sizes for people. */
import { element } from "../dom.js";

export type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** A label above its field, and a hint below that screen readers read with it. */
export function labelled<One extends Field>(label: string, field: One, hint = ""): HTMLElement {
  field.id ||= `f-${label.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const parts: HTMLElement[] = [element("label", { for: field.id }, label), field];
  if (hint) {
    const about = `${field.id}-hint`;
    field.setAttribute("aria-describedby", about);
    parts.push(element("small", { id: about, class: "soft" }, hint));
  }
  return element("div", { class: "field" }, ...parts);
}

export const text = (attributes: Record<string, string> = {}) =>
  element("input", { type: "text", autocomplete: "off", ...attributes });

export const number = (value: string, attributes: Record<string, string> = {}) =>
  element("input", { type: "number", inputmode: "decimal", value, ...attributes });

export function choice(options: readonly (readonly [string, string])[], chosen = ""): HTMLSelectElement {
  const made = element("select");
  for (const [value, label] of options)
    made.append(element("option", value === chosen ? { value, selected: "" } : { value }, label));
  return made;
}

export const LANGUAGES = [
  ["", "the reader's"],
  ["en", "English"],
  ["fr", "Français"],
  ["de", "Deutsch"],
  ["es", "Español"],
] as const;

/** The end of a day written like 2027-06-30, in UTC; 0 for none. */
export const endOfDay = (day: string) => (day ? Date.parse(`${day}T00:00:00Z`) / 1000 + 86_400 : 0);
export const dayOf = (seconds: number) => new Date(seconds * 1000 - 1).toISOString().slice(0, 10);
export const when = (seconds: number | null | undefined) =>
  seconds ? `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC` : "–";
export const size = (bytes: number) =>
  bytes < 1e6
    ? `${Math.ceil(bytes / 1000)} kB`
    : `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;

/** A name for addresses: small letters, digits and hyphens. */
export function slug(title: string): string {
  const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63)
    .replace(/-+$/, "");
}
