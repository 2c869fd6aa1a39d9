/**
 * Take part in a campaign: look at the channel, draw one report on this device, show it, and only then send it.
 * `prepare` draws, debits and keeps the report of this epoch before it returns it: cancelling, reloading or calling again
 * shows the same report, wherever the person is by then. A resent report keeps its cell, version and key.
 */
import type { ReportAnswer, ReportRequest, TicketAnswer, TicketRequest } from "./api.js";
import { blindTicket, reportMomentS, signatureFrom } from "./blind.js";
import { type CampaignMemory, Device, type DeviceMemory, debit, type KeptReport } from "./device.js";
import { cellFromWords, locate, randomHex, systemWords, WORDS_PER_REPORT, weights } from "./draw.js";
import { must, NotSent, NotYet, SfumatoError } from "./errors.js";
import {
  type Caps,
  changedTerms,
  checkAgainstMemory,
  checkLog,
  checkOffer,
  DEFAULT_CAPS,
  epochTurn,
  type Offer,
  packLogWeights,
  sha256Hex,
  terms,
} from "./offer.js";
import type { Reveals } from "./reveals.js";

export interface Prepared {
  readonly campaign: string;
  readonly epoch: string;
  readonly cell: number;
  readonly version: string;
  readonly cycle: number;
  readonly state: KeptReport["state"];
  readonly drawnNow: boolean;
  readonly reveals: Reveals;
}

export interface ParticipantOptions {
  device?: Device;
  caps?: Partial<Caps>;
  /** Pins the server's key from elsewhere; without it the first key seen is pinned. */
  publicKey?: string;
  longestDelayS?: number;
  /** This program stays: a report goes at a random moment of the round's second half, where tickets are blind. */
  keepsRunning?: boolean;
}

/** A server's answer: whatever it holds is looked at before it is believed. */
interface Answered {
  status: number;
  body: Record<string, unknown>;
}

export class Participant {
  readonly url: string;
  readonly campaign: string;
  readonly device: Device;
  readonly caps: Caps;
  readonly #key: string | undefined;
  readonly #longestDelayS: number;
  readonly #keepsRunning: boolean;

  constructor(url: string, campaign: string, options: ParticipantOptions = {}) {
    this.url = address(url);
    this.campaign = campaign;
    this.device = options.device ?? new Device();
    this.caps = { ...DEFAULT_CAPS, ...options.caps };
    this.#key = options.publicKey;
    this.#longestDelayS = options.longestDelayS ?? 10;
    this.#keepsRunning = options.keepsRunning ?? false;
  }

