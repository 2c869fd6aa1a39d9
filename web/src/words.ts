/** What the page says, in the language the server wrote it in: the same file that the server reads, and only that one. */
export type Words = typeof import("../../src/sfumato/collect/service/pages/words/en.json");
export type Key = keyof Words;

const FILES: Record<string, () => Promise<{ default: Words }>> = {
  en: () => import("../../src/sfumato/collect/service/pages/words/en.json"),
  fr: () => import("../../src/sfumato/collect/service/pages/words/fr.json"),
  de: () => import("../../src/sfumato/collect/service/pages/words/de.json"),
  es: () => import("../../src/sfumato/collect/service/pages/words/es.json"),
};

export interface Tongue {
  readonly language: string;
  /** A text with its {placeholders} filled in. */
  say(key: Key, values?: Readonly<Record<string, string | number>>): string;
  number(value: number, digits?: number): string;
  /** A whole number, all of its digits. */
  count(value: number): string;
  reports(count: number): string;
  length(metres: number): string;
  percent(share: number): string;
}

export async function tongue(language = document.documentElement.lang): Promise<Tongue> {
  const known = language in FILES ? language : "en";
  const { default: texts } = await FILES[known]!();
  const number = (value: number, digits = 3) =>
    Number(value.toPrecision(digits)).toLocaleString(known, { maximumSignificantDigits: digits });
  const say: Tongue["say"] = (key, values = {}) =>
    texts[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
  const count = (value: number) => value.toLocaleString(known);
  const percent = (share: number) =>
    share >= 0.001
      ? `${(100 * share).toLocaleString(known, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} %`
      : `${number(100 * share, 2)} %`;
  return {
    language: known,
    say,
    number,
    count,
    reports: (many) => (many === 1 ? say("reports_one") : say("reports_many", { count: count(many) })),
    percent,
    length: (metres) => (metres >= 1000 ? `${number(metres / 1000, 2)} km` : `${number(metres, 2)} m`),
  };
}
