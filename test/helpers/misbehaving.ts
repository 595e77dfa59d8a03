import { type Asked, answering, answerWith, type Behaviour } from './webhook-server.ts'

const type = { 'content-type': 'application/json' }

/** What a webhook may do wrong, and how that is said. `elsewhere` is the port of another server. */
export const misbehaving = (
  elsewhere: () => number,
): readonly (readonly [what: string, behaviour: Behaviour, says: RegExp])[] => [
  ['answers for another uid', answering(() => ({ uid: 'other', value: 'v' })), /answered another uid/],
  ['answers no uid', answering(() => ({ uid: undefined, value: 'v' })), /answered another uid/],
  [
    'redirects to another server',
    (_, outgoing) => void outgoing.writeHead(307, { location: `https://localhost:${elsewhere()}/` }).end(),
    /answered 307: redirects are not followed/,
  ],
  [
    'redirects to a metadata address',
    (_, outgoing) => void outgoing.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    /answered 302: redirects are not followed/,
  ],
  [
    'answers an endless body',
    (_, outgoing) => void outgoing.writeHead(200, type).end(`"${'x'.repeat(70_000)}"`),
    /answered more than 65536 bytes/,
  ],
  [
    'answers no JSON',
    (_, outgoing) => void outgoing.writeHead(200, type).end('soon'),
    /answered no JSON object/,
  ],
  ['answers nothing', (_, outgoing) => void outgoing.writeHead(200, type).end(), /answered no JSON object/],
  [
    'answers a page',
    (review, outgoing) =>
      void outgoing.writeHead(200, { 'content-type': 'text/html' }).end(answerWith(review, { value: 'v' })),
    /answered no application\/json/,
  ],
  ['fails', (_, outgoing) => void outgoing.writeHead(500, type).end('{}'), /answered 500/],
  [
    'answers 201',
    (review, outgoing) => void outgoing.writeHead(201, type).end(answerWith(review, { value: 'v' })),
    /answered 201/,
  ],
  [
    'answers a review of another kind',
    (review, outgoing) =>
      void outgoing
        .writeHead(200, type)
        .end(answerWith({ ...review, kind: 'TokenReview' } as Asked, { value: 'v' })),
    /answered no (Format|Account)Review/,
  ],
  ['resets the connection', (_, outgoing) => void outgoing.socket?.destroy(), /no answer \(ECONNRESET\)/],
]

/** These hold their answer back, for longer than anybody waits. */
export const late: readonly (readonly [what: string, behaviour: Behaviour])[] = [
  ['never answers', () => undefined],
  [
    'never ends its answer',
    (review, outgoing) =>
      void outgoing.writeHead(200, type).write(answerWith(review, { value: 'v' }).slice(0, 20)),
  ],
]