  #ours(memory: DeviceMemory): CampaignMemory {
    const name = `${this.url} ${this.campaign}`;
    memory.campaigns[name] ??= { versions: {}, reports: {} };
    return memory.campaigns[name];
  }

  /** Fetch and check the current channel: no place, no ticket, the same request as everybody's. */
  async look(): Promise<Offer> {
    const { offer, head } = await this.#offered(this.#ours(await this.device.read()));
    await this.device.change((memory) => this.#keep(this.#ours(memory), offer, head));
    return offer;
  }

  async #offered(known: CampaignMemory): Promise<{ offer: Offer; head: Required<CampaignMemory>["head"] }> {
    const offer = await checkOffer((await this.#call("channel")).body, this.caps, this.#key ?? known.public_key);
    must(offer.campaign === this.campaign, "The channel belongs to another campaign.");
    const head = await checkLog((await this.#call("log")).body.log, offer, known.versions, known.head);
    return { offer, head };
  }

  /** Compare an offer with what this device agreed to and saw, and remember it; what it agrees to if it is new. */
  #keep(ours: CampaignMemory, offer: Offer, head: Required<CampaignMemory>["head"]): void {
    checkAgainstMemory(offer, ours, this.caps);
    ours.agreed ??= terms(offer);
    must(
      this.#key !== undefined || (ours.public_key ?? offer.publicKey) === offer.publicKey,
      "The server's key changed.",
    );
    ours.public_key = offer.publicKey;
    ours.versions[String(offer.cycle)] = offer.version;
    ours.rhythm = offer.rhythm;
    ours.head = head;
    if (offer.cycle !== ours.last_cycle) {
      ours.last_cycle = offer.cycle;
      ours.log_weights = packLogWeights(offer.outputWeights);
    }
  }

  /**
   * Agree to what a campaign has become since this device joined it, as to a new campaign. What was drawn before stays in
   * the memory under another name, and stays spent; the versions seen are kept, so that a rewritten log is still refused.
   */
  async joinAgain(): Promise<Offer> {
    const known = this.#ours(await this.device.read());
    const { offer, head } = await this.#offered(known);
    const changed = changedTerms(offer, known);
    if (changed.length === 0)
      throw new SfumatoError("The campaign is as this device joined it.", "There is nothing to agree to again.");
    await this.device.change((memory) => {
      const left = this.#ours(memory);
      const ours: CampaignMemory = { versions: { ...left.versions }, reports: {} };
      if (left.public_key !== undefined) ours.public_key = left.public_key;
      // Refused here, nothing is left and nothing is agreed to.
      this.#keep(ours, offer, head);
      const name = `${this.url} ${this.campaign}`;
      memory.campaigns[`${name} (left before cycle ${offer.cycle})`] = left;
      memory.campaigns[name] = ours;
      const about = { server: this.url, campaign: this.campaign, name: `changed: ${changed.join(", ")}` };
      memory.entries.push({ what: "joined again", epsilon_per_km: 0, delta: 0, ...about });
    });
    return offer;
  }

  /** The report already drawn for this epoch, if any: shown after a reload without asking for the place. */
  async drawn(offer: Offer): Promise<Prepared | null> {
    const kept = this.#ours(await this.device.read()).reports[offer.epoch];
    return kept === undefined ? null : prepared(offer, kept, false);
  }

  /**
   * The cycle in which this device reports: this one, or where one report serves an epoch, its own one of it, so that
   * not all report as soon as an epoch begins. A device that comes after its turn reports at once.
   */
  async turn(offer: Offer): Promise<number> {
    if (offer.epochCycles === undefined) return offer.cycle;
    const secret = await this.device.change((memory) => {
      const ours = this.#ours(memory);
      ours.secret ??= randomHex(32);
      return ours.secret;
    });
    const first = offer.cycle - ((offer.cycle - 1) % offer.epochCycles);
    return Math.max(offer.cycle, first + (await epochTurn(this.campaign, offer.epoch, secret, offer.epochCycles)));
  }

  /**
   * Draw, debit and keep this epoch's report, or return the one already drawn. The place is not kept. Before this
   * device's turn in an epoch nothing is drawn and NotYet is thrown, unless `early`.
   */
  async prepare(latDeg: number, lonDeg: number, offer: Offer, { early = false } = {}): Promise<Prepared> {
    const cell = locate(offer.grid, latDeg, lonDeg);
    const turn = early ? offer.cycle : await this.turn(offer);
    const ticket = offer.tickets && (await blindTicket(offer.tickets));
    const waits = this.#keepsRunning && !early && offer.tickets?.roundS !== undefined;
    const moment = waits ? reportMomentS(offer.tickets!, Date.now() / 1000, share()) : undefined;
    return this.device.change((memory) => {
      const ours = this.#ours(memory);
      const kept = ours.reports[offer.epoch];
      if (kept !== undefined) return prepared(offer, kept, false);
      if (turn > offer.cycle)
        throw new NotYet(
          `This device's turn in this epoch is cycle ${turn}, and this is cycle ${offer.cycle}.`,
          "Come back then: reports spread over the epoch. Or report now (early).",
        );
      if (waits && moment === undefined)
        throw new NotYet(
          "This is the second half of the round, in which only those report who asked for a ticket before.",
          "Come back when the next round has begun. Or report now (early).",
        );
      checkAgainstMemory(offer, ours, this.caps);
      this.#refuseAnotherAddress(memory, offer);
      const nowS = Math.floor(Date.now() / 1000);
      const name = `${this.url} ${this.campaign}`;
      const waited = Object.entries(memory.campaigns)
        .filter(([one]) => one === name || one.startsWith(`${name} (left`))
        .flatMap(([, { reports }]) => Object.values(reports))
        .reduce((least, { drawn_at_s }) => Math.min(least, nowS - drawn_at_s), nowS);
      if (waited < this.caps.minimumEpochS)
        throw new SfumatoError(
          `This device drew a report for this campaign ${Math.max(0, Math.round(waited / 60))} min ago.`,
          `It draws at most one every ${Math.round(this.caps.minimumEpochS / 60)} min, however fast cycles close.`,
        );
      const about = { server: this.url, campaign: this.campaign, epoch: offer.epoch };
      debit(memory, { what: "report", epsilon_per_km: offer.reveals.epsilonPerKm, delta: 0, ...about });
      const weighted = weights(offer.grid, offer.outputWeights, cell, offer.betaPerM);
      const fresh: KeptReport = {
        cell: cellFromWords(weighted, systemWords(WORDS_PER_REPORT)),
        version: offer.version,
        cycle: offer.cycle,
        key: randomHex(16),
        state: "drawn",
        drawn_at_s: nowS,
        reveals: keptReveals(offer.reveals),
        ...(ticket === undefined ? {} : { ticket }),
        ...(moment === undefined ? {} : { send_at_s: moment }),
      };
      ours.reports[offer.epoch] = fresh;
      return prepared(offer, fresh, true);
    });
  }

  /** Two addresses that sign one campaign with one key are one server: one report per epoch through both. */
  #refuseAnotherAddress(memory: DeviceMemory, offer: Offer): void {
    const ours = this.#ours(memory);
    for (const [name, other] of Object.entries(memory.campaigns))
      if (
        other !== ours &&
        name.endsWith(` ${this.campaign}`) &&
        other.public_key === offer.publicKey &&
        offer.epoch in other.reports
      )
        throw new SfumatoError(
          "This device drew this campaign's report through another address of the same server.",
          "Use that address again.",
        );
  }

  /** Send the kept report of an epoch: a ticket, a random delay, then the report, with nothing shared between them. */
  async send(
    epoch: string,
    onDelay: (seconds: number) => void = () => undefined,
  ): Promise<"counted" | "counted before" | "closed"> {
    const { report, secret } = await this.device.change((memory) => {
      const ours = this.#ours(memory);
      const kept = ours.reports[epoch];
      if (kept === undefined) throw new SfumatoError("No report has been drawn.", "Prepare one first.");
      ours.secret ??= randomHex(32);
      return { report: { ...kept }, secret: ours.secret };
    });
    const late = this.#keepsRunning && Date.now() / 1000 > (report.send_at_s ?? Number.POSITIVE_INFINITY);
    if (late && report.ticket?.signature === undefined) {
      if (await this.#isOver(report.cycle)) {
        await this.#mark(epoch, "closed");
        return "closed";
      }
      throw new NotSent(
        "The report's moment passed before its ticket was signed: sent now, the times would tell whose it is.",
        "Leave it, or accept that and send it: without keepsRunning.",
      );
    }
    const device = await sha256Hex(`sfumato device|${this.campaign}|${epoch}|${secret}`);
    let answer = await this.#askTicket(epoch, report, device);
    if (answer.status === 200) {
      let delayS = Math.max(this.#longestDelayS * share(), (report.send_at_s ?? 0) - Date.now() / 1000);
      onDelay(delayS);
      for (; delayS > 0; delayS -= 86400) {
        const pauseMs = 1000 * Math.min(delayS, 86400); // timers take 24 days at most
        await new Promise((resume) => setTimeout(resume, pauseMs));
      }
      const { cell, version, key } = report;
      const sent: ReportRequest = { cell, version, key, ticket: String((answer.body as Partial<TicketAnswer>).ticket) };
      answer = await this.#call("reports", sent);
    }
    if (answer.status === 200) {
      await this.#mark(epoch, "sent");
      return (answer.body as Partial<ReportAnswer>).duplicate === true ? "counted before" : "counted";
    }
    if (answer.status === 410 || (answer.status === 409 && (await this.#isOver(report.cycle)))) {
      if (report.state === "sent") return "counted before";
      await this.#mark(epoch, "closed");
      return "closed";
    }
    throw new NotSent(
      `The server answered ${answer.status}: ${String(answer.body.error)}`,
      "The report is kept: send it again later.",
    );
  }

  /** The server's answer with the report's ticket in it, without its blinding and kept where tickets are blind. */
  async #askTicket(epoch: string, report: KeptReport, device: string): Promise<Answered> {
    const asked: TicketRequest = { cycle: report.cycle, device };
    const { ticket } = report;
    if (ticket === undefined) return this.#call("tickets", asked);
    let { signature } = ticket;
    if (signature === undefined) {
      const answer = await this.#call("tickets", { ...asked, blinded: ticket.blinded });
      if (answer.status !== 200) return answer;
      signature = await signatureFrom(ticket, answer.body.ticket);
      const signed = { ...ticket, signature };
      await this.device.change((memory) => {
        this.#ours(memory).reports[epoch]!.ticket = signed;
      });
    }
    return { status: 200, body: { ticket: `2-${report.cycle}-${ticket.message}-${signature}` } };
  }

  async #isOver(cycle: number): Promise<boolean> {
    const { status, body } = await this.#call("channel");
    return status === 200 && (JSON.parse(String(body.payload)) as { cycle: number }).cycle > cycle;
  }

  #mark(epoch: string, state: KeptReport["state"]): Promise<void> {
    return this.device.change((memory) => {
      this.#ours(memory).reports[epoch]!.state = state;
    });
  }

  /** No cookie, no referrer, no cache; the address never depends on the place. */
  async #call(route: "channel" | "log" | "tickets" | "reports", body?: unknown): Promise<Answered> {
    const address = `${this.url}/api/v1/campaigns/${this.campaign}/${route}`;
    const common: RequestInit = {
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      redirect: "error",
    };
    const headers = { "Content-Type": "application/json" };
    try {
      const reply = await fetch(
        address,
        body === undefined ? common : { ...common, method: "POST", headers, body: JSON.stringify(body) },
      );
      const answer = (await reply.json().catch(() => ({}))) as Record<string, unknown>;
      if (body === undefined && !reply.ok)
        throw new NotSent(`The server answered ${reply.status}: ${String(answer.error)}`, "Try again later.");
      return { status: reply.status, body: answer };
    } catch (error) {
      if (error instanceof SfumatoError) throw error;
      throw new NotSent("The server cannot be reached.", "Try again later.");
    }
  }
}

