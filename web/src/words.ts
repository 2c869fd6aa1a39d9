/** What the page says, in the language the server wrote it in: the same file that the server reads, and only that one. */
export type Words = typeof import("../../src/sfumato/collect/service/pages/words/en.json");
export type Key = keyof Words;

const FILES: Record<string, () => Promise<{ default: Words }>> = {
  en: () => import("../../src/sfumato/collect/service/pages/words/en.json"),
  fr: () => import("../../src/sfumato/collect/service/pages/words/fr.json"),
  de: () => import("../../src/sfumato/collect/service/pages/words/de.json"),
  es: () => import("../../src/sfumato/collect/service/pages/words/es.json"),
};

export type Values = Readonly<Record<string, string | number>>;

/** Numbers and lengths as a language writes them. */
export interface Written {
  readonly language: string;
  number(value: number, digits?: number): string;
  /** A whole number, all of its digits. */
  count(value: number): string;
  length(metres: number): string;
  percent(share: number): string;
}

export interface Tongue extends Written {
  /** A text with its {placeholders} filled in. */
  say(key: Key, values?: Values): string;
  reports(count: number): string;
}

/** The page's language, if there are words in it. */
export function spoken(language = document.documentElement.lang): string {
  return language in FILES ? language : "en";
}

export const filled = (text: string, values: Values) =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));

export function written(language: string): Written {
  const number = (value: number, digits = 3) =>
    Number(value.toPrecision(digits)).toLocaleString(language, { maximumSignificantDigits: digits });
  const percent = (share: number) =>
    share >= 0.001
      ? `${(100 * share).toLocaleString(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 })}\u00a0%`
      : `${number(100 * share, 2)}\u00a0%`;
  return {
    language,
    number,
    count: (value) => value.toLocaleString(language),
    percent,
    length: (metres) => (metres >= 1000 ? `${number(metres / 1000, 2)} km` : `${number(metres, 2)} m`),
  };
}

export async function tongue(language = spoken()): Promise<Tongue> {
  const { default: texts } = await FILES[language]!();
  const numbers = written(language);
  const say: Tongue["say"] = (key, values = {}) => filled(texts[key], values);
  const reports = (many: number) =>
    many === 1 ? say("reports_one") : say("reports_many", { count: numbers.count(many) });
  return { ...numbers, say, reports };
}
