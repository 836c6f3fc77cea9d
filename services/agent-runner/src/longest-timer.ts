/** What a timer of Node can take, in milliseconds (25 days): a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
