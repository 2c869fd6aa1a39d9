/** The channel a server offers, checked before any place is looked at. Same checks as `sfumato.collect.client.offer`. */
import type { CampaignView, ChannelAnswer, LogEntryView } from "./api.js";
import { type TicketTerms, ticketTerms } from "./blind.js";
import { bytesOf, checkRange, type Grid, hex } from "./draw.js";
import { must, Refused, TermsChanged } from "./errors.js";
import { metresPerDegree, type Reveals, reveals } from "./reveals.js";

/** What this device accepts from a server; loosening a limit is the owner's decision. */
export interface Caps {
  readonly twoBetaPerKm: number;
  readonly cells: number;
  readonly extentKm: number;
  readonly smallestCellSideM: number;
  readonly smallestFloor: number;
  readonly largestShare: number;
  readonly fewestEffectiveCells: number;
  readonly changeOfLogWeight: number;
  readonly minimumEpochS: number;
}

export const DEFAULT_CAPS: Caps = {
  twoBetaPerKm: 10,
  cells: 65536,
  extentKm: 500,
  smallestCellSideM: 50,
  smallestFloor: 0.001,
  largestShare: 0.5,
  fewestEffectiveCells: 3,
  changeOfLogWeight: 1.5,
  minimumEpochS: 3600,
};

export interface Offer {
  readonly campaign: string;
  readonly cycle: number;
  readonly version: string;
  readonly grid: Grid;
  readonly betaPerM: number;
  readonly outputWeights: readonly number[];
  readonly floor: number;
  readonly reporting: CampaignView["reporting"];
  readonly publicKey: string;
  /** How many cycles share one report of each device, where the campaign asks once per epoch. */
  readonly epochCycles: number | undefined;
  /** How often this campaign asks one device; it may not change while the device takes part. */
  readonly rhythm: string;
  /** One report is drawn per epoch whatever the place: the cycle, several, or the campaign's whole life. */
  readonly epoch: string;
  /** Every normaliser is alike, so that epsilon is beta and not up to twice it: the tight channel. */
  readonly tight: boolean;
  readonly reveals: Reveals;
  /** The round's key, where tickets are blind; undefined: the operator can link each to its report. */
  readonly tickets: TicketTerms | undefined;
}

/** What the device remembers of a campaign besides its reports. */
export interface Memory {
  public_key?: string;
  versions?: Record<string, string>;
  last_cycle?: number;
  rhythm?: string;
  /** Every field of the campaign that may not change while this device takes part. */
  agreed?: Terms;
  /** The last entry of the public log that this device saw: a log that does not go through it is another. */
  head?: LogHead;
  log_weights?: string;
}

export type LogHead = Omit<LogEntryView, "cycle"> & { public_key: string };

export type Terms = Record<string, number | string | null>;

const utf8 = (text: string) => new TextEncoder().encode(text);

export async function sha256Hex(text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));
}

/** Ed25519 by WebCrypto. */
export async function verified(text: string, signature: string, publicKey: string): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey("raw", bytesOf(publicKey), { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, key, bytesOf(signature), utf8(text));
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused("This browser cannot check the server's signature.", "Use a browser with Ed25519, over https.");
  }
}

function number(value: unknown, name: string): number {
  must(typeof value === "number" && Number.isFinite(value), `The channel's ${name} is not a number.`);
  return value as number;
}

function whole(value: unknown, name: string): number {
  must(Number.isSafeInteger(value), `The channel's ${name} is not a whole number.`);
  return value as number;
}

const GRID_NUMBERS = [
  "cell_height",
  "cell_width",
  "north_deg",
  "west_deg",
  "cell_height_deg",
  "cell_width_deg",
] as const;

