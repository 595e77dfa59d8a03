import type { HttpAnswer } from '../core/http.ts'
import { openApiV2, openApiV3 } from './openapi-documents.ts'
import { answerDocument, lazily, type PublicDocument, plainRoute, serveJson } from './public-document.ts'
import { API_VERSION, type Exchange, type Handler, type Services } from './services.ts'

/** A year: what has this hash never changes (RFC 8246). */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/** Where the document of a group version is, below `/openapi/v3/`. */
const keyOf = (group: string): string => `apis/${group}/${API_VERSION}`

/** `GET /openapi/v2`. */
export const openApiV2Route = (services: Services): Handler =>
  plainRoute(services.group, () => openApiV2(services))

/** `GET /openapi/v3`, the index, and `GET /openapi/v3/apis/{group}/{version}`. */
export function openApiV3Routes(services: Services): { readonly index: Handler; readonly document: Handler } {
  const { group } = services
  const document = lazily(() => openApiV3(services))
  const index = lazily(async () => indexOf(group, await document()))
  return {
    index: serveJson(group, async (exchange) => answerDocument(exchange, await index())),
    document: serveJson(group, async (exchange) => answerV3(exchange, await document())),
  }
}

const indexOf = (group: string, { hash }: PublicDocument) => ({
  paths: { [keyOf(group)]: { serverRelativeURL: `/openapi/v3/${keyOf(group)}?hash=${hash}` } },
})

/**
 * Whoever asks for the hash that this document has may keep it. Another hash is that of a version before or after this
 * one: kube-apiserver would redirect to its own, but lets no aggregated server redirect (`RejectForwardingRedirects` in
 * `k8s.io/apimachinery/pkg/util/proxy`).
 */
const answerV3 = (exchange: Exchange, document: PublicDocument): HttpAnswer =>
  answerDocument(exchange, document, exchange.request.query.get('hash') === document.hash ? FOR_EVER : {})
