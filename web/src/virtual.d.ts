declare module "virtual:land" {
  /** The letters of numbers: those of the second half say that more follow. */
  export const LETTERS: string;
  const rings: string;
  export default rings;
}