/** A random number from 0 to 1. */
const share = () => Number(systemWords(1)[0]! >> 12n) * 2 ** -52;

/** What a report gives away is what the channel it was drawn from gives away, not the channel of today. */
function prepared(offer: Offer, kept: KeptReport, drawnNow: boolean): Prepared {
  const { cell, version, cycle, state } = kept;
  const reveals = kept.reveals ? shownReveals(kept.reveals) : offer.reveals;
  return { campaign: offer.campaign, epoch: offer.epoch, cell, version, cycle, state, drawnNow, reveals };
}

function keptReveals(told: Reveals): NonNullable<KeptReport["reveals"]> {
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

function shownReveals(kept: NonNullable<KeptReport["reveals"]>): Reveals {
  return Object.fromEntries(
    Object.entries(kept).map(([name, value]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as unknown as Reveals;
}

/** One spelling for one server: another spelling would be another campaign, and another report of the same cycle. */
function address(url: string): string {
  let parts: URL | undefined;
  try {
    parts = new URL(url);
  } catch {
    // Refused below.
  }
  if (parts === undefined || !/^https?:$/.test(parts.protocol) || parts.username || parts.search || parts.hash)
    throw new SfumatoError(
      "The server's address is not a plain http or https URL.",
      "Write it like https://collector.example.",
    );
  return `${parts.protocol}//${parts.host.replace(/\.(?=:|$)/, "")}${parts.pathname.replace(/\/+$/, "")}`;
}
