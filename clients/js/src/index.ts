/** The sfumato client: the true place never leaves the device. No function takes a seed. */
export { browserStore, Device, forgetfulStore, DEFAULT_CAP_PER_KM, type Budget, type Store } from "./device.js";
export { locate, type Grid } from "./draw.js";
export { BudgetExceeded, NotSent, Refused, SfumatoError } from "./errors.js";
export { LiveTrace, liveBudget, type LiveBudget, type Released } from "./live.js";
export { DEFAULT_CAPS, type Caps, type Offer } from "./offer.js";
export { Participant, type ParticipantOptions, type Prepared } from "./participant.js";
export { reveals, type Reveals } from "./reveals.js";
