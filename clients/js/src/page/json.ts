/**
 * JSON as Python writes it. A number keeps the text it came with, so that a certificate's floats are never written anew
 * here, and its canonical text (and seal) is Python's to the last byte. Objects are maps: keys stay in their order.
 */
import { SfumatoError } from "../errors.js";

export class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  get value(): number {
    return Number(this.text);
  }
}

export type Json = null | boolean | string | Digits | Json[] | Fields;
export type Fields = Map<string, Json>;

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)|([[\]{},:]))/y;

/** One JSON text, numbers kept as they are written. */
export function parseJson(text: string, noun = "file"): Json {
  TOKEN.lastIndex = 0;
  const damaged = () => new SfumatoError(`The ${noun} is not valid JSON.`, "Restore it from a copy.");
  const next = () => {
    const found = TOKEN.exec(text);
    if (found === null) throw damaged();
    return found;
  };
  const string = (token: string) => {
    try {
      return JSON.parse(token) as string;
    } catch {
      throw damaged();
    }
  };
  const value = (token: RegExpExecArray, depth: number): Json => {
    if (depth > 60) throw damaged();
    if (token[1] !== undefined) return string(token[1]);
    if (token[2] !== undefined) return new Digits(token[2]);
    if (token[3] !== undefined) return token[3] === "null" ? null : token[3] === "true";
    const close = token[4] === "[" ? "]" : "}";
    if (token[4] !== "[" && token[4] !== "{") throw damaged();
    const list: Json[] = [];
    const fields: Fields = new Map();
    for (let item = next(), first = true; first || item[4] !== close; item = next(), first = false) {
      if (first && item[4] === close) break;
      if (!first) {
        if (item[4] !== ",") throw damaged();
        item = next();
      }
      if (close === "]") list.push(value(item, depth + 1));
      else {
        if (item[1] === undefined || next()[4] !== ":") throw damaged();
        fields.set(string(item[1]), value(next(), depth + 1));
      }
    }
    return close === "]" ? list : fields;
  };
  const found = value(next(), 0);
  if (text.slice(TOKEN.lastIndex).trim() !== "") throw damaged();
  return found;
}

const isFields = (value: Json): value is Fields => value instanceof Map;
const plain = (text: string) => JSON.stringify(text);
/** A text in ASCII, as `json.dumps` writes it by default. */
const ascii = (text: string) =>
  plain(text).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

function written(value: Json, comma: string, colon: string, text: (text: string) => string): string {
  const inner = (item: Json) => written(item, comma, colon, text);
  if (value instanceof Digits) return value.text;
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return `[${value.map(inner).join(comma)}]`;
  if (!isFields(value)) return String(value);
  const names = [...value.keys()].sort();
  return `{${names.map((name) => `${text(name)}${colon}${inner(value.get(name)!)}`).join(comma)}}`;
}

/** `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`: what a seal is taken over. */
export const canonicalJson = (value: Json) => written(value, ",", ":", plain);

/** `json.dumps(value, sort_keys=True)`: what a places file's check is taken over. */
export const sortedJson = (value: Json) => written(value, ", ", ": ", ascii);

/** `json.dumps(value, indent=1)`, in ASCII or not: what is written to a file. */
export function indentedJson(value: Json, options: { ascii: boolean }, depth = 1): string {
  const text = options.ascii ? ascii : plain;
  if (value instanceof Digits || typeof value === "string" || value === null || typeof value === "boolean")
    return written(value, "", "", text);
  const listed = Array.isArray(value);
  const items = listed
    ? value.map((item) => indentedJson(item, options, depth + 1))
    : [...value].map(([name, item]) => `${text(name)}: ${indentedJson(item, options, depth + 1)}`);
  const [open, close] = listed ? "[]" : "{}";
  if (!items.length) return `${open}${close}`;
  const space = `\n${" ".repeat(depth)}`;
  return `${open}${space}${items.join(`,${space}`)}\n${" ".repeat(depth - 1)}${close}`;
}

/** A finite number as Python's `repr` writes a float. */
export function pythonFloat(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [digits, power] = value.toExponential().split("e") as [string, string];
    return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  const text = Object.is(value, -0) ? "-0" : String(value);
  return text.includes(".") ? text : `${text}.0`;
}

/** The nearest whole number, halves to the even one, as Python and NumPy round. */
export function rint(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}

/** `"%.{decimals}f" % value`: halves to the even digit, which `toFixed` does not do. */
export function fixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const text = size.toFixed(decimals);
  const doubled = size * 2 ** (decimals + 1); // exact; odd where the decimal expansion ends in a 5 just behind
  if (!Number.isInteger(doubled) || doubled % 2 === 0) return sign + text;
  const [whole, part] = size.toFixed(decimals + 1).split(".") as [string, string];
  const scaled = BigInt(whole + part.slice(0, decimals));
  const even = (scaled % 2n === 0n ? scaled : scaled + 1n).toString().padStart(decimals + 1, "0");
  return `${sign}${even.slice(0, -decimals)}.${even.slice(-decimals)}`;
}
