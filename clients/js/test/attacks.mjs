/**
 * What an operator might try on a device, each by name: the same in Node (participant.test.mjs) and in Chromium
 * (tests/collect/client/test_attacks_browser.py). Nothing here is of Node or of a browser. An attack that a device falls
 * for ends in an error.
 */
const HOME = "https://collector.example/api/v1/campaigns/golden/";
const ticketNumber = (hex) => BigInt(`0x${hex}`);

function power(base, exponent, modulus) {
  let out = 1n;
  for (let left = exponent, square = base % modulus; left > 0n; left >>= 1n, square = (square * square) % modulus)
    if (left & 1n) out = (out * square) % modulus;
  return out;
}

function same(found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

async function refuses(work, words) {
  let told = "";
  try {
    await work;
  } catch (error) {
    told = `${error.name}: ${error.message} ${error.advice ?? ""}`;
  }
  if (!new RegExp(words).test(told)) throw new Error(`"${told || "nothing was refused"}" does not say: ${words}`);
}

/** name -> a function that makes the attack, for the published bundle, what is behind it, and the golden files. */
export function attacks(sfumato, inside, offers, vectors) {
  const { blind } = offers;
  const vector = vectors.find(({ name }) => name === "RSABSSA-SHA384-PSS-Randomized");
  const [n, d, e] = [vector.n, vector.d, vector.e].map((text) => BigInt(text));
  const sign = (blinded) => power(ticketNumber(blinded), d, n).toString(16).padStart(1024, "0");

  /** A server that shows what `now` says, for as long as `work` takes; what it was asked. */
  async function against(now, work) {
    const [before, seen] = [globalThis.fetch, []];
    globalThis.fetch = async (address, init = {}) => {
      const route = address.slice(HOME.length);
      const body = init.body === undefined ? undefined : JSON.parse(init.body);
      seen.push({ route, body });
      const [status, answer] = {
        channel: () => [200, now.channel],
        log: () => [200, { log: now.log }],
        tickets: () => now.ticket?.(body) ?? [200, { ticket: sign(body.blinded) }],
        reports: () => now.report?.(body) ?? [200, { duplicate: false }],
      }[route]();
      return new Response(JSON.stringify(answer), { status });
    };
    try {
      await work(seen);
    } finally {
      globalThis.fetch = before;
    }
  }

  const taking = (store = sfumato.forgetfulStore(), options = {}) =>
    new sfumato.Participant("https://collector.example/", "golden", {
      device: new sfumato.Device(store),
      longestDelayS: 0,
      ...options,
    });
  const plain = () => ({ channel: offers.good, log: offers.log });
  const unseen = () => ({ channel: blind.good, log: blind.log });
  const found = {};

  for (const [attack, { document, log, field }] of Object.entries(offers.changed))
    found[`a campaign ${attack} than the device joined`] = () => {
      const [now, store] = [plain(), sfumato.forgetfulStore()];
      return against(now, async (seen) => {
        const offer = await taking(store).look();
        await refuses(taking(store).joinAgain(), "as this device joined it");
        Object.assign(now, { channel: document, log });
        await refuses(taking(store).look(), `${field} was|every-cycle before`);
        same(JSON.parse(store.read()).entries, []);
        if ((await taking(store).joinAgain()).version === offer.version) throw new Error("nothing has changed");
        const [entry] = (await taking(store).device.budget()).entries;
        same([entry.what, entry.name.includes(field)], ["joined again", true]);
        same(Object.keys(JSON.parse(store.read()).campaigns).length, 2);
        same(seen.filter(({ body }) => body !== undefined).length, 0);
      });
    };

  found["joining again what is another version of the round that was joined"] = () => {
    const [now, store] = [plain(), sfumato.forgetfulStore()];
    const [first, second] = Object.values(offers.changed);
    return against(now, async () => {
      await taking(store).look();
      Object.assign(now, { channel: first.document, log: first.log });
      await taking(store).joinAgain();
      const before = store.read();
      Object.assign(now, { channel: second.document, log: second.log });
      await refuses(taking(store).joinAgain(), "rewritten|another|versions");
      same(store.read(), before); // what it had agreed to is not forgotten
    });
  };

  found["a second version within a round"] = () => {
    const [now, store] = [plain(), sfumato.forgetfulStore()];
    return against(now, async () => {
      await taking(store).look();
      now.channel = offers.second_version;
      await refuses(taking(store).look(), "does not list exactly");
    });
  };

  found["another log, in which every version that was seen is listed"] = () => {
    const [now, store] = [plain(), sfumato.forgetfulStore()];
    return against(now, async () => {
      await taking(store).look();
      Object.assign(now, { channel: offers.next_cycle, log: offers.other_next_log });
      await refuses(taking(store).look(), `saw the log as far as entry 2, ${offers.head_words}`);
      now.log = offers.next_log;
      same((await taking(store).look()).cycle, 4);
    });
  };

  for (const [name, { document, word }] of Object.entries({ ...offers.refused, ...blind.refused }))
    found[`an offer with ${name}`] = () => refuses(inside.checkOffer(document, inside.DEFAULT_CAPS), word.slice(0, 5));

  found["a key of tickets for one person alone"] = () => {
    const [now, joined] = [{ channel: blind.alone, log: blind.log }, sfumato.forgetfulStore()];
    return against(now, async (seen) => {
      await refuses(taking().look(), "does not list exactly");
      Object.assign(now, unseen());
      await taking(joined).look();
      Object.assign(now, { channel: blind.alone, log: blind.alone_log });
      await refuses(taking(joined).look(), "rewritten");
      same(seen.filter(({ route }) => route === "tickets").length, 0);
    });
  };

  for (const [attack, { document, log, field }] of Object.entries(blind.changed))
    found[`tickets ${attack}`] = () => {
      const [now, store] = [unseen(), sfumato.forgetfulStore()];
      return against(now, async () => {
        await taking(store).look();
        Object.assign(now, { channel: document, log });
        await refuses(taking(store).look(), `${field} was`);
      });
    };

  found["tickets that change for somebody who joined before there was a choice"] = () => {
    const [now, store] = [plain(), sfumato.forgetfulStore()];
    return against(now, async () => {
      await taking(store).look();
      const memory = JSON.parse(store.read());
      const [{ agreed }] = Object.values(memory.campaigns);
      delete agreed.tickets;
      delete agreed.round_s;
      store.write(JSON.stringify(memory));
      await taking(store).look();
      const { document, log, field } = blind.joined_linkable;
      Object.assign(now, { channel: document, log });
      await refuses(taking(store).look(), `${field} was linkable when`);
    });
  };

  found["a ticket signed with another key than the one everybody is shown"] = () => {
    const now = { ...unseen(), ticket: ({ blinded }) => [200, { ticket: blinded }] };
    return against(now, async (seen) => {
      const person = taking();
      const { epoch } = await person.prepare(48.85, 2.34, await person.look());
      await refuses(person.send(epoch), "single you out");
      now.ticket = () => [200, {}];
      await refuses(person.send(epoch), "single you out");
      same(seen.filter(({ route }) => route === "reports").length, 0);
    });
  };

  found["answers that get lost"] = () => {
    const [now, store] = [{ ...unseen(), ticket: () => [503, { error: "busy" }] }, sfumato.forgetfulStore()];
    return against(now, async (seen) => {
      const person = taking(store);
      const { epoch } = await person.prepare(48.85, 2.34, await person.look());
      await refuses(person.send(epoch), "busy");
      now.ticket = undefined;
      now.report = () => [503, { error: "busy" }];
      await refuses(person.send(epoch), "busy");
      now.report = () => [200, { duplicate: true }];
      same(await taking(store).send(epoch), "counted before"); // after a restart
      const bodies = (which) => seen.filter(({ route }) => route === which).map(({ body }) => body);
      same(bodies("tickets").length, 2); // once signed, it is not asked for again
      same(bodies("tickets")[0], bodies("tickets")[1]);
      same(bodies("reports")[0], bodies("reports")[1]);
      const [kind, cycle, message, signature] = bodies("reports")[0].ticket.split("-");
      same([kind, cycle, message.length], ["2", "3", 128]);
      // The library of the device has verified it; by hand, signature^e is the encoded message, which ends in bc.
      same(power(ticketNumber(signature), e, n).toString(16).slice(-2), "bc");
      same(bodies("tickets")[0].blinded.includes(message), false);
    });
  };

  found["the vectors of the RFC, with its salt and blinding"] = async () => {
    const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => Number.parseInt(pair, 16));
    const inverse = BigInt(vector.inv);
    const [message, salt] = [bytes(vector.input_msg), bytes(vector.salt)];
    let [a, b, x, y] = [inverse, n, 1n, 0n];
    while (b) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
    const drawn = bytes((((x % n) + n) % n).toString(16).padStart(1024, "0"));
    const given = [salt, drawn];
    const before = crypto.getRandomValues;
    crypto.getRandomValues = (array) => {
      array.set(given.shift());
      return array;
    };
    let kept;
    try {
      kept = await inside.blindTicket(inside.ticketTerms(JSON.parse(blind.good.payload).tickets), message);
    } finally {
      crypto.getRandomValues = before;
    }
    same([kept.message, kept.blinded], [vector.input_msg, vector.blinded_msg]);
    same(sign(kept.blinded), vector.blind_sig);
    same(await inside.signatureFrom(kept, vector.blind_sig), vector.sig);
  };

  found["a moment that tells when a ticket was asked for"] = () => {
    const terms = { key: "", openedAtS: 1000, roundS: 100 };
    for (const [nowS, first] of [
      [1000, 1050],
      [1049.9, 1050],
      [1310, 1350],
    ])
      for (const share of [0, 0.5, 0.999]) same(inside.reportMomentS(terms, nowS, share), first + (share * 100) / 2);
    same(inside.reportMomentS(terms, 1050, 0.5) ?? null, null);
    const [now, real] = [unseen(), Date.now];
    return against(now, async (seen) => {
      const person = taking(undefined, { keepsRunning: true });
      const offer = await person.look();
      try {
        Date.now = () => 1000 * (1_000_000 + 20_500 * 86_400 + 50_000); // the second half of some round
        await refuses(person.prepare(48.85, 2.34, offer), "NotYet: This is the second half");
        same((await person.device.budget()).entries, []);
        Date.now = () => 1000 * (1_000_000 + 20_500 * 86_400 + 100);
        const { epoch } = await person.prepare(48.85, 2.34, offer);
        const [kept] = Object.values((await person.device.read()).campaigns).map(({ reports }) => reports[epoch]);
        same(kept.send_at_s - Date.now() / 1000 >= 43_100, true);
        Date.now = () => 1000 * (kept.send_at_s + 1); // it slept: ticket and report in one breath would name it
        await refuses(person.send(epoch), "moment passed before its ticket");
        same(seen.filter(({ body }) => body !== undefined).length, 0);
      } finally {
        Date.now = real;
      }
    });
  };
  return found;
}
