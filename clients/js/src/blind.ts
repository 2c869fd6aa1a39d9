/**
 * Tickets that the operator signs without seeing them: RSABSSA-SHA384-PSS-Randomized (RFC 9474), by the library of
 * Cloudflare. Same rules and same memory as `sfumato.collect.client.blind_tickets`, which says why.
 */
import { BlindRSA } from "@cloudflare/blindrsa-ts/lib/src/blindrsa.js";
import { bytesOf, hex } from "./draw.js";
import { must, Refused } from "./errors.js";

export const KIND = "RSABSSA-SHA384-PSS-Randomized";

/** What a round says about its tickets: its key, when it began, how long it lasts (if time ends it). */
export interface TicketTerms {
  /** The modulus in base64url; the exponent is always 65537. */
  readonly key: string;
  readonly openedAtS: number;
  readonly roundS: number | undefined;
}

/** A blind ticket in hexadecimal, until it is signed and spent. */
export interface KeptTicket {
  modulus: string;
  message: string;
  blinded: string;
  inverse: string;
  /** The operator's, with the blinding taken out: from then on the ticket can be spent. */
  signature?: string;
}

const suite = new BlindRSA({ name: KIND, hash: "SHA-384", saltLength: 48, prepareType: 32, supportsRSARAW: false });

/** What the signed text of a round says about its tickets, or a refusal. */
export function ticketTerms(wire: unknown): TicketTerms {
  const { kind, key, opened_at_s, round_s, ...more } = (wire ?? {}) as Record<string, unknown>;
  must(kind === KIND, "The campaign takes a kind of ticket this client does not know.", "Update the client.");
  const known = typeof key === "string" && Object.keys(more).length === 0;
  must(known, "What the channel says about tickets has missing or unknown fields.");
  const modulus = bytesOf(key as string);
  must(
    modulus.length >= 256 && modulus.length <= 512 && modulus[0]! >= 128 && modulus.at(-1)! % 2 === 1,
    "The tickets' key is not one of 2048 to 4096 bits.",
  );
  const times = [opened_at_s, round_s ?? 1] as number[];
  must(
    round_s !== null && times.every(Number.isSafeInteger) && times[0]! >= 0 && times[1]! > 0,
    "The round's times are not whole seconds.",
  );
  must(times[1]! <= 31_622_400, "The round's times are longer than a year."); // such a report would never go
  return { key: key as string, openedAtS: times[0]!, roundS: round_s as number | undefined };
}

/** A random moment of this round's second half, the same window for everybody; undefined when it is too late for one. */
export function reportMomentS({ openedAtS, roundS }: TicketTerms, nowS: number, share: number): number | undefined {
  if (roundS === undefined) return undefined;
  const middle = openedAtS + roundS * (Math.floor((nowS - openedAtS) / roundS) + 0.5);
  return nowS < middle ? middle + (share * roundS) / 2 : undefined;
}

/** A fresh ticket, blinded; its message is 32 random bytes and 32 more. */
export async function blindTicket(
  { key }: TicketTerms,
  message = suite.prepare(crypto.getRandomValues(new Uint8Array(32))),
): Promise<KeptTicket> {
  const { blindedMsg, inv } = await suite.blind(await publicKey(key), message);
  const kept = { modulus: bytesOf(key), message, blinded: blindedMsg, inverse: inv };
  return Object.fromEntries(Object.entries(kept).map(([name, bytes]) => [name, hex(bytes)])) as unknown as KeptTicket;
}

/** The signature of the ticket's message; refused if the answer is not by the key that the round shows everybody. */
export async function signatureFrom(ticket: KeptTicket, answer: unknown): Promise<string> {
  const modulus = btoa(String.fromCharCode(...bytesFrom(ticket.modulus)));
  const key = await publicKey(modulus.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, ""));
  try {
    const [message, signed, inverse] = [ticket.message, String(answer), ticket.inverse].map(bytesFrom);
    return hex(await suite.finalize(key, message!, signed!, inverse!));
  } catch {
    throw new Refused(
      "The server signed the ticket with another key than the one it shows everybody.",
      "Do not take part: a key for you alone would single you out. Ask the operator.",
    );
  }
}

function publicKey(n: string): Promise<CryptoKey> {
  const about = { name: "RSA-PSS", hash: "SHA-384" };
  return crypto.subtle.importKey("jwk", { kty: "RSA", n, e: "AQAB" }, about, true, ["verify"]);
}

const bytesFrom = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
