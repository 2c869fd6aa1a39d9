/** Labelled fields, dates and sizes for people. */
import { element } from "../dom.js";
import { decimal, type Key, known, say } from "./words.js";

export type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** A field with its name above and, where there are words for it (`…_hint`), a hint that screen readers read with it. */
export function labelled<One extends Field>(key: Key, field: One): HTMLElement {
  field.id ||= `f-${key}`;
  const parts: HTMLElement[] = [element("label", { for: field.id }, say(key)), field];
  const hint = `${key}_hint`;
  if (known(hint)) {
    const about = `${field.id}-hint`;
    field.setAttribute("aria-describedby", about);
    parts.push(element("small", { id: about, class: "soft" }, say(hint)));
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
  ["", say("the_readers")],
  ["en", "English"],
  ["fr", "Français"],
  ["de", "Deutsch"],
  ["es", "Español"],
] as const;

/** What of the privacy notice only the organiser knows, beside who it is and where to write. */
export const NOTICE = ["legal_basis", "officer", "processor", "retention"] as const;
type NoticeFields = Record<(typeof NOTICE)[number], HTMLInputElement>;

export const noticeFields = (kept: Partial<Record<keyof NoticeFields, string>> = {}) =>
  Object.fromEntries(NOTICE.map((key) => [key, text({ maxlength: "200", value: kept[key] ?? "" })])) as NoticeFields;

export const valuesOf = (fields: NoticeFields) =>
  Object.fromEntries(NOTICE.map((key) => [key, fields[key].value])) as Record<keyof NoticeFields, string>;

/** The end of a day written like 2027-06-30, by this machine's clock; 0 for none. */
export function endOfDay(day: string): number {
  if (!day) return 0;
  const end = new Date(`${day}T00:00:00`);
  end.setDate(end.getDate() + 1);
  return end.getTime() / 1000;
}
/** The day whose end that is. */
export function dayOf(seconds: number): string {
  const last = new Date(seconds * 1000 - 1);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${last.getFullYear()}-${two(last.getMonth() + 1)}-${two(last.getDate())}`;
}
export const size = (bytes: number) =>
  bytes < 1e6 ? `${decimal(Math.ceil(bytes / 1000))} kB` : `${decimal(bytes / 1e6, 2)} MB`;

/** A name for addresses: small letters, digits and hyphens. */
export function slug(title: string): string {
  const letters = title.toLowerCase().replace(/ß/g, "ss").replace(/œ/g, "oe").replace(/æ/g, "ae").replace(/ø/g, "o");
  const plain = letters.normalize("NFKD").replace(/\p{M}/gu, "");
  return plain
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63)
    .replace(/-+$/, "");
}

/** The server's picture as an element; it is parsed as a picture, so nothing in it can run. */
export function drawn(svg: string): Node {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return document.importNode(parsed, true);
}