function gridFromWire(wire: Record<string, unknown>, caps: Caps): Grid {
  const names = [...GRID_NUMBERS, "columns", "rows", "unit"].sort().join();
  must(Object.keys(wire).sort().join() === names, "The grid has missing or unknown fields.");
  must(wire.unit === "m", "The grid is not in metres.");
  const rows = whole(wire.rows, "rows");
  const columns = whole(wire.columns, "columns");
  for (const name of GRID_NUMBERS) number(wire[name], name);
  const grid = wire as unknown as Grid;
  must(rows >= 1 && columns >= 1, "The grid has no cells.");
  must(rows * columns <= caps.cells, `The grid has ${rows * columns} cells; this device accepts ${caps.cells}.`);
  must(
    Math.min(grid.cell_height, grid.cell_width, grid.cell_height_deg, grid.cell_width_deg) > 0,
    "A cell of the grid has no size.",
  );
  const south = grid.north_deg - rows * grid.cell_height_deg;
  must(
    south >= -90.1 &&
      south < grid.north_deg &&
      grid.north_deg <= 90 &&
      Math.abs(grid.west_deg) <= 180 &&
      columns * grid.cell_width_deg <= 360,
    "The grid does not lie on the earth.",
  );
  const [northM, eastM] = metresPerDegree((south + grid.north_deg) / 2);
  must(
    Math.abs(grid.cell_height / (grid.cell_height_deg * northM) - 1) <= 0.01 &&
      Math.abs(grid.cell_width / (grid.cell_width_deg * eastM) - 1) <= 0.01,
    "The cells' size in metres does not fit their degrees: epsilon per km would be false.",
  );
  const side = Math.min(grid.cell_height, grid.cell_width);
  must(
    side >= caps.smallestCellSideM,
    `The cells are ${side.toPrecision(3)} m wide; the least is ${caps.smallestCellSideM} m.`,
  );
  const extent = Math.hypot(rows * grid.cell_height, columns * grid.cell_width) / 1000;
  must(extent <= caps.extentKm, `The grid is ${extent.toFixed(0)} km across; the most is ${caps.extentKm} km.`);
  return grid;
}

function checkedWeights(values: unknown, cells: number, floor: number, caps: Caps): number[] {
  must(Array.isArray(values) && values.length === cells, "c does not have one weight per cell.");
  const c = (values as unknown[]).map((value) => number(value, "c"));
  must(floor >= caps.smallestFloor && floor <= 1, `The floor is ${floor}; the least is ${caps.smallestFloor}.`);
  const least = ((1 - 1e-9) * floor) / cells;
  must(
    c.every((value) => value >= least),
    "Some c lies below the floor.",
  );
  const total = c.reduce((a, b) => a + b, 0);
  must(Math.abs(total - 1) <= 1e-9, `c sums to ${total}, not 1.`);
  if (cells > caps.fewestEffectiveCells) {
    const share = c.reduce((a, b) => Math.max(a, b));
    const effective = Math.exp(-c.reduce((sum, value) => sum + value * Math.log(value), 0));
    must(share <= caps.largestShare, `c puts ${(100 * share).toFixed(0)} % on one cell; too concentrated.`);
    must(effective >= caps.fewestEffectiveCells, `c is concentrated on ${effective.toFixed(1)} cells.`);
  }
  return c;
}

/** The object that a signed text holds: what is no JSON (NaN, a half text) is refused in words like everything else. */
function objectIn(text: string): Record<string, unknown> {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    // Refused below.
  }
  must(typeof found === "object" && found !== null, "The channel's text is not an object.");
  return found as Record<string, unknown>;
}

