// The seed of a random test: HEDDLE_TEST_SEED where it is set, else its own. It is printed: a failure can be had again.
export function seedOf(usual: number): number {
  const seed = Number(process.env.HEDDLE_TEST_SEED || usual);
  console.log(`seed: ${seed} (HEDDLE_TEST_SEED=${seed})`);
  return seed;
}
