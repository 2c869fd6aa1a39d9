/**
 * XML read once from front to back: elements without their prefix, document types refused (the door of entity bombs), and
 * everything that is not well-formed. The browser's own parser refuses prefixes that real tracks use and never declare.
 */
import { SfumatoError } from "../errors.js";

const DEEPEST = 100;
const NAME = "[A-Za-z_:\\u0080-\\uffff][\\w:.\\-\\u0080-\\uffff]*";
const TAG = new RegExp(
  `<(?:(!--)[^]*?-->|(!\\[CDATA\\[)([^]*?)\\]\\]>|(\\?)[^]*?\\?>|(/)?(${NAME})((?:\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(/)?>)`,
  "y",
);
const ATTRIBUTE = new RegExp(`(${NAME})\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "g");
const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const local = (name: string) => name.slice(name.lastIndexOf(":") + 1);

export type Start = (name: string, attributes: Record<string, string>) => void;
export type End = (name: string, text: string) => void;

/** Call `start` and `end` for each element; `text` is what stood directly before the end tag. */
export function readXml(text: string, start: Start, end: End, kind: string): void {
  const damaged = (at: number) =>
    new SfumatoError(
      `The ${kind} file is not well-formed XML (line ${text.slice(0, at).split("\n").length}).`,
      "It may be cut off or damaged; export it again.",
    );
  const unescaped = (piece: string, at: number) =>
    piece.replace(/&(?:#(\d+)|#x([\da-fA-F]+)|(\w+))?(;?)/g, (_, decimal, hexadecimal, name, ended) => {
      if (ended !== ";") throw damaged(at);
      if (name !== undefined) {
        if (!Object.hasOwn(NAMED, name as string)) throw damaged(at);
        return NAMED[name as string]!;
      }
      const code = decimal === undefined ? Number.parseInt(hexadecimal as string, 16) : Number(decimal);
      if (!(code > 0 && code <= 0x10ffff)) throw damaged(at);
      return String.fromCodePoint(code);
    });
  const open: string[] = [];
  let roots = 0;
  let piece = "";
  let at = /^[\s\ufeff]*/.exec(text)![0].length;
  while (at < text.length) {
    const next = text.indexOf("<", at);
    const between = text.slice(at, next < 0 ? text.length : next);
    if (!open.length && between.trim() !== "") throw damaged(at);
    piece += open.length ? unescaped(between, at) : "";
    if (next < 0) break;
    if (text.startsWith("<!DOCTYPE", next) || text.startsWith("<!ENTITY", next))
      throw new SfumatoError(
        `The ${kind} file declares a document type or entities, which are used to attack readers.`,
        "Remove the <!DOCTYPE ...> part; tracks do not need it.",
      );
    TAG.lastIndex = next;
    const found = TAG.exec(text);
    if (found === null) throw damaged(next);
    at = TAG.lastIndex;
    if (found[2] !== undefined) {
      if (!open.length) throw damaged(next);
      piece += found[3]!;
    }
    const name = found[6];
    if (name === undefined) continue;
    if (found[5] !== undefined) {
      if (found[7] !== "" || found[8] !== undefined || open.pop() !== name) throw damaged(next);
      end(local(name), piece);
      piece = "";
      continue;
    }
    if (!open.length && roots++) throw damaged(next);
    const attributes: Record<string, string> = {};
    for (const [, key, one, other] of found[7]!.matchAll(ATTRIBUTE)) {
      if (Object.hasOwn(attributes, key!)) throw damaged(next);
      attributes[key!] = unescaped(one ?? other ?? "", next);
    }
    piece = "";
    start(local(name), attributes);
    if (found[8] !== undefined) end(local(name), "");
    else if (open.push(name) > DEEPEST)
      throw new SfumatoError(`The ${kind} file is nested too deeply.`, "It is not a track; export it again.");
  }
  if (open.length || !roots) throw damaged(text.length);
}
