/** What the operator's screens say, in the language of their frame; times in the operator's own time zone. */
import { filled, spoken, type Values, written } from "../words.js";

type Words = typeof import("../../../src/sfumato/collect/service/pages/words/operate.en.json");
export type Key = keyof Words;

const FILES: Record<string, () => Promise<{ default: Words }>> = {
  en: () => import("../../../src/sfumato/collect/service/pages/words/operate.en.json"),
  fr: () => import("../../../src/sfumato/collect/service/pages/words/operate.fr.json"),
  de: () => import("../../../src/sfumato/collect/service/pages/words/operate.de.json"),
  es: () => import("../../../src/sfumato/collect/service/pages/words/operate.es.json"),
};

export const language = spoken();
const { default: texts } = await FILES[language]!();
export const { count, length, number: decimal } = written(language);

/** A text with its {placeholders} filled in. */
export const say = (key: Key, values: Values = {}) => filled(texts[key], values);

/** Whether there are words for it; what comes from the server may be newer than this page. */
export const known = (key: string): key is Key => key in texts;

/** So many of something: one, or many. */
export const many = (key: "reports" | "cycles", howMany: number) =>
  howMany === 1 ? say(`${key}_one`) : say(`${key}_many`, { count: count(howMany) });

const moment = new Intl.DateTimeFormat(language, {
  ...{ year: "numeric", month: "short", day: "numeric" },
  ...{ hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
});

/** A time by the operator's own clock, which it names. */
export const when = (seconds: number | null | undefined) => (seconds ? moment.format(seconds * 1000) : "–");
