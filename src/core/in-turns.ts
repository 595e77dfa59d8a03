/**
 * Does the work for all items, in their order, at most `limit` of them at a time. When the signal fires, what has begun
 * ends and nothing more begins. The work must not throw: others would go on unseen.
 */
export async function inTurns<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) {
      if (signal?.aborted) return
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}
