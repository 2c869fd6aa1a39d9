declare module "virtual:land" {
  const rings: readonly (readonly number[])[];
  export default rings;
}
