/** SQL condition: every player sees the game `g`. A trigger keeps the column. */
export const isListed = "g.is_listed";
