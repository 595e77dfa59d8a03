import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timeLimit } from '../../src/core/time-limit.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('fires when the time is over, as AbortSignal.timeout does', () => {
  const { signal } = timeLimit(50)
  vi.advanceTimersByTime(49)
  expect(signal.aborted).toBe(false)
  vi.advanceTimersByTime(1)
  expect(signal.reason).toBeInstanceOf(DOMException)
  expect(signal.reason.name).toBe('TimeoutError')
})

test('fires with the reason of the other signal, at once when that has fired', () => {
  const other = new AbortController()
  const { signal } = timeLimit(50, other.signal)
  other.abort('gone')
  expect(signal.reason).toBe('gone')
  expect(timeLimit(50, other.signal).signal.reason).toBe('gone')
})

test('an ended one has no timer, never fires, and the other signal does not know it', () => {
  const other = new AbortController()
  const { signal, end } = timeLimit(50, other.signal)
  end()
  expect(vi.getTimerCount()).toBe(0)
  other.abort()
  expect(signal.aborted).toBe(false)
})

test('one whose other signal had fired leaves no timer when it is ended', () => {
  timeLimit(50, AbortSignal.abort()).end()
  expect(vi.getTimerCount()).toBe(0)
})

test('a released one has no timer, and has fired', () => {
  const other = new AbortController()
  const { signal, release } = timeLimit(50, other.signal)
  release()
  expect(vi.getTimerCount()).toBe(0)
  expect(signal.aborted).toBe(true)
})