/** Verify the answer of `…/channel` and turn it into an Offer, or say why it is refused. */
export async function checkOffer(document: unknown, caps: Caps, pinnedKey?: string): Promise<Offer> {
  const { payload, version, signature, public_key: key } = (document ?? {}) as Partial<ChannelAnswer>;
  if (
    typeof payload !== "string" ||
    typeof version !== "string" ||
    typeof signature !== "string" ||
    typeof key !== "string"
  )
    throw new Refused("The answer holds no signed channel.", "Is this the address of a sfumato server?");
  must(
    globalThis.crypto?.subtle !== undefined,
    "Signatures can be checked over https only.",
    "Open the page with https.",
  );
  must(
    pinnedKey === undefined || key === pinnedKey,
    "The server signs with another key than before.",
    "If the operator announced a new key, pin it by hand; otherwise do not take part.",
  );
  must((await sha256Hex(payload)) === version, "The channel's version is not the hash of its text.");
  must(await verified(payload, signature, key), "The channel's signature is wrong.");
  const channel = objectIn(payload);
  const { reporting } = channel;
  const epochs = reporting === "once-per-epoch";
  const blind = "tickets" in channel;
  const fields = `beta_per_m,campaign,cycle,${epochs ? "epoch_cycles," : ""}floor,grid,output_weights,reporting${blind ? ",tickets" : ""}`;
  must(Object.keys(channel).sort().join() === fields, "The channel has missing or unknown fields.");
  if (reporting !== "every-cycle" && reporting !== "once" && reporting !== "once-per-epoch")
    throw new Refused("The reporting policy is unknown.");
  const epochCycles = epochs ? whole(channel.epoch_cycles, "epoch_cycles") : undefined;
  must(epochCycles === undefined || epochCycles >= 2, "An epoch has fewer than two cycles.");
  must(typeof channel.grid === "object" && channel.grid !== null, "The channel has no grid.");
  const grid = gridFromWire(channel.grid as Record<string, unknown>, caps);
  const betaPerM = number(channel.beta_per_m, "beta_per_m");
  must(betaPerM > 0, "The channel's beta is not positive.");
  // Epsilon is at least beta, whatever the weights are: no need to compute it where that is too much already.
  must(
    1000 * betaPerM <= caps.twoBetaPerKm * (1 + 1e-12),
    `beta is ${(1000 * betaPerM).toPrecision(3)} per km; this device accepts an epsilon of ${caps.twoBetaPerKm}.`,
  );
  checkRange(grid, betaPerM);
  const floor = number(channel.floor, "floor");
  const outputWeights = checkedWeights(channel.output_weights, grid.rows * grid.columns, floor, caps);
  const cycle = whole(channel.cycle, "cycle");
  must(cycle >= 1, "The cycle's number is not positive.");
  const told = reveals(grid, outputWeights, betaPerM);
  must(
    told.epsilonPerKm <= caps.twoBetaPerKm * (1 + 1e-9),
    `One report would cost ${told.epsilonPerKm.toPrecision(3)} per km; this device accepts ${caps.twoBetaPerKm}.`,
  );
  return {
    campaign: String(channel.campaign),
    cycle,
    version,
    grid,
    betaPerM,
    outputWeights,
    floor,
    reporting,
    publicKey: key,
    epochCycles,
    rhythm: epochCycles === undefined ? reporting : `${reporting} ${epochCycles}`,
    epoch: reportEpoch(reporting, cycle, epochCycles),
    tight: told.exact && 2 * told.epsilonPerKm <= told.twoBetaPerKm * (1 + 1e-6),
    reveals: told,
    tickets: blind ? ticketTerms(channel.tickets) : undefined,
  };
}

/** The period in which a device draws one report: "once", the cycle's number, or "epoch N" of so many cycles. */
/** Which of an epoch's cycles (0 is the first) is this device's own: reports spread evenly over the epoch. */
export async function epochTurn(campaign: string, epoch: string, secret: string, epochCycles: number): Promise<number> {
  const digest = await sha256Hex(`sfumato turn|${campaign}|${epoch}|${secret}`);
  return Number.parseInt(digest.slice(0, 13), 16) % epochCycles;
}

export function reportEpoch(reporting: string, cycle: number, epochCycles: number | undefined): string {
  if (reporting === "once") return "once";
  return epochCycles === undefined ? String(cycle) : `epoch ${Math.floor((cycle - 1) / epochCycles) + 1}`;
}

