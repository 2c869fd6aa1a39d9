/** The operator's token and every request made with it. It lives in this tab (sessionStorage) and in a header, never in an address. */
import type { OperatorsAnswer, Refusal } from "../../../clients/js/src/api.js";
import { language, say } from "./words.js";

const KEPT = "sfumato-operator-token";

/** The collector said no, in its own words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    words: string,
  ) {
    super(words);
  }
}

export const signedIn = () => sessionStorage.getItem(KEPT) !== null;
export const signOut = () => sessionStorage.removeItem(KEPT);

/** Who this token belongs to; it is kept only if the collector knows it. */
export async function signIn(token: string): Promise<string> {
  const { you } = await ask<OperatorsAnswer>("/api/v1/operators", undefined, token).catch((error: Error) => {
    throw error instanceof Refused && error.status === 401 ? new Refused(401, say("no_token")) : error;
  });
  sessionStorage.setItem(KEPT, token);
  return you;
}

/** GET, or POST where there is a body. */
export async function ask<Answer>(path: string, body?: unknown, token = sessionStorage.getItem(KEPT)): Promise<Answer> {
  let reply: Response;
  try {
    reply = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        "Accept-Language": language,
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    // A token with letters that no header can carry, or no connection.
    if (token !== null && !/^[!-~]+$/.test(token)) throw new Refused(401, say("no_token"));
    throw error instanceof TypeError ? new Refused(0, say("no_answer")) : error;
  }
  const answer = (await reply.json().catch(() => null)) as Refusal | null;
  if (reply.ok && answer !== null) return answer as Answer;
  const details = (answer?.errors ?? []).filter((line) => line !== answer?.error);
  throw new Refused(reply.status, [answer?.error ?? say("answered", { status: reply.status }), ...details].join(" "));
}
