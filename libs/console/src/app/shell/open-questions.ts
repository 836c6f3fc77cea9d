/** How many questions wait for a person. */
export function useOpenQuestions(): number {
  return 0;
}
