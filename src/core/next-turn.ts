/** When what is at hand now is done: a request that was sent, or an answer that is ready, has left. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