/** log c as little-endian float32 in base64. */
export function packLogWeights(c: readonly number[]): string {
  const bytes = new Uint8Array(Float32Array.from(c, Math.log).buffer);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** What a device agrees to when it joins: every field of the grid, beta and what it promises, floor, rhythm and tickets. */
export function terms(offer: Offer): Terms {
  const { rows, columns } = offer.grid;
  return {
    rows,
    columns,
    ...Object.fromEntries(GRID_NUMBERS.map((name) => [name, offer.grid[name]])),
    beta_per_m: offer.betaPerM,
    promise: offer.tight ? "epsilon" : "mutual-information",
    floor: offer.floor,
    reporting: offer.reporting,
    epoch_cycles: offer.epochCycles ?? null,
    tickets: offer.tickets === undefined ? "linkable" : "blind",
    round_s: offer.tickets?.roundS ?? null,
  };
}

/** The names of what is no longer as this device agreed to it; none before it has joined. */
export function changedTerms(offer: Offer, { agreed }: Memory): string[] {
  const [now, then] = [terms(offer), joinedTerms(agreed)];
  return agreed === undefined ? [] : Object.keys(now).filter((name) => then[name] !== now[name]);
}

/** Whoever joined before there was a choice agreed to the tickets there were. */
const joinedTerms = (agreed: Terms | undefined): Terms => ({ tickets: "linkable", round_s: null, ...agreed });

const JOIN_AGAIN = "Do not take part, or if you agree to that, join it again as a new campaign.";

/** Refuse what is not as agreed, a second version within a cycle, a cycle that runs backwards, and a c that jumps. */
export function checkAgainstMemory(offer: Offer, memory: Memory, caps: Caps): void {
  const known = memory.versions?.[String(offer.cycle)];
  must(
    known === undefined || known === offer.version,
    `The server showed two channel versions within cycle ${offer.cycle}: it may be singling people out.`,
    "Do not take part, and publish both versions.",
  );
  must(
    memory.rhythm === undefined || memory.rhythm === offer.rhythm,
    `The campaign asked each device ${memory.rhythm} before, and now ${offer.rhythm}.`,
    JOIN_AGAIN,
  );
  for (const name of changedTerms(offer, memory))
    throw new TermsChanged(
      `The campaign's ${name} was ${joinedTerms(memory.agreed)[name]} when this device joined, and is now ${terms(offer)[name]}.`,
      JOIN_AGAIN,
    );
  const last = memory.last_cycle;
  if (last === undefined || memory.log_weights === undefined) return;
  must(offer.cycle >= last, `Cycle ${offer.cycle} is older than cycle ${last}, seen before.`);
  const before = new Float32Array(bytesOf(memory.log_weights).buffer);
  must(before.length === offer.outputWeights.length, "The campaign changed its grid.", JOIN_AGAIN);
  if (offer.cycle > last) {
    const change = offer.outputWeights.reduce((most, c, y) => Math.max(most, Math.abs(Math.log(c) - before[y]!)), 0);
    const limit = caps.changeOfLogWeight * (offer.cycle - last) + 1e-5;
    must(change <= limit, `log c moved by ${change.toFixed(2)} since cycle ${last}; the most is ${limit.toFixed(2)}.`);
  }
}

/**
 * The public log is an unbroken signed chain, one entry per cycle, that lists this very version for the cycle. A log that
 * does not list what this device saw before (`seen`) was rewritten; cycles count up one by one, so that skipping numbers
 * cannot widen the limit on the change of c.
 */
export async function checkLog(
  entries: unknown,
  offer: Offer,
  seen: Record<string, string> = {},
  head?: LogHead,
): Promise<LogHead> {
  must(Array.isArray(entries), "The public log is missing.");
  let previous = "0".repeat(64);
  const listed: Record<string, string> = {};
  for (const [index, entry] of (entries as (Partial<LogEntryView> | null)[]).entries()) {
    must(entry?.index === index && entry.previous === previous, "The public log's chain is broken.");
    const { campaign, cycle, version } = entry!;
    must(campaign === offer.campaign, "The public log is another campaign's.");
    must(cycle === index + 1, "The public log skips or repeats a cycle.");
    previous = await sha256Hex(JSON.stringify({ campaign, cycle, index, previous, version }));
    must(entry!.entry === previous, "An entry of the public log does not match its hash.");
    must(
      await verified(previous, String(entry!.signature), offer.publicKey),
      "The public log is not signed by the server.",
    );
    listed[index + 1] = String(version);
  }
  must(listed[offer.cycle] === offer.version, "The public log does not list exactly this version.");
  for (const [cycle, version] of Object.entries(seen))
    must(listed[cycle] === version, "The public log was rewritten.", "Do not take part, and publish both logs.");
  const log = entries as LogEntryView[];
  if (head !== undefined && head.public_key === offer.publicKey)
    must(
      log[head.index]?.entry === head.entry,
      `This device saw the log as far as entry ${head.index}, ${headWords(head.entry)}; this server shows another.`,
      "Do not take part, and publish both heads: each is signed by the same key.",
    );
  const { campaign, index, version, previous: before, entry, signature } = log.at(-1)!;
  return { campaign, public_key: offer.publicKey, index, version, previous: before, entry, signature };
}

/** The first 128 bits of an entry's hash as eight words that can be read aloud, 16 bits to a word. */
export function headWords(entry: string): string {
  const letters = (n: number) =>
    [n >> 12, (n >> 10) & 3, (n >> 6) & 15, (n >> 4) & 3, n & 15]
      .map((at, place) => (place % 2 ? "aiou" : "bdfghjklmnprstvz")[at])
      .join("");
  return Array.from({ length: 8 }, (_, word) => letters(Number.parseInt(entry.slice(4 * word, 4 * word + 4), 16))).join(
    "-",
  );
}
