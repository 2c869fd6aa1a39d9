/** The sfumato client: the true place never leaves the device. No function takes a seed. */
export { type Budget, browserStore, DEFAULT_CAP_PER_KM, Device, forgetfulStore, type Store } from "./device.js";
export { type Grid, locate } from "./draw.js";
export { BudgetExceeded, NotSent, NotYet, Refused, SfumatoError, TermsChanged } from "./errors.js";
export { type LiveBudget, LiveTrace, liveBudget, type Released } from "./live.js";
export { type Caps, DEFAULT_CAPS, type Offer } from "./offer.js";
export { Participant, type ParticipantOptions, type Prepared } from "./participant.js";
export { type Reveals, reveals } from "./reveals.js";
