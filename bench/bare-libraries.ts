/** The bare mint in a process that has loaded the libraries which a start of the function loads as well, and uses none. */
import { getRequestListener } from '@hono/node-server'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { HonoBase } from 'hono/hono-base'
import { TrieRouter } from 'hono/router/trie-router'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import './bare-mint.ts'

export const loaded = [
  getRequestListener,
  HonoBase,
  TrieRouter,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  hmac,
  sha256,
]
