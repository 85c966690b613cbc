/**
 * Does a piece of work again and again until it says that there is no more of it, and `max` times at most.
 */
export async function repeatUpTo(max: number, work: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < max; count++) {
    if (!(await work())) return;
  }
}
