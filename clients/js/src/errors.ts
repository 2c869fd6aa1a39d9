/** What happened and what to do about it. No message ever holds a place. */
export class SfumatoError extends Error {
  override readonly name: string = "SfumatoError"; // written out: minifying renames classes
  readonly advice: string;
  constructor(what: string, advice = "") {
    super(what);
    this.advice = advice;
  }
}

/** A signature, a hash or a limit of this device says no: do not take part. */
export class Refused extends SfumatoError {
  override readonly name = "Refused";
}

/** The campaign is not what this device agreed to when it joined. */
export class TermsChanged extends SfumatoError {
  override readonly name = "TermsChanged";
}

/** The ledger's cap would be passed; nothing was drawn. */
export class BudgetExceeded extends SfumatoError {
  override readonly name = "BudgetExceeded";
}

/** The server did not take the report; it is kept and can be sent again unchanged. */
export class NotSent extends SfumatoError {
  override readonly name = "NotSent";
}

/** It is not this device's turn: it reports in a later cycle of this epoch. Nothing was drawn. */
export class NotYet extends SfumatoError {
  override readonly name = "NotYet";
}

export function must(condition: boolean, what: string, advice = "Do not take part; ask the operator."): void {
  if (!condition) throw new Refused(what, advice);
}
