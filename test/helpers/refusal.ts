/** How a request to somebody who has ended fails: by the code of the error. A kept connection may be reset, once. */
export const refusalOf = (origin: string): Promise<unknown> =>
  fetch(`${origin}/livez`).then(
    () => 'answered',
    (error: Error) => Reflect.get(Object(error.cause), 'code'),
  )
