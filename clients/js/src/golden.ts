/** Pure functions of given words, for the golden tests only: this file is not part of the published package. */
export { blindTicket, reportMomentS, signatureFrom, ticketTerms } from "./blind.js";
export { cellFromWords, locate, probabilities, weights } from "./draw.js";
export { displace, snap } from "./frames.js";
export { advance, displacement, liveBudget, normalsNeeded } from "./live.js";
export { normalsFromWords } from "./normal.js";
export {
  checkAgainstMemory,
  checkLog,
  checkOffer,
  DEFAULT_CAPS,
  epochTurn,
  headWords,
  packLogWeights,
} from "./offer.js";
export { reveals } from "./reveals.js";
