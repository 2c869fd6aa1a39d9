/** Times as files write them, to whole microseconds since 1970 UTC and back; a time without a zone is refused, not guessed. */
import { SfumatoError } from "../errors.js";
import { rint } from "./json.js";

const MOMENT =
  /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/;

/** Microseconds of an ISO 8601 text; NaN where it cannot be read. */
export function microsOf(text: string): number {
  const found = MOMENT.exec(text.trim());
  if (found === null) return Number.NaN;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((k) => Number(found[k] ?? "0")) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (found[8] === undefined)
    throw new SfumatoError(
      "The times have no time zone, so the moment they mean is unknown.",
      "Export the file with times like 2024-05-01T12:00:00Z, or use the command line with --time-zone.",
    );
  const date = new Date(Date.UTC(year, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  const valid = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!valid || year < 1 || hour > 23 || minute > 59 || second > 59) return Number.NaN;
  const zone = /^([+-])(\d\d):?(\d\d)?$/.exec(found[8]);
  const minutes = zone === null ? 0 : (zone[1] === "-" ? -1 : 1) * (60 * Number(zone[2]) + Number(zone[3] ?? "0"));
  const seconds = date.getTime() / 1000 + 3600 * hour + 60 * (minute - minutes) + second;
  return seconds * 1e6 + Number((found[7] ?? "").padEnd(6, "0").slice(0, 6));
}

/** Numbers since 1970 as microseconds; milli-, micro- and nanoseconds are told by the size of the median. */
export function microsOfEpochs(values: readonly number[]): number[] {
  const sizes = values.map(Math.abs).sort((a, b) => a - b);
  const half = sizes.length >> 1;
  const typical = sizes.length % 2 ? sizes[half]! : (sizes[half - 1]! + sizes[half]!) / 2;
  const scale = typical >= 1e17 ? 1e9 : typical >= 1e14 ? 1e6 : typical >= 1e11 ? 1e3 : 1;
  return values.map((value) => rint((value / scale) * 1e6));
}

/** A list of texts, or of numbers since 1970 (as such or as texts), as microseconds: null where there is none. */
export function mixedTimes(values: readonly unknown[]): (number | null)[] {
  const out: (number | null)[] = values.map(() => null);
  const numbers = values.flatMap((value, i) => (typeof value === "number" && Number.isFinite(value) ? [i] : []));
  const texts = values.flatMap((value, i) => (typeof value === "string" && value.trim() !== "" ? [i] : []));
  const counted = texts.filter((i) => /^\s*[+-]?\d+(\.\d*)?\s*$/.test(values[i] as string));
  const set = (places: number[]) =>
    microsOfEpochs(places.map((i) => Number(values[i]))).forEach((micros, k) => {
      out[places[k]!] = micros;
    });
  set(numbers);
  for (const i of texts) out[i] = Number.NaN;
  if (texts.length && 2 * counted.length >= texts.length) set(counted);
  else for (const i of texts) out[i] = microsOf(values[i] as string);
  return out;
}

/** ISO 8601 in UTC with as few decimals as lose nothing: seconds, milliseconds or microseconds, the same for all. */
export function formatTimes(micros: ArrayLike<number>): string[] {
  const all = Array.from(micros);
  const digits = all.every((t) => t % 1e6 === 0) ? 0 : all.every((t) => t % 1000 === 0) ? 3 : 6;
  return all.map((t) => {
    const seconds = Math.floor(t / 1e6);
    const rest = (t - seconds * 1e6).toString().padStart(6, "0").slice(0, digits);
    return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${digits ? `.${rest}` : ""}Z`;
  });
}
