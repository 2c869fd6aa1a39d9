/**
 * What one device remembers: its budget, the reports it has drawn, what each server has shown it. One text in one store,
 * replaced whole, same layout as the file of the Python client. The true place is never in it.
 *
 * In a web page the store is that site's localStorage, so one ledger per site; an installed client can pass a store of
 * its own and keep one ledger across servers.
 */
import type { KeptTicket } from "./blind.js";
import { BudgetExceeded, must, SfumatoError } from "./errors.js";
import type { Memory } from "./offer.js";

export interface Store {
  read(): string | null | Promise<string | null>;
  write(text: string): void | Promise<void>;
}

export interface KeptReport {
  cell: number;
  version: string;
  cycle: number;
  key: string;
  state: "drawn" | "sent" | "closed";
  drawn_at_s: number;
  /** What the channel it was drawn from gives away, by the names of the Python client. */
  reveals?: Record<string, number | boolean>;
  ticket?: KeptTicket;
  /** When it goes, where this device waits: a random moment that says nothing about when the ticket was asked for. */
  send_at_s?: number;
}

export interface CampaignMemory extends Memory {
  versions: Record<string, string>;
  reports: Record<string, KeptReport>;
  secret?: string;
}

export interface Entry {
  what: string;
  epsilon_per_km: number;
  delta: number;
  [about: string]: unknown;
}

export interface DeviceMemory {
  format: "sfumato-device/1";
  cap_per_km: number;
  entries: Entry[];
  campaigns: Record<string, CampaignMemory>;
  live: Record<string, { noise_m: number; state: unknown }>;
}

export interface Budget {
  readonly capPerKm: number;
  readonly spentPerKm: number;
  readonly leftPerKm: number;
  /** The deltas added up: 0 unless a live trace is among the entries. */
  readonly delta: number;
  readonly entries: readonly Entry[];
}

export const DEFAULT_CAP_PER_KM = 30;

/** One item of localStorage: written whole, kept over reloads. */
export function browserStore(name = "sfumato-device"): Store {
  return {
    read: () => localStorage.getItem(name),
    write: (text) => localStorage.setItem(name, text),
  };
}

/** Keeps nothing after the program ends: for tests and simulations. */
export function forgetfulStore(): Store {
  let kept: string | null = null;
  const keep = (text: string) => {
    kept = text;
  };
  return { read: () => kept, write: keep };
}

function budgetOf(memory: DeviceMemory): Budget {
  const spentPerKm = memory.entries.reduce((sum, entry) => sum + entry.epsilon_per_km, 0);
  const capPerKm = memory.cap_per_km;
  const delta = memory.entries.reduce((sum, entry) => sum + entry.delta, 0);
  return { capPerKm, spentPerKm, leftPerKm: Math.max(0, capPerKm - spentPerKm), delta, entries: memory.entries };
}

/** Add an entry to a memory being changed, or refuse: then nothing is written. */
export function debit(memory: DeviceMemory, entry: Entry): void {
  must(Number.isFinite(entry.epsilon_per_km) && entry.epsilon_per_km >= 0, "The cost is not a number from 0.");
  const budget = budgetOf(memory);
  if (budget.spentPerKm + entry.epsilon_per_km > budget.capPerKm * (1 + 1e-12))
    throw new BudgetExceeded(
      `This costs ${entry.epsilon_per_km.toPrecision(3)} per km; ${budget.leftPerKm.toPrecision(3)} of ${budget.capPerKm} is left.`,
      "Nothing was drawn. If you accept what all your reports together reveal, raise the cap: " +
        `device.setCap(${Math.ceil(budget.spentPerKm + entry.epsilon_per_km)}).`,
    );
  memory.entries.push(entry);
}

export class Device {
  readonly #store: Store;
  readonly #firstCap: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store = browserStore(), options: { capPerKm?: number } = {}) {
    this.#store = store;
    this.#firstCap = options.capPerKm ?? DEFAULT_CAP_PER_KM;
  }

  /** Whether there is no memory: a device that never reported, or one that has lost it. */
  async isNew(): Promise<boolean> {
    return (await this.#store.read()) === null;
  }

  async read(): Promise<DeviceMemory> {
    const text = await this.#store.read();
    if (text === null)
      return { format: "sfumato-device/1", cap_per_km: this.#firstCap, entries: [], campaigns: {}, live: {} };
    let memory: DeviceMemory | undefined;
    try {
      memory = JSON.parse(text) as DeviceMemory;
    } catch {
      // Refused below: an empty ledger would allow everything to be spent again.
    }
    if (memory?.format !== "sfumato-device/1")
      throw new SfumatoError("This device's memory is damaged.", "Restore it from a copy.");
    return memory;
  }

  /** Read, change and write, one at a time, also between tabs; nothing is written when `edit` throws. */
  change<T>(edit: (memory: DeviceMemory) => T | Promise<T>): Promise<T> {
    const work = async (): Promise<T> => {
      const memory = await this.read();
      const result = await edit(memory);
      await this.#store.write(JSON.stringify(memory));
      return result;
    };
    const locked = (): Promise<T> => {
      const locks = (globalThis as { navigator?: { locks?: LockManager } }).navigator?.locks;
      return locks ? (locks.request("sfumato-device", work) as Promise<T>) : work();
    };
    const next = this.#last.then(locked, locked);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async budget(): Promise<Budget> {
    return budgetOf(await this.read());
  }

  /** The owner's own decision, never a server's. */
  setCap(capPerKm: number): Promise<void> {
    must(Number.isFinite(capPerKm) && capPerKm > 0, "The cap is not a positive number.");
    return this.change((memory) => {
      memory.cap_per_km = capPerKm;
    });
  }

  /** Enter something another mechanism released, or refuse it. */
  debit(what: string, epsilonPerKm: number, delta = 0): Promise<void> {
    return this.change((memory) => debit(memory, { what, epsilon_per_km: epsilonPerKm, delta }));
  }
}
